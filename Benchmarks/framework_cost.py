"""What does an app that uses the framework spend on a record, beside what the server spends? And does its memory stay flat?

The app is `NacreFrameworkCost`: saves of 400 and pages of 200, one after another, over one account token.
"""

import json
import os
import statistics
import subprocess

from harness import machine, nacre, report
from harness.watch import GROWTH_MEGABYTES_MAX, Watch

RECORDS = 20_000
RECORDS_QUICK = 4_000
# The most that the client may spend for each microsecond of the server's.
TIMES_SERVER_MAX = 3
STREAMED = 1_000_000
STREAMED_QUICK = 50_000


def ask(bench):
    server = bench.nacre()
    count = RECORDS_QUICK if bench.quick else RECORDS
    saves, fetches = [], []
    for turn in range(bench.rounds):
        # A zone of its own, so that each fetch reads what the save wrote.
        make_zone(server, f"Round{turn}")
        machine.wait_for_quiet(bench.quiet_seconds_max)
        saves.append(run(bench, server, "save", f"Round{turn}", count)[0])
        machine.wait_for_quiet(bench.quiet_seconds_max)
        fetches.append(run(bench, server, "fetch", f"Round{turn}", count)[0])
    make_zone(server, "Stream")
    streamed = STREAMED_QUICK if bench.quick else STREAMED
    _, saving = run(bench, server, "save", "Stream", streamed)
    _, fetching = run(bench, server, "fetch", "Stream", streamed)
    lines = [cost("saves of 400", saves), cost("pages of 200", fetches)]
    lines += [flat("saved", saving), flat("fetched", fetching)]
    remarks = [f"The framework while {streamed:,} records were saved: {saving.text()}; while they were fetched: {fetching.text()}."]
    return report.Answer(lines, remarks=remarks)


def cost(what, results):
    client = statistics.median(result["client"] for result in results)
    server = statistics.median(result["server"] for result in results)
    target = report.Target(f"≤ {TIMES_SERVER_MAX}× the server's {report.figure(server)} µs", client <= TIMES_SERVER_MAX * server)
    return report.Line(f"framework, {what}: client CPU for each record", "µs", client, targets=[target])


def flat(what, watch):
    target = report.Target(f"≤ {GROWTH_MEGABYTES_MAX} MB", watch.growth <= GROWTH_MEGABYTES_MAX)
    return report.Line(f"framework: growth while records are {what}", "MB", watch.growth, targets=[target])


def make_zone(server, name):
    server.ask("zones/modify", {"operations": [{"operationType": "create", "zone": {"zoneID": {"zoneName": name}}}]})


def run(bench, server, work, zone, count):
    """Runs the app and returns the CPU of both sides for each record, and how its memory went."""
    before = machine.cpu_seconds(server.pid)
    process = subprocess.Popen(
        [os.path.join(bench.tools, "NacreFrameworkCost"), work, zone, str(count)], stdout=subprocess.PIPE, env=variables(bench, server),
        text=True)
    watch = Watch(process.pid)
    output = process.communicate()[0]
    watch.end()
    if process.returncode:
        raise RuntimeError(f"NacreFrameworkCost {work} ended with {process.returncode}")
    found = json.loads(output)
    if found["records"] != count:
        raise RuntimeError(f"{count} records were wanted, and {found['records']} came")
    result = {"client": found["cpu_seconds"] * 1e6 / count, "server": (machine.cpu_seconds(server.pid) - before) * 1e6 / count}
    bench.say(f"{work} {count}: {result['client']:.1f} µs of CPU in the client, {result['server']:.1f} in the server, "
              f"{count / found['seconds']:,.0f} records/s; {watch.text()}")
    return result, watch


def variables(bench, server):
    """The environment of an app."""
    return os.environ | {
        "CLOUDKIT_SERVER_URL": f"http://127.0.0.1:{server.port}", "CLOUDKIT_CONTAINER": nacre.CONTAINER,
        "CLOUDKIT_ENVIRONMENT": "development", "CLOUDKIT_API_TOKEN": server.api_token, "CLOUDKIT_ACCOUNT_TOKEN": server.token,
        "XDG_CONFIG_HOME": bench.path("no-configuration")}
