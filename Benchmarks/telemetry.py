"""What does the request log cost those who save, and how fast are its answers and the metrics?

Telemetry cannot be turned off, so both sides have it: the share is that of the log alone.
"""

import statistics
import time

from harness import load, machine, nacre, records, report
from harness.bench import median
from single_creates import CONNECTIONS, NACRE, Runs

ROWS, ROWS_QUICK = 1_000_000, 50_000
SLICE_SECONDS = 5
SHARE_MAX = 3
MEGABYTES_MAX = 8
P99_TIMES_MAX = 1.1
FILTER_MILLISECONDS_MAX = 300
METRICS_MILLISECONDS_MAX = 5
# No request has this status, so a filter for it walks over all rows.
NO_STATUS = 599

WHERE_THE_TIME_GOES = """\
**Request log.** A request leaves one object in a queue. The log's thread makes a row of it: stand-ins of names are remembered, texts become numbers, and a row is some 80 bytes of a block of fifty,
which is one row of SQLite. A filter reads the blocks and compares numbers; texts are read for the rows that are shown alone."""

LOOKUPS = """
function request()
    return request_text("POST", "@PATH@", '{"zoneID":{"zoneName":"@ZONE@"},"records":[{"recordName":"none"}]}')
end
"""


def ask(bench):
    sides = {"nacre": bench.nacre(name="on"), "off": bench.nacre(name="off", options=("--request-log-days", "0"))}
    run = Runs(bench)

    def creates(server):
        return run(server, NACRE, server.token, path=server.path("records/modify"), zone=nacre.ZONE, fields=records.NACRE_FIELDS)

    samples = bench.take_turns({name: lambda server=server: creates(server) for name, server in sides.items()})
    cpu, p99 = ({name: median(of_side, what) for name, of_side in samples.items()} for what in ("cpu_microseconds", "p99"))
    share = max(0.0, (cpu["nacre"] / cpu["off"] - 1) * 100)
    held = {name: machine.resident_megabytes(server.pid) for name, server in sides.items()}
    more = max(0.0, held["nacre"] - held["off"])
    server, rows = sides["nacre"], ROWS_QUICK if bench.quick else ROWS
    while answered_rows(server) < rows:
        script = load.script(LOOKUPS, bench.path("load.lua"), server.token, path=server.path("records/lookup"), zone=nacre.ZONE)
        load.run(server, script, CONNECTIONS, 1 if bench.quick else SLICE_SECONDS)
    found = milliseconds(bench, lambda: server.administrator.json("GET", f"/admin/1/requests?status={NO_STATUS}"))
    metrics = milliseconds(bench, lambda: server.administrator.raw("GET", "/metrics"))
    bench.say(f"{share:.1f} % of the CPU, {more:.1f} MB, p99 {p99['nacre'] / 1000:.2f} ms and {p99['off'] / 1000:.2f} without, "
              f"{found:.0f} ms for {rows:,} rows, {metrics:.1f} ms for the metrics")
    what = f"request log beside single creates, {CONNECTIONS} connections"
    return report.Answer([
        report.Line(f"{what}: of the CPU without", "%", share, cpu={"nacre": cpu["nacre"]}, targets=[at_most(share, SHARE_MAX, "%")],
                    foreign=max(sample.foreign_share for of_side in samples.values() for sample in of_side)),
        report.Line(f"{what}: p99", "ms", p99["nacre"] / 1000, targets=[report.Target(
            f"≤ {P99_TIMES_MAX}× of without: {p99['off'] / 1000:.2f} ms", p99["nacre"] <= P99_TIMES_MAX * p99["off"])]),
        report.Line("request log: resident beside a server without", "MB", more, targets=[at_most(more, MEGABYTES_MAX, "MB")]),
        report.Line(f"request log: a filter that walks over {rows:,} rows", "ms", found, targets=[at_most(found, FILTER_MILLISECONDS_MAX, "ms")]),
        report.Line("/metrics", "ms", metrics, targets=[at_most(metrics, METRICS_MILLISECONDS_MAX, "ms")])])


def at_most(value, most, unit):
    return report.Target(f"≤ {most} {unit}", value <= most)


def answered_rows(server):
    return int(server.administrator.json("GET", "/admin/1/requests?limit=1")["last"])


def milliseconds(bench, body, rounds=5):
    """The median of a few turns."""
    machine.wait_for_quiet(bench.quiet_seconds_max)
    times = []
    for _ in range(rounds):
        start = time.monotonic()
        body()
        times.append((time.monotonic() - start) * 1000)
    return statistics.median(times)
