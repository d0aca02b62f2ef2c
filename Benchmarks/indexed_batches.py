"""What do index rows cost a batch? None, those of four queryable and sortable fields, and those of the words of a short text and of a long one."""

import json
import random

import batches
from batches import BATCH, CONNECTIONS
from harness import load, nacre, records, report, things
from harness.bench import median
from single_creates import Runs

# Four fields may halve the rate.
SHARE_MIN = 0.5
# Different records that the load is made of.
THINGS = 20_000
# Words of a long text, of as many that there are: a paragraph.
LONG_WORDS, ALL_WORDS = 45, 20_000
QUERYABLE_AND_SORTABLE = ["queryable", "sortable"]

WHERE_THE_TIME_GOES = """\
**Batches with indexes.** A row of an index costs a page where no other row of the commit belongs on the same page: with values at random a batch of 200 dirties some 600 pages, each of
which is written to the log and again to the file. A loop in C over SQLite alone, with the same rows, spends 12 µs on a record without and 48 µs with four such fields. Values that rise or
repeat, as dates, counters and kinds do, share their pages and cost a quarter of that. What would help is shorter rows (the two keys of the zone are 16 of some 70 bytes), or rows that
are first appended and sorted in later. Groups of more batches do not: with five times as long a group the server was a twelfth faster, within what such machines differ by."""


def ask(bench):
    run = Runs(bench, CONNECTIONS, BATCH)
    with open(bench.path("things.txt"), "w") as file:
        for number in range(THINGS):
            file.write(json.dumps(things.Thing(number).nacre_fields(), separators=(",", ":")) + "\n")

    with open(bench.path("texts.txt"), "w") as file:
        for number in range(THINGS):
            file.write(json.dumps(long_text(number), separators=(",", ":")) + "\n")

    def of_notes(server):
        return run(server, batches.NACRE, server.token, path=server.path("records/modify"), zone=nacre.ZONE, fields=records.NACRE_FIELDS, batch=BATCH)

    def of_lines(server, name):
        return run(server, RANDOM, server.token, path=server.path("records/modify"), zone=nacre.ZONE, batch=BATCH, things=bench.path(name))

    notes = {name: QUERYABLE_AND_SORTABLE for name in ("title", "count", "price", "when")}
    sides = {}
    for name, (what, fields, indexes) in SIDES.items():
        server = bench.nacre(name=name.replace(", ", "-"))
        server.define(what, fields(), notes if indexes == "notes" else indexes)
        sides[name] = {
            note_fields: lambda server=server: of_notes(server),
            thing_fields: lambda server=server: of_lines(server, "things.txt"),
            long_fields: lambda server=server: of_lines(server, "texts.txt"),
        }[fields]
    samples = bench.take_turns(sides)
    lines = []
    for name, text in TEXTS.items():
        line = report.Line.of_samples(f"batches of {BATCH}, {text}", "records/s", {"nacre": samples[name]})
        without = {"alike": "none", "random": "none, random"}.get(name)
        if without:
            line.targets = [report.Target(
                f"≥ {SHARE_MIN:.0%} of the rate without", median(samples[name]) >= SHARE_MIN * median(samples[without]))]
        lines.append(line)
    return report.Answer(lines)


def note_fields():
    return json.loads(records.NACRE_FIELDS)


def thing_fields():
    return things.Thing(0).nacre_fields()


def long_text(number):
    chance = random.Random(number)
    return {"text": {"value": " ".join(things.word(chance.randrange(ALL_WORDS)) for _ in range(LONG_WORDS)), "type": "STRING"}}


def long_fields():
    return long_text(0)


SIDES = {
    "none": ("Note", note_fields, {}),
    "alike": ("Note", note_fields, "notes"),
    "none, random": ("Thing", thing_fields, {}),
    "random": ("Thing", thing_fields, things.INDEXED),
    "words": ("Thing", thing_fields, things.WORDED),
    "long, none": ("Thing", long_fields, {}),
    "long": ("Thing", long_fields, things.WORDED),
}
TEXTS = {
    "none": "no index",
    "alike": "4 queryable and sortable fields, the values of all other lines",
    "none, random": "values at random, no index",
    "random": "values at random, 4 queryable and sortable fields",
    "words": "values at random, a searchable text of 4 words",
    "long, none": f"a text of {LONG_WORDS} words, no index",
    "long": f"a searchable text of {LONG_WORDS} words",
}

RANDOM = """
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
