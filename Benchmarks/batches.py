"""How many records can be created in atomic batches of 200?"""

from harness import load, machine, nacre, records, report
from single_creates import Runs

BATCH = nacre.BATCH
# Enough that the servers never wait for the load; PocketBase answers a batch in a quarter of a second then.
CONNECTIONS = 8
# For memory: as many requests at once as the line of single creates has.
CROWD = 64

WHERE_THE_TIME_GOES = """\
**Batches.** By `perf`, two thirds of a batch's CPU are on the writer: SQLite takes a fifth of everything, deciding and encoding a sixth, the kernel's writing and
syncing an eighth. The HTTP loop takes a third, a third of it reading JSON into values and a fifth writing the answer. Retain and release are a seventh of everything: a record is an array
of enums with strings in them. Encoding the stored body before the transaction, on the loop, would take work off the one writer."""

NACRE = """
local count, prefix = 0, "b@SEED@-"
local before, after = '{"operationType":"create","record":{"recordName":"', '","recordType":"Note","fields":@FIELDS@}}'
function request()
    local operations = {}
    for i = 1, @BATCH@ do
        count = count + 1
        operations[i] = before .. prefix .. count .. after
    end
    return request_text("POST", "@PATH@", '{"zoneID":{"zoneName":"@ZONE@"},"atomic":true,"operations":[' .. table.concat(operations, ",") .. "]}")
end
"""

POCKETBASE = """
local operations = {}
for i = 1, @BATCH@ do operations[i] = '{"method":"POST","url":"/api/collections/notes/records","body":{@FIELDS@}}' end
local body = '{"requests":[' .. table.concat(operations, ",") .. "]}"
function request() return request_text("POST", "/api/batch", body) end
"""


def ask(bench):
    server, other = bench.nacre(), bench.pocketbase()
    raw = bench.ceiling(server)
    run, crowd = Runs(bench, CONNECTIONS, BATCH), Runs(bench, CROWD, BATCH)

    def load_nacre(runs):
        return runs(server, NACRE, server.token, path=server.path("records/modify"), zone=nacre.ZONE, fields=records.NACRE_FIELDS, batch=BATCH)

    samples = bench.take_turns({
        "nacre": lambda: load_nacre(run),
        "pocketbase": lambda: run(other, POCKETBASE, None, fields=records.POCKETBASE_FIELDS, batch=BATCH),
        "raw": lambda: batch_rows(raw, bench.seconds),
    })
    line = report.Line.of_samples(
        f"atomic batches of {BATCH}, {CONNECTIONS} connections", "records/s", samples, times_pocketbase=7, share_of_raw=0.40)
    memory = [bench.memory(each) | {"what": line.what} for each in (server, other)]
    machine.forget_peak(server.pid)
    load_nacre(crowd)
    memory.append(bench.memory(server) | {"what": f"atomic batches of {BATCH}, {CROWD} connections"})
    return report.Answer([line], memory)


def batch_rows(raw, seconds):
    """The ceiling counts commits; a line counts records."""
    sample = raw.run("batches", seconds, BATCH)
    return load.Sample(sample.per_second * BATCH, sample.cpu_microseconds / BATCH, sample.foreign_share)
