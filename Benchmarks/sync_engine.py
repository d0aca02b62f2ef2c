"""How fast does a CKSyncEngine upload and fetch, beside the operations that an app would use itself?

The app is `NacreFrameworkCost`: `save` and `changes` are operations, `engine-save` and `engine-fetch` a `CKSyncEngine` without a state. Sides take turns.
"""

import json
import os
import statistics
import subprocess

from framework_cost import make_zone, variables
from harness import machine, report

RECORDS = 100_000
RECORDS_QUICK = 10_000
SHARE_MIN = 0.7


def ask(bench):
    count = RECORDS_QUICK if bench.quick else RECORDS
    server = bench.nacre()
    rates = {"save": [], "engine-save": [], "changes": [], "engine-fetch": []}
    for turn in range(bench.rounds):
        for work in rates:
            # Each side fetches what it saved.
            zone = f"{'Engine' if work.startswith('engine') else 'Plain'}{turn}"
            if work.endswith("save"):
                make_zone(server, zone)
            machine.wait_for_quiet(bench.quiet_seconds_max)
            found = json.loads(subprocess.run(
                [os.path.join(bench.tools, "NacreFrameworkCost"), work, zone, str(count)], check=True, stdout=subprocess.PIPE,
                env=variables(bench, server)).stdout)
            if found["records"] != count:
                raise RuntimeError(f"{work}: {count} records were wanted, and {found['records']} came")
            rates[work].append(count / found["seconds"])
            bench.say(f"{work} {count}: {rates[work][-1]:,.0f} records/s")
    return report.Answer([
        line("uploads", count, rates["engine-save"], rates["save"]), line("fetches", count, rates["engine-fetch"], rates["changes"])])


def line(what, count, engine, plain):
    engine, plain = statistics.median(engine), statistics.median(plain)
    target = report.Target(f"≥ {SHARE_MIN}× the operations' {report.figure(plain)}", engine >= SHARE_MIN * plain)
    return report.Line(f"CKSyncEngine {what} {count:,} records", "records/s", engine, targets=[target])
