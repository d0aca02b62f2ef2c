"""Does the server's memory stay flat while a million records come in, and go out again page by page?"""

import re
import time

from batches import BATCH, CONNECTIONS, NACRE
from harness import load, nacre, records, report
from harness.watch import GROWTH_MEGABYTES_MAX, Watch

RECORDS = 1_000_000
RECORDS_QUICK = 50_000
SLICE_SECONDS = 2
PAGE = 200


def ask(bench):
    server = bench.nacre()
    wanted = RECORDS_QUICK if bench.quick else RECORDS
    saving = Watch(server.pid)
    saved = 0
    while saved < wanted:
        # A new seed makes new names.
        script = load.script(
            NACRE, bench.path("load.lua"), server.token, path=server.path("records/modify"), zone=nacre.ZONE, fields=records.NACRE_FIELDS,
            batch=BATCH)
        saved += load.run(server, script, CONNECTIONS, SLICE_SECONDS, BATCH).requests * BATCH
    saving.end()
    reading = Watch(server.pid)
    start, read = time.monotonic(), read_all(server)
    seconds = time.monotonic() - start
    reading.end()
    if read < saved:
        raise RuntimeError(f"{saved} records were saved, and {read} read")
    remark = (f"{saved:,} records saved in batches: {saving.text()}. {read:,} read in pages of {PAGE} by one client, "
              f"{read / seconds:,.0f} a second: {reading.text()}.")
    bench.say(remark)
    return report.Answer([
        line("growth while records stream in", saving.growth), line("growth while records stream out", reading.growth)], remarks=[remark])


def line(what, growth):
    return report.Line(what, "MB", growth, targets=[report.Target(f"≤ {GROWTH_MEGABYTES_MAX} MB", growth <= GROWTH_MEGABYTES_MAX)])


def read_all(server):
    """Pages through the zone without making values of what it reads: this process must not be what is measured."""
    token, count = None, 0
    while True:
        asked = {"zoneID": {"zoneName": nacre.ZONE}, "resultsLimit": PAGE} | ({"syncToken": token} if token else {})
        page = server.client.raw("POST", server.path("changes/zone"), {"zones": [asked]})
        count += page.count(b'"recordType"')
        token = re.search(rb'"syncToken":"([^"]+)"', page)[1].decode()
        if b'"moreComing":true' not in page:
            return count
