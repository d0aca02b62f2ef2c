"""How many records can 64 clients create, each alone in its request and durable when it is answered?"""

from harness import load, nacre, records, report

CONNECTIONS = 64

WHERE_THE_TIME_GOES = """\
**Single creates.** By `perf`, 58 % of a create's CPU is on the HTTP loop and 39 % on the writer; the raw ceiling has only the second. Of the loop, a third is
the kernel's sockets (`sendmsg` alone is 10 % of everything), a seventh JSON, and the largest part is spread thin: reference counts, small
allocations and switches of tasks. SQLite takes 27 %, of which a quarter is the log's pages and their sync. A second loop (`loopCount`) helps only on a machine with more cores
than two; what would help everywhere is fewer allocations for each request: headers and paths that stay bytes, and answers made in one buffer with their
head."""

NACRE = """
local count, prefix = 0, "s@SEED@-"
function request()
    count = count + 1
    return request_text("POST", "@PATH@", '{"zoneID":{"zoneName":"@ZONE@"},"operations":[{"operationType":"create","record":{"recordName":"'
        .. prefix .. count .. '","recordType":"Note","fields":@FIELDS@}}]}')
end
"""

POCKETBASE = """
local body = '{@FIELDS@}'
function request() return request_text("POST", "/api/collections/notes/records", body) end
"""


def ask(bench):
    server, other = bench.nacre(), bench.pocketbase()
    raw = bench.ceiling(server)
    run = Runs(bench)
    samples = bench.take_turns({
        "nacre": lambda: run(server, NACRE, server.token, path=server.path("records/modify"), zone=nacre.ZONE, fields=records.NACRE_FIELDS),
        "pocketbase": lambda: run(other, POCKETBASE, None, fields=records.POCKETBASE_FIELDS),
        "raw": lambda: raw.run("creates", bench.seconds, CONNECTIONS),
    })
    line = report.Line.of_samples(f"single creates, {CONNECTIONS} connections", "records/s", samples, times_pocketbase=4, share_of_raw=0.25)
    memory = [bench.memory(each) | {"what": line.what} for each in (server, other)]
    return report.Answer([line], memory)


class Runs:
    """Runs wrk, and holds each answered create against the rows in the file."""

    def __init__(self, bench, connections=CONNECTIONS, units=1):
        self.bench, self.connections, self.units = bench, connections, units

    def __call__(self, server, text, token, **values):
        before = server.record_count()
        script = load.script(text, self.bench.path("load.lua"), token, **values)
        sample = load.run(server, script, self.connections, self.bench.seconds, self.units)
        made = server.record_count() - before
        if made < sample.requests * self.units:
            raise RuntimeError(f"{server.name} answered {sample.requests} creates of {self.units} and has {made} new records")
        return sample
