"""How many records can 64 clients change, each only if it is still as they knew it?

No two requests under way have the same record, and each carries the tag that the last answer gave, so every compare-and-set succeeds.
PocketBase has no such check; it is asked for a plain PATCH.
"""

import sqlite3

from harness import load, nacre, records, report

CONNECTIONS = 64
RECORDS = 2_000

# Records wait in a queue; an answer puts its record back. Answers without a tag are counted, and fail the run.
POOL = """
local known, first, last, turn = {}, 1, 0, 0
for line in io.lines("@POOL@") do last = last + 1; known[last] = line end
local function take()
    local entry = known[first]
    known[first] = nil
    first = first + 1
    turn = turn + 1
    return entry
end
local function put(entry)
    last = last + 1
    known[last] = entry
end
"""

NACRE = POOL + """
function request()
    local name, tag = take():match("(%S+) (%S+)")
    return request_text("POST", "@PATH@", '{"zoneID":{"zoneName":"@ZONE@"},"operations":[{"operationType":"update","record":{"recordName":"' .. name
        .. '","recordType":"Note","recordChangeTag":"' .. tag .. '","fields":{"count":{"value":' .. turn .. ',"type":"INT64"}}}}]}')
end
function response(status, headers, body)
    local name, tag = body:match('"recordName":"([^"]+)".-"recordChangeTag":"([^"]+)"')
    if tag then put(name .. " " .. tag) else io.stderr:write("no tag: " .. body .. "\\n") end
end
"""

POCKETBASE = POOL + """
function request()
    return request_text("PATCH", "/api/collections/notes/records/" .. take(), '{"count":' .. turn .. "}")
end
function response(status, headers, body)
    local name = body:match('"id":"([^"]+)"')
    if name then put(name) else io.stderr:write("no record: " .. body .. "\\n") end
end
"""


def ask(bench):
    server, other = bench.nacre(RECORDS), bench.pocketbase(RECORDS)
    raw = bench.ceiling(server)
    names = [records.name(number) for number in range(RECORDS)]
    pool = bench.path("pool.txt")

    def run(side, text, token, **values):
        lines = tags(server, names) if side is server else names
        with open(pool, "w") as file:
            file.write("\n".join(lines) + "\n")
        before = feed_numbers(server) if side is server else None
        script = load.script(text, bench.path("load.lua"), token, pool=pool, **values)
        sample = load.run(side, script, CONNECTIONS, bench.seconds)
        if before is not None and feed_numbers(server) - before < sample.requests:
            raise RuntimeError(f"{sample.requests} updates were answered, and fewer changed a record")
        return sample

    samples = bench.take_turns({
        "nacre": lambda: run(server, NACRE, server.token, path=server.path("records/modify"), zone=nacre.ZONE),
        "pocketbase": lambda: run(other, POCKETBASE, None),
        "raw": lambda: raw.run("updates", bench.seconds, CONNECTIONS),
    })
    line = report.Line.of_samples(f"compare-and-set updates, {CONNECTIONS} connections", "records/s", samples, times_pocketbase=4)
    return report.Answer([line], [bench.memory(each) | {"what": line.what} for each in (server, other)])


def tags(server, names):
    lines = []
    for first in range(0, len(names), nacre.BATCH):
        asked = [{"recordName": name} for name in names[first:first + nacre.BATCH]]
        found = server.ask("records/lookup", {"zoneID": {"zoneName": nacre.ZONE}, "records": asked, "desiredKeys": []})["records"]
        lines += [f"{record['recordName']} {record['recordChangeTag']}" for record in found]
    return lines


def feed_numbers(server):
    """The zone's change number: each commit takes the next."""
    with sqlite3.connect(f"file:{server.folder}/nacre.sqlite?mode=ro", uri=True) as database:
        return database.execute("SELECT last_seq FROM zones WHERE name = ?", (nacre.ZONE,)).fetchone()[0]
