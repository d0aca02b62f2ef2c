"""How many queries can 16 clients ask of 100,000 records, and what does one cost as the records become more?"""

import json
import urllib.parse

from harness import load, nacre, report, things
from harness.bench import median

CONNECTIONS = 16
LIMIT = 50
RECORDS = 100_000
RECORDS_QUICK = 10_000
# What a query that reads one index in order costs must not grow with what is stored.
SIZES = [10_000, 100_000, 1_000_000]
SIZES_QUICK = [2_000, 10_000]
GROWTH_MAX = 2
# What words and places may cost, beside an equality with a sort.
TIMES_EQUALITY_MAX = 3

NACRE = """
local bodies = lines_of("@BODIES@")
function request() return request_text("POST", "@PATH@", bodies[math.random(#bodies)]) end
"""

POCKETBASE = """
local paths = lines_of("@BODIES@")
function request() return get_text(paths[math.random(#paths)]) end
"""


def ask(bench):
    count = RECORDS_QUICK if bench.quick else RECORDS
    server, other = bench.nacre(), bench.pocketbase()
    server.define("Thing", things.Thing(0).nacre_fields(), things.INDEXED | things.PLACED | things.WORDED)
    other.make_things()
    things.seed_nacre(server, 0, count)
    things.seed_pocketbase(other, count)
    asker = Asker(bench, count)
    shelves = [things.Thing(shelf).shelf for shelf in range(things.SHELVES)]

    samples = bench.take_turns({
        "nacre": lambda: asker.nacre(server, "equality", equality(shelves), count // things.SHELVES),
        "pocketbase": lambda: asker.pocketbase(other, "equality", shelves, count // things.SHELVES),
        "words": lambda: asker.nacre(server, "words", words(count), 1),
        "near": lambda: asker.nacre(server, "near", near(count), 1),
        "one": lambda: asker.nacre(server, "one", one_field(count), LIMIT),
        "two": lambda: asker.nacre(server, "two", two_fields(count), 1),
    })
    found = {name: samples.pop(name) for name in ("words", "near", "one", "two")}
    lines = [report.Line.of_samples(
        f"equality and sort, limit {LIMIT}, {CONNECTIONS} connections, {count:,} records", "queries/s", samples, times_pocketbase=3)]
    cost = median(samples["nacre"], "cpu_microseconds")
    lines += [within(cost, "words of a text", found["words"]), within(cost, "within 10 km", found["near"])]
    lines.append(report.Line.of_samples("filter on one field, sort by another that 100 of 100,000 pass", "queries/s", {"nacre": found["two"]}))
    return report.Answer(lines + growth(bench))


def within(cost, what, samples):
    each = median(samples, "cpu_microseconds")
    line = report.Line.of_samples(f"{what}, limit {LIMIT}", "queries/s", {"nacre": samples})
    line.targets = [report.Target(f"≤ {TIMES_EQUALITY_MAX}× the CPU of equality and sort", each <= TIMES_EQUALITY_MAX * cost)]
    return line


def growth(bench):
    """Filter and sort on one field, of more and more records."""
    server, lines, first, stored = bench.nacre(name="growth"), [], None, 0
    server.define("Thing", things.Thing(0).nacre_fields(), {"rank": ["queryable", "sortable"]})
    for size in SIZES_QUICK if bench.quick else SIZES:
        things.seed_nacre(server, stored, size)
        stored = size
        asker = Asker(bench, size)
        samples = bench.take_turns({"nacre": lambda: asker.nacre(server, "one", one_field(size), LIMIT)})
        line = report.Line.of_samples(f"filter and sort on one field, limit {LIMIT}, of {size:,} records", "queries/s", samples)
        cost = line.cpu["nacre"]
        if first is None:
            first = cost
        else:
            line.targets = [report.Target(f"≤ {GROWTH_MAX}× the CPU of {SIZES[0]:,} records", cost <= GROWTH_MAX * first)]
        lines.append(line)
    return lines


class Asker:
    def __init__(self, bench, count):
        self.bench, self.count = bench, count

    def nacre(self, server, name, queries, at_least):
        """Loads the server with these queries. Each must find some records, or nothing is measured."""
        path = self.bench.path(name + ".txt")
        with open(path, "w") as file:
            for query in queries:
                file.write(json.dumps({"query": query, "zoneID": {"zoneName": nacre.ZONE}, "resultsLimit": LIMIT}) + "\n")
        page = server.ask("records/query", json.loads(open(path).readline()))
        if not min(at_least, LIMIT) <= len(page["records"]) <= LIMIT:
            raise RuntimeError(f"{name}: {len(page['records'])} records, and {at_least} are there")
        script = load.script(NACRE, self.bench.path("load.lua"), server.token, path=server.path("records/query"), bodies=path)
        sample = load.run(server, script, CONNECTIONS, self.bench.seconds)
        sample.found = len(page["records"])
        return sample

    def pocketbase(self, other, name, shelves, at_least):
        """Loads PocketBase with queries for what stands on one of these shelves, sorted by rank."""
        path = self.bench.path(name + "-paths.txt")
        with open(path, "w") as file:
            for shelf in shelves:
                ask = urllib.parse.quote(f"shelf='{shelf}'")
                file.write(f"/api/collections/things/records?perPage={LIMIT}&skipTotal=1&sort=rank&filter={ask}\n")
        with open(path) as file:
            page = other.client.json("GET", file.readline().strip())
        if len(page["items"]) != min(LIMIT, at_least):
            raise RuntimeError(f"PocketBase found {len(page['items'])} on {shelves[0]}")
        return load.run(other, load.script(POCKETBASE, self.bench.path("load.lua"), None, bodies=path), CONNECTIONS, self.bench.seconds)


WHERE_THE_TIME_GOES = """\
**Queries.** An equality with a sort by another field is answered from an index of both, which the server makes once a query reads many more records than it
tells: 50 records are read for 50. By `perf`, three quarters of a query are on readers: SQLite takes a fifth of everything, as much the kernel's reads of pages that
SQLite's small cache does not hold, an eighth goes to the allocator, a tenth into looking at what a filter asks for. The answer's JSON is a tenth, and all of the
HTTP loop a quarter. What would help: mapping the file into memory, which would let a failing disk kill the process."""

# The queries

def equality(shelves):
    return [query([filter_on("shelf", "EQUALS", shelf, "STRING")], [by("rank")]) for shelf in shelves]


def words(count):
    return [query([filter_on("text", "CONTAINS_ALL_TOKENS", things.word(number), "STRING")]) for number in range(things.WORDS)]


def near(count):
    """Around places where something is, with room on all sides."""
    found = []
    for number in range(1000):
        latitude, longitude = things.Thing(number).place
        value = {"latitude": latitude, "longitude": longitude}
        found.append(query([filter_on("place", "NEAR", value, "LOCATION") | {"distance": 10_000}]))
    return found


def one_field(count):
    """From somewhere in the lower half on, so that a page is full."""
    ranks = sorted(things.Thing(number).rank for number in range(0, count, max(1, count // 1000)))
    return [query([filter_on("rank", "GREATER_THAN", rank, "INT64")], [by("rank")]) for rank in ranks[:len(ranks) // 2]]


def two_fields(count):
    return [query([filter_on("shelf", "EQUALS", things.Thing(shelf).shelf, "STRING")], [by("price")]) for shelf in range(things.SHELVES)]


def query(filters, sorts=()):
    return {"recordType": "Thing", "filterBy": filters, "sortBy": list(sorts)}


def filter_on(field, comparator, value, kind):
    return {"fieldName": field, "comparator": comparator, "fieldValue": {"value": value, "type": kind}}


def by(field):
    return {"fieldName": field, "ascending": True}
