"""How long does an app take to fetch 100,000 records for the first time, beside libcurl with the same bytes? And 1,000 that changed since?

The app is `NacreFrameworkCost sync`; `NacreFrameworkCost bytes` asks for the same pages with nothing but libcurl, and looks at no byte but the token's.
"""

import json
import os
import statistics
import subprocess

from framework_cost import variables
from harness import machine, nacre, records, report

RECORDS = 100_000
RECORDS_QUICK = 10_000
CHANGED_SHARE = 100
TIMES_LIBCURL_MAX = 1.2
CHANGES_SHARE_MAX = 0.02


def ask(bench):
    count = RECORDS_QUICK if bench.quick else RECORDS
    server = bench.nacre(count)
    firsts, bytes_only, agains = [], [], []
    for turn in range(bench.rounds):
        machine.wait_for_quiet(bench.quiet_seconds_max)
        bytes_only.append(single(bench, server, count)["seconds"])
        machine.wait_for_quiet(bench.quiet_seconds_max)
        first, again = sync(bench, server, count, f"{turn}")
        firsts.append(first)
        agains.append(again)
        bench.say(f"round {turn + 1}: {firsts[-1]:.2f} s, libcurl alone {bytes_only[-1]:.2f} s, {count // CHANGED_SHARE} changes {agains[-1]:.3f} s")
    first, alone, again = map(statistics.median, (firsts, bytes_only, agains))
    return report.Answer([
        report.Line(
            f"framework: first sync of {count:,} records", "s", first,
            targets=[report.Target(f"≤ {TIMES_LIBCURL_MAX}× libcurl's {report.figure(alone)} s", first <= TIMES_LIBCURL_MAX * alone)]),
        report.Line(
            f"framework: {count // CHANGED_SHARE:,} changed of {count:,}", "s", again,
            targets=[report.Target(f"≤ {CHANGES_SHARE_MAX:.0%} of the first sync", again <= CHANGES_SHARE_MAX * first)])])


def single(bench, server, count):
    found = json.loads(subprocess.run(
        [os.path.join(bench.tools, "NacreFrameworkCost"), "bytes", nacre.ZONE, str(count)], check=True, stdout=subprocess.PIPE,
        env=variables(bench, server)).stdout)
    if found["records"] < count * len(records.BODY):
        raise RuntimeError(f"libcurl brought {found['records']} bytes of {count} records")
    return found


def sync(bench, server, count, mark):
    """The seconds of a first sync, and of the changes after it, by one process."""
    process = subprocess.Popen(
        [os.path.join(bench.tools, "NacreFrameworkCost"), "sync", nacre.ZONE, str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env=variables(bench, server), text=True)
    first = json.loads(process.stdout.readline())
    changed = count // CHANGED_SHARE
    for start in range(0, changed, nacre.BATCH):
        operations = [
            {"operationType": "forceUpdate", "record": {
                "recordName": records.name(number * CHANGED_SHARE), "recordType": "Note", "fields": {"link": {"value": "changed " + mark}}}}
            for number in range(start, min(start + nacre.BATCH, changed))]
        server.ask("records/modify", {"zoneID": {"zoneName": nacre.ZONE}, "operations": operations})
    process.stdin.write("\n")
    process.stdin.close()
    again = json.loads(process.stdout.readline())
    if process.wait() or first["records"] != count or again["records"] != changed:
        raise RuntimeError(f"{first} and {again} of {count}")
    return first["seconds"], again["seconds"]
