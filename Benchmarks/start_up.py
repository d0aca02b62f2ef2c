"""How soon after exec does the server answer, and how much memory does it hold when nothing happens?

Both servers start on a folder that has records, and are asked in a tight loop over new connections.
"""

import shutil
import statistics
import subprocess
import time

from harness import client, machine, nacre, report

STARTS = 15
STARTS_QUICK = 3
RECORDS = 2_000
READY_MILLISECONDS_MAX = 50
IDLE_MEGABYTES_MAX = 30
REST_SECONDS = 5


WHERE_THE_TIME_GOES = """\
**Start and idle memory.** Swift's own libraries are linked in: beside them as shared libraries the same server was ready in 54 ms instead of 45 and held 47 MB
instead of 42. What is left of shared libraries are libcrypto and the 30 behind libcurl and GnuTLS, which the framework's transfers pull in."""


def ask(bench):
    server, other = bench.nacre(RECORDS), bench.pocketbase(RECORDS)
    server.stop()
    other.stop()
    starts = STARTS_QUICK if bench.quick else STARTS
    known, new, theirs = [], [], []
    for _ in range(starts):
        machine.wait_for_quiet(bench.quiet_seconds_max / 4)
        known.append(start(nacre_command(server, server.folder), "/readyz"))
        shutil.rmtree(bench.path("new"), ignore_errors=True)
        new.append(start(nacre_command(server, bench.path("new")), "/readyz"))
        theirs.append(start(pocketbase_command(other), "/api/health"))
    idle = [resident(nacre_command(server, server.folder), "/readyz"), resident(pocketbase_command(other), "/api/health")]
    ready = statistics.median(known)
    bench.say(f"ready after {ready:.1f} ms, in a new folder {statistics.median(new):.1f} ms; PocketBase {statistics.median(theirs):.1f} ms")
    target = report.Target(f"≤ {READY_MILLISECONDS_MAX} ms", ready <= READY_MILLISECONDS_MAX)
    small = report.Target(f"≤ {IDLE_MEGABYTES_MAX} MB", idle[0] <= IDLE_MEGABYTES_MAX)
    return report.Answer([
        report.Line("ready after exec", "ms", ready, statistics.median(theirs), targets=[target]),
        report.Line("ready after exec, in a new folder", "ms", statistics.median(new)),
        report.Line(f"resident {REST_SECONDS} s after ready", "MB", *idle, targets=[small]),
    ])


def nacre_command(server, folder):
    return lambda port: [server.binary, "serve", "--data", folder, "--listen", f"127.0.0.1:{port}", "--log-level", "warning"]


def pocketbase_command(server):
    return lambda port: [server.binary, "serve", f"--http=127.0.0.1:{port}", *server.folders]


def launch(command, path):
    """A process that answers, and the milliseconds that it took to."""
    port = client.free_port()
    begin = time.perf_counter()
    process = subprocess.Popen(command(port), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    nacre.wait_until_ready(process, port, path)
    return process, (time.perf_counter() - begin) * 1000


def start(command, path):
    process, milliseconds = launch(command, path)
    nacre.stop(process)
    return milliseconds


def resident(command, path):
    process, _ = launch(command, path)
    time.sleep(REST_SECONDS)
    megabytes = machine.resident_megabytes(process.pid)
    nacre.stop(process)
    return megabytes
