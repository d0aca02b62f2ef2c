"""Does the server's memory stay flat while a million records come in, and go out again page by page?"""

import re
import threading
import time

from batches import BATCH, CONNECTIONS, NACRE
from harness import load, machine, nacre, records, report

RECORDS = 1_000_000
RECORDS_QUICK = 50_000
SLICE_SECONDS = 2
PAGE = 200
# The second half may need this much more than the first: allocators settle, and caches are bounded.
GROWTH_MEGABYTES_MAX = 10


def ask(bench):
    server = bench.nacre()
    wanted = RECORDS_QUICK if bench.quick else RECORDS
    saving = Watch(server.pid)
    script = load.script(
        NACRE, bench.path("load.lua"), server.token, path=server.path("records/modify"), zone=nacre.ZONE, fields=records.NACRE_FIELDS, batch=BATCH)
    saved = 0
    while saved < wanted:
        # A new seed makes new names.
        script = load.script(
            NACRE, bench.path("load.lua"), server.token, path=server.path("records/modify"), zone=nacre.ZONE, fields=records.NACRE_FIELDS,
            batch=BATCH)
        saved += load.run(server, script, CONNECTIONS, SLICE_SECONDS, BATCH).requests * BATCH
    in_growth = saving.end()
    reading = Watch(server.pid)
    start, read = time.monotonic(), read_all(server)
    seconds = time.monotonic() - start
    out_growth = reading.end()
    if read < saved:
        raise RuntimeError(f"{saved} records were saved, and {read} read")
    remark = (f"{saved:,} records saved in batches: {saving.text()}. {read:,} read in pages of {PAGE} by one client, "
              f"{read / seconds:,.0f} a second: {reading.text()}.")
    bench.say(remark)
    return report.Answer([
        line("growth while records stream in", in_growth), line("growth while records stream out", out_growth)], remarks=[remark])


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


class Watch:
    """Looks at a process ten times a second."""

    def __init__(self, pid):
        self.pid, self.samples, self.is_over = pid, [machine.resident_megabytes(pid)], False
        self.thread = threading.Thread(target=self.look, daemon=True)
        self.thread.start()

    def look(self):
        while not self.is_over:
            time.sleep(0.1)
            self.samples.append(machine.resident_megabytes(self.pid))

    def end(self):
        """How much more the second half held than the first, at most."""
        self.is_over = True
        self.thread.join()
        half = len(self.samples) // 2
        return max(0.0, max(self.samples[half:]) - max(self.samples[:half] or self.samples))

    def text(self):
        half = len(self.samples) // 2
        return (f"{self.samples[0]:.0f} MB resident before, at most {max(self.samples[:half] or self.samples):.0f} in the first half and "
                f"{max(self.samples[half:]):.0f} in the second")
