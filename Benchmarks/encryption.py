"""What do encrypted values and files cost an app, beside plain ones?

The app is `NacreFrameworkCost`. It saves records one by one and 200 at once, fetches 200 at once, and moves files of 10 MB. Sides take turns on one server:
a user without keys, whose values and files are plain, and one with keys, whose are sealed.
"""

import json
import os
import statistics
import subprocess

from framework_cost import make_zone, variables
from harness import machine, report

RECORDS = 4_000
RECORDS_QUICK = 400
SINGLE = 400
SINGLE_QUICK = 40
FILES = 8
FILES_QUICK = 2


def ask(bench):
    server = bench.nacre()
    users = {"plain": server.another_user("plain@example.com"), "sealed": server}
    count, single, files = (RECORDS_QUICK, SINGLE_QUICK, FILES_QUICK) if bench.quick else (RECORDS, SINGLE, FILES)
    # Name of the zone, work, amount, records at once, what it is called, and how many times as long as with plain values it may take. Ours: a record's
    # signature and the keys of its values cost as much as ten plain records in a batch, and little beside a sync of the disk.
    works = [
        ("Single", "save", single, 1, f"{single:,} saves, one after the other", "/s", 2),
        ("Many", "save", count, 200, f"{count:,} saves, 200 at once", "/s", 10),
        ("Many", "fetch", count, 200, f"{count:,} records fetched, 200 at once", "/s", 10),
        ("Many", "files-up", files, 1, "files of 10 MB up, one after the other", "MB/s", 4),
        ("Many", "files-down", files, 1, "files of 10 MB down, one after the other", "MB/s", 4)]
    rates = {}
    # The first round makes the keys, and is thrown away.
    for turn in range(bench.rounds + 1):
        for name, work, amount, per, what, unit, _ in works:
            for kind, user in users.items():
                zone = f"{name}{turn}"
                if work == "save":
                    make_zone(user, zone)
                machine.wait_for_quiet(bench.quiet_seconds_max)
                found = run(bench, user, work if work.startswith("files") else f"{work}-{kind}", zone, amount, per)
                rate = found["records"] / found["seconds"] * (10 if unit == "MB/s" else 1)
                bench.say(f"round {turn}, {what}, {kind}: {rate:,.1f} {unit}, {found['cpu_seconds'] * 1e6 / found['records']:,.0f} µs of CPU each")
                if turn:
                    rates.setdefault((what, unit, kind), []).append(rate)
    return report.Answer([
        line(what, unit, rates[what, unit, "sealed"], rates[what, unit, "plain"], times) for *_, what, unit, times in works])


def run(bench, user, work, zone, amount, per):
    """Runs the app, and returns how many records it moved, its seconds and its CPU."""
    found = json.loads(subprocess.run(
        [os.path.join(bench.tools, "NacreFrameworkCost"), work, zone, str(amount), str(per)], check=True, stdout=subprocess.PIPE,
        env=variables(bench, user) | {"XDG_DATA_HOME": bench.path("keys"), "XDG_CACHE_HOME": bench.path("caches"), "TMPDIR": bench.folder}).stdout)
    if found["records"] != amount:
        raise RuntimeError(f"{work}: {amount} records were wanted, and {found['records']} came")
    return found


def line(what, unit, sealed, plain, times):
    sealed, plain = statistics.median(sealed), statistics.median(plain)
    target = report.Target(f"≥ 1/{times} of plain {report.figure(plain)} (it is {sealed / plain:.0%})", sealed * times >= plain)
    return report.Line(f"encrypted: {what}", unit, sealed, targets=[target])
