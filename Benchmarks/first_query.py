"""A million records, and queries that nobody asked before: how long does each page take, and what do others feel while the index is made?

And how soon is a page full where those that match are the last in the order?"""

import time

from harness import machine, nacre, report, things
from harness.crowd import Neighbour, hundredth, saving
from queries import LIMIT, by, filter_on, query

RECORDS = 1_000_000
RECORDS_QUICK = 50_000
ALONE_SECONDS = 8
PAGE_MILLISECONDS_MAX = 2_000
SAVE_FACTOR_MAX = 3
# Of a hurdle that is lower than this nobody hears.
SAVE_MILLISECONDS_FLOOR = 10
PAGES_MAX = 1_000
HALF = 1 << 39

WHERE_THE_TIME_GOES = """\
**First queries.** A page in an order that nobody asked for before is held back until the index is there, two seconds at most. The index is built in slices beside
the saves, on the one writer: a save waits for the slice under way."""


class Late(things.Thing):
    """What is on the shelf of the late, or dear, has the higher rank."""

    def __init__(self, number):
        super().__init__(number)
        is_late = self.rank >= HALF
        self.shelf = "late" if is_late else "early"
        self.price = self.price + (1000 if is_late else 0)


def ask(bench):
    count = RECORDS_QUICK if bench.quick else RECORDS
    server = bench.nacre()
    server.ask("records/modify", saving("known"))
    neighbour = Neighbour(server)
    try:
        things.seed_nacre(server, 0, count, make=Late)
        machine.wait_for_quiet(bench.quiet_seconds_max)
        alone, faults = neighbour.measured(min(ALONE_SECONDS, 4 * bench.seconds))
        neighbour.begin()
        began = time.monotonic()
        pages = walk(server, [filter_on("rank", "GREATER_THAN_OR_EQUALS", 0, "INT64")], [by("rank")])
        server.wait_for_indexes()
        seconds = time.monotonic() - began
        beside, more = neighbour.end()
        if faults or more:
            raise RuntimeError((faults + more)[0])
    finally:
        neighbour.leave()
    bench.say(f"pages of the first query: {', '.join(f'{page:.0f}' for page in pages)} ms; built after {seconds:.1f} s")
    waited, least = hundredth(beside["saves"]), hundredth(alone["saves"])
    of = f"of {count:,} records"
    lines = [
        report.Line(f"first query in the order of a field, {of}: its slowest page", "ms", max(pages), targets=[
            report.Target(f"≤ {PAGE_MILLISECONDS_MAX} ms", max(pages) <= PAGE_MILLISECONDS_MAX)]),
        report.Line(f"first query in the order of a field, {of}: until its first records", "ms", sum(pages)),
        report.Line(f"saves while the index is made, {of}: p99", "ms", waited, targets=[report.Target(
            f"≤ {SAVE_FACTOR_MAX}× the {least:.1f} ms alone, or {SAVE_MILLISECONDS_FLOOR} ms",
            waited <= max(SAVE_FACTOR_MAX * least, SAVE_MILLISECONDS_FLOOR))]),
    ]
    return report.Answer(lines + against_the_order(bench, server, of))


def against_the_order(bench, server, of):
    """Half of the records match, all of them in the second half of the order."""
    for field in ("shelf", "price"):
        server.make_indexes("Thing", field, ["queryable", "sortable"])
    server.wait_for_indexes()
    late = [filter_on("shelf", "EQUALS", "late", "STRING")]
    dear = [filter_on("price", "GREATER_THAN_OR_EQUALS", 1000, "DOUBLE")]
    lines = []
    for what, filters in (("equality", late), ("equality, by the index of both", late), ("range", dear)):
        before = machine.cpu_seconds(server.pid)
        pages = walk(server, filters, [by("rank")])
        cpu = (machine.cpu_seconds(server.pid) - before) * 1e3
        bench.say(f"{what}: {len(pages)} pages, {sum(pages):.0f} ms, the slowest {max(pages):.0f}, {cpu:.0f} ms of CPU")
        lines.append(report.Line(f"{what} that the first half of the order does not pass, {of}: the first {LIMIT}, in {len(pages)} pages", "ms", sum(pages)))
        server.wait_for_indexes()
    return lines


def walk(server, filters, sorts):
    """Asks page after page until one has records; how many milliseconds each took."""
    pages, marker = [], None
    while len(pages) < PAGES_MAX:
        body = {"query": query(filters, sorts), "zoneID": {"zoneName": nacre.ZONE}, "resultsLimit": LIMIT}
        begin = time.monotonic()
        page = server.ask("records/query", body | ({"continuationMarker": marker} if marker else {}))
        pages.append((time.monotonic() - begin) * 1000)
        if page["records"]:
            return pages
        marker = page["continuationMarker"]
    raise RuntimeError(f"{len(pages)} pages and no records")
