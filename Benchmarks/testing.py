"""What does a test of an app wait for: a cloud inside the test, and an emulator around a command?

`NacreTestingCost` makes a `TestCloud`, signs a user in and lets both go, again and again. `nacre exec -- true` is a server, a container, an API token, a
user who is signed in, and a command that does nothing.
"""

import json
import os
import statistics
import subprocess
import time

from harness import machine, report
from start_up import nacre_command, start

CLOUDS = 500
CLOUDS_QUICK = 50
COMMANDS = 15
COMMANDS_QUICK = 3
CLOUD_MILLISECONDS_MAX = 10
TIMES_START_MAX = 10


def ask(bench):
    server = bench.nacre()
    server.stop()
    machine.wait_for_quiet(bench.quiet_seconds_max)
    clouds = json.loads(subprocess.run(
        [os.path.join(bench.tools, "NacreTestingCost"), str(CLOUDS_QUICK if bench.quick else CLOUDS)], check=True, stdout=subprocess.PIPE).stdout)
    bench.say(f"TestCloud: {clouds['median']:.2f} ms, the first {clouds['first']:.1f} ms, at most {clouds['most']:.1f} ms")
    commands, starts = [], []
    for _ in range(COMMANDS_QUICK if bench.quick else COMMANDS):
        machine.wait_for_quiet(bench.quiet_seconds_max / 4)
        starts.append(start(nacre_command(server, server.folder), "/readyz"))
        begin = time.perf_counter()
        subprocess.run([server.binary, "exec", "--", "true"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        commands.append((time.perf_counter() - begin) * 1000)
    command, ready = statistics.median(commands), statistics.median(starts)
    bench.say(f"nacre exec -- true: {command:.0f} ms; a server is ready after {ready:.0f} ms")
    return report.Answer([
        report.Line(
            "TestCloud with a user: set-up and tear-down", "ms", clouds["median"],
            targets=[report.Target(f"≤ {CLOUD_MILLISECONDS_MAX} ms", clouds["median"] <= CLOUD_MILLISECONDS_MAX)]),
        report.Line(
            "nacre exec around a command that does nothing", "ms", command,
            targets=[report.Target(f"≤ {TIMES_START_MAX}× a start's {report.figure(ready)} ms", command <= TIMES_START_MAX * ready)])])
