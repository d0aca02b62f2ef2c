"""What do index rows cost a batch? None, those of four queryable and sortable fields, and those of a text's words as well."""

import json

from batches import BATCH, CONNECTIONS
from harness import load, nacre, records, report, things
from harness.bench import median
from single_creates import Runs

# Four fields may halve the rate.
SHARE_MIN = 0.5


def ask(bench):
    run = Runs(bench, CONNECTIONS, BATCH)
    sides = {}
    for name, indexes in {"none": {}, "four": things.INDEXED, "words": {"text": ["searchable"]}, "all": things.INDEXED | things.WORDED}.items():
        server = bench.nacre(name=name)
        server.define("Thing", things.Thing(0).nacre_fields(), indexes)
        sides[name] = (lambda server=server: run(
            server, SCRIPT, server.token, path=server.path("records/modify"), zone=nacre.ZONE, batch=BATCH, things=script_things(bench)))
    samples = bench.take_turns(sides)
    none, four = median(samples["none"]), median(samples["four"])
    lines = []
    for name, what in {"none": "no index", "four": "4 queryable and sortable fields", "words": "the words of a text of 4 words",
                       "all": "both"}.items():
        line = report.Line.of_samples(f"batches of {BATCH} with {what}", "records/s", {"nacre": samples[name]})
        if name == "four":
            line.targets = [report.Target(f"≥ {SHARE_MIN:.0%} of the rate without", four >= SHARE_MIN * none)]
        lines.append(line)
    return report.Answer(lines)


# Values differ from record to record, or one page of an index would take them all.
SCRIPT = """
local fields = lines_of("@THINGS@")
local count, prefix = 0, "i@SEED@-"
local before, after = '{"operationType":"create","record":{"recordName":"', '","recordType":"Thing","fields":'
function request()
    local operations = {}
    for i = 1, @BATCH@ do
        count = count + 1
        operations[i] = before .. prefix .. count .. after .. fields[math.random(#fields)] .. "}}"
    end
    return request_text("POST", "@PATH@", '{"zoneID":{"zoneName":"@ZONE@"},"atomic":true,"operations":[' .. table.concat(operations, ",") .. "]}")
end
"""
THINGS = 20_000


def script_things(bench):
    path = bench.path("things.txt")
    with open(path, "w") as file:
        for number in range(THINGS):
            file.write(json.dumps(things.Thing(number).nacre_fields(), separators=(",", ":")) + "\n")
    return path
