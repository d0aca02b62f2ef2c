"""ThreadSanitizer over the whole test suite, or over the suites that `--only` names."""

import glob
import os
import re
import shutil
import sys

import suites
from soaking import Fault

# `Locked` is an NSLock with the flag, because ThreadSanitizer does not see through `Mutex`.
FLAGS = ["--sanitize", "thread", "-Xswiftc", "-DTHREAD_SANITIZER"]
BUILD_SECONDS_MAX = 3600
# The suite is ten times slower under ThreadSanitizer, and runs test by test.
TEST_SECONDS_MAX = 7200
# The suite's long histories are a part of their own; here a short one shows the same races.
OPERATIONS = 2000
QUERIES = 200

# Two threads, one variable, and nothing that puts one after the other, however the machine runs them. If this is not reported, silence proves nothing.
PLANTED = """
import Foundation

final class Planted: @unchecked Sendable { var count = 0 }
let planted = Planted()
let ended = DispatchSemaphore(value: 0)
for _ in 0..<2 {
    Thread.detachNewThread {
        for _ in 0..<1000 { planted.count += 1 }
        ended.signal()
    }
}
for _ in 0..<2 { ended.wait() }
print(planted.count)
"""


def run(soak):
    reports = os.path.join(soak.home, "races")
    see_planted_race(soak, reports)
    path = ["--scratch-path", os.path.join(soak.root, ".build/tsan")]
    print("soak: tsan: building", file=sys.stderr, flush=True)
    if soak.command(["swift", "build", "--build-tests", *FLAGS, *path], BUILD_SECONDS_MAX)[0] != 0:
        raise Fault(f"the tests do not compile; see {soak.log_path}")
    forget(reports)
    # One test at a time: a race is within a test, and tests that wait have deadlines, which hundreds at once would miss on two cores.
    count = suites.run(
        soak, soak.only, TEST_SECONDS_MAX, [*FLAGS, *path, "--no-parallel"], TSAN_OPTIONS=options(reports, exit_code=0), NACRE_OPERATIONS=OPERATIONS,
        NACRE_QUERIES=QUERIES, NACRE_SEED=soak.random.randrange(2**32))
    races = found(reports)
    if races:
        raise Fault(f"{len(races)} races, first {sorted(races)[0]}; see {reports}")
    return f"{count} tests, no race"


def see_planted_race(soak, reports):
    forget(reports)
    source, binary = os.path.join(soak.home, "planted.swift"), os.path.join(soak.home, "planted")
    with open(source, "w") as file:
        file.write(PLANTED)
    if soak.command(["swiftc", "-sanitize=thread", "-swift-version", "5", source, "-o", binary], BUILD_SECONDS_MAX)[0] != 0:
        raise Fault(f"the planted race does not compile; see {soak.log_path}")
    soak.command([binary], TEST_SECONDS_MAX, TSAN_OPTIONS=options(reports, exit_code=66))
    if not found(reports):
        raise Fault("a planted race was not seen: ThreadSanitizer does not work here")


def options(reports, exit_code):
    """Where reports go; the exit code of a process with a race, which no test of an exit code may mistake for the server's own."""
    return f"log_path={reports}/race exitcode={exit_code}"


def forget(reports):
    shutil.rmtree(reports, ignore_errors=True)
    os.makedirs(reports)


def found(reports):
    """One line for each place where processes of the tests, or servers that they started, had a race."""
    lines = set()
    for path in glob.glob(os.path.join(reports, "race.*")):
        with open(path, errors="replace") as file:
            lines |= set(re.findall(r"SUMMARY: ThreadSanitizer: (.*)", file.read()))
    return lines
