"""How long after a save is sent does a client that waits for changes know of it?

One client waits in `changes/database` with `waitSeconds`; another saves one record, durably. One process plays both, so that one clock measures.
"""

import json
import select
import statistics
import time

from harness import client, machine, nacre, records, report

SAVES = 300
SAVES_QUICK = 40
MILLISECONDS_MAX = 3
# Long enough for the waiting request to have arrived and found nothing: it is not part of what is measured.
SETTLING_SECONDS = 0.004


def ask(bench):
    server = bench.nacre()
    waiting = client.Client("127.0.0.1", server.port, server.token)
    waiting.open()
    page = waiting.json("POST", server.path("changes/database"), {})
    latencies = []
    machine.wait_for_quiet(bench.quiet_seconds_max)
    for number in range(SAVES_QUICK if bench.quick else SAVES):
        waiting.send("POST", server.path("changes/database"), {"syncToken": page["syncToken"], "nacre": {"waitSeconds": 30}})
        time.sleep(SETTLING_SECONDS)
        if select.select([waiting.connection.sock], [], [], 0)[0]:
            raise RuntimeError("woken without a change")
        save = ('{"zoneID":{"zoneName":"%s"},"operations":[{"operationType":"create","record":{"recordName":"w%d","recordType":"Note","fields":%s}}]}'
                % (nacre.ZONE, number, records.NACRE_FIELDS))
        start = time.perf_counter()
        server.client.send("POST", server.path("records/modify"), save)
        page = waiting.receive()
        latencies.append((time.perf_counter() - start) * 1000)
        page = json.loads(page)
        if [zone["zoneID"]["zoneName"] for zone in page["zones"]] != [nacre.ZONE]:
            raise RuntimeError(f"woken by something else: {page}")
        server.client.receive()
    p50, p99 = statistics.median(latencies), statistics.quantiles(latencies, n=100)[98]
    bench.say(f"p50 {p50:.2f} ms, p99 {p99:.2f} ms")
    return report.Answer([
        report.Line("save → seen by who waits, p50", "ms", p50, targets=[report.Target(f"≤ {MILLISECONDS_MAX} ms", p50 <= MILLISECONDS_MAX)]),
        report.Line("save → seen by who waits, p99", "ms", p99),
    ])
