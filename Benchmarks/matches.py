"""Does an equality with a sort cost the same where 10, 100, 1,000 or 20,000 of 100,000 records match? PocketBase has the index of both fields, which is its best.

And what do 100,000 records with two indexes take on the disk?"""

from harness import nacre, report, things
from harness.bench import median
from queries import CONNECTIONS, LIMIT, Asker, by, equality, filter_on, query

RECORDS = 100_000
RECORDS_QUICK = 10_000
# A fifth of the records each, and the last fifth is one shelf more that is as full as the fullest.
MATCHES = [10, 100, 1_000]
SECTIONS = 5
# Prime to both numbers of records: a section is spread over all of them.
STRIDE = 7_919
CPU_FACTOR_MAX = 2
MEGABYTES_MAX = 65
INDEXED = {name: ["queryable", "sortable"] for name in ("shelf", "rank")}
ASKED_MAX = 1_000

WHERE_THE_TIME_GOES = """\
**Disk.** Of 100,000 records, by `dbstat`, two thirds are bodies: eight values with their names, and who saved them and when. A row of an index has the name of its record,
the value, and the numbers of database, zone and index, some 60 bytes in all; the feed and the tree of names have the name once more each."""


class Shelved(things.Thing):
    """Stands on a shelf that so many share."""

    def __init__(self, number, count):
        super().__init__(number)
        place = number * STRIDE % count
        section, inside = divmod(place, count // SECTIONS)
        on_shelf = (MATCHES + [count // SECTIONS] * 2)[section]
        self.shelf = f"shelf {section} {inside // on_shelf:05d}"


def ask(bench):
    count = RECORDS_QUICK if bench.quick else RECORDS
    server, other = bench.nacre(), bench.pocketbase()
    server.define("Thing", things.Thing(0).nacre_fields(), INDEXED)
    other.make_things(["shelf", "rank"])
    things.seed_nacre(server, 0, count, make=lambda number: Shelved(number, count))
    things.seed_pocketbase(other, count, make=lambda number: Shelved(number, count))
    sizes = server.megabytes(), other.megabytes()
    asker = Asker(bench, count)
    make_pair(server, count)
    other.index_things(["shelf,rank", "rank"])

    lines, costs = [], []
    for section, matches in enumerate(MATCHES + [count // SECTIONS]):
        shelves = shelves_of(section, matches, count)
        samples = bench.take_turns({
            "nacre": lambda: asker.nacre(server, f"{matches}", equality(shelves), matches),
            "pocketbase": lambda: asker.pocketbase(other, f"{matches}", shelves, matches),
        })
        costs.append(median(samples["nacre"], "cpu_microseconds"))
        lines.append(report.Line.of_samples(
            f"equality and sort, limit {LIMIT}, {matches:,} of {count:,} match, {CONNECTIONS} connections", "queries/s", samples, times_pocketbase=3))
    lines[-1].targets.append(report.Target(f"all ≤ {CPU_FACTOR_MAX}× the CPU of the cheapest", max(costs) <= CPU_FACTOR_MAX * min(costs)))
    small = report.Target(f"≤ {MEGABYTES_MAX} MB", sizes[0] <= MEGABYTES_MAX)
    return report.Answer(lines + [report.Line(f"disk for {count:,} records with two indexes", "MB", *sizes, targets=[small])])


def shelves_of(section, matches, count):
    return [f"shelf {section} {number:05d}" for number in range(min(count // SECTIONS // matches, ASKED_MAX))]


def make_pair(server, count):
    """Asks once where many match: the server makes the index of both fields by itself."""
    fullest = query([filter_on("shelf", "EQUALS", shelves_of(len(MATCHES), count // SECTIONS, count)[0], "STRING")], [by("rank")])
    server.ask("records/query", {"query": fullest, "zoneID": {"zoneName": nacre.ZONE}, "resultsLimit": LIMIT})
    server.wait_for_indexes()
    if "Thing.shelf+rank" not in server.schema()["indexed"]:
        raise RuntimeError("no index of shelf and rank was made")
