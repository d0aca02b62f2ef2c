"""How long do polite users wait beside one who wants as much as there is?

Twenty users ask a few times a second each: a lookup, a single save, and how the server is. Beside them is one user who uploads batches of 400, one who scans
(queries that look at each record and find none), or one who abuses the server (filters of hundreds of values, bodies of 8 MB that are refused). Rates are
off: turns and budgets alone keep them apart."""

import json
import time

from harness import machine, nacre, report
from harness.crowd import Greedy, Neighbour, batch, hundredth, saving, send_for_ever

POLITE = 20
PAUSE_SECONDS = 0.2
# Fewer answers would have no hundredth part to speak of.
SECONDS_MIN = 5
SCANNED_RECORDS = 20_000
SCANNERS = 4
NUMBERS = 20_000
REFUSED_CONNECTIONS = 2
REFUSED_BYTES = 90_000
# As in the soak's `abuse`: so many times as long as alone, or so many milliseconds where that is more.
FACTOR_MAX = 8
MILLISECONDS_FLOOR = 60

WHERE_THE_TIME_GOES = """\
**Fairness.** What a polite user waits for beside others: the group of writes that is under way, with one batch in it at most; a place among the pages
that are made; and the processor, of which the greedy user's requests and the load itself take what there is."""


def ask(bench):
    server = bench.nacre()
    crowd = [server.another_user(f"polite{number}@example.com") for number in range(POLITE)]
    for user in crowd:
        user.ask("records/modify", saving("known"))
    greedy = server.another_user("greedy@example.com")
    prepare(greedy)
    neighbours = [Neighbour(user, pause=PAUSE_SECONDS) for user in crowd]
    try:
        found = {"alone": measured(bench, neighbours, None)}
        for name, work in (("one uploader", upload), ("one scanner", scan), ("one abuser", abuse)):
            found[name] = measured(bench, neighbours, lambda sockets, work=work: work(greedy, sockets))
    finally:
        for neighbour in neighbours:
            neighbour.leave()
    return report.Answer([line(name, what, times, found["alone"]) for name, both in found.items() for what, times in both.items()])


def measured(bench, neighbours, work):
    machine.wait_for_quiet(bench.quiet_seconds_max)
    other = Greedy(work) if work else None
    try:
        if other:
            other.begun()
        for neighbour in neighbours:
            neighbour.begin()
        time.sleep(max(SECONDS_MIN, bench.seconds * bench.rounds))
        answers = [neighbour.end() for neighbour in neighbours]
    finally:
        if other:
            other.end()
    faults = [fault for _, failed in answers for fault in failed]
    if faults:
        raise RuntimeError(faults[0])
    times = {what: sorted(each for took, _ in answers for each in took[what]) for what in ("lookups", "saves")}
    bench.say(", ".join(f"{what}: {len(took)} answers, p99 {hundredth(took):.1f} ms" for what, took in times.items()))
    return times


def line(name, what, times, alone):
    took, least = hundredth(times), hundredth(alone[what])
    targets = []
    if times is not alone[what]:
        targets = [report.Target(f"≤ {FACTOR_MAX}× alone, or {MILLISECONDS_FLOOR} ms", took <= max(FACTOR_MAX * least, MILLISECONDS_FLOOR))]
    return report.Line(f"{POLITE} polite users, {name if name == 'alone' else 'beside ' + name}: {what}, p99", "ms", took, targets=targets)


def prepare(server):
    server.define("Lists", {"numbers": {"value": [1], "type": "INT64_LIST"}}, {"numbers": ["queryable"]})
    for name in ("a", "b", "c"):
        fields = {"numbers": {"value": list(range(NUMBERS)), "type": "INT64_LIST"}}
        server.ask("records/modify", {"zoneID": {"zoneName": nacre.ZONE}, "operations": [
            {"operationType": "create", "record": {"recordName": name, "recordType": "Lists", "fields": fields}}]})
    server.define("Scanned", {"number": {"value": 1}, "text": {"value": "x"}}, {"number": ["queryable"], "text": ["queryable"]})
    for first in range(0, SCANNED_RECORDS, nacre.BATCH):
        server.ask("records/modify", {"zoneID": {"zoneName": nacre.ZONE}, "operations": [
            {"operationType": "create", "record": {"recordName": f"s{number}", "recordType": "Scanned", "fields": {
                "number": {"value": number}, "text": {"value": "x" * 100}}}} for number in range(first, first + nacre.BATCH)]})


def upload(server, sockets):
    send_for_ever(server, sockets, "records/modify", lambda number, turn: batch(number, turn, 400), 1)


def query(record_type, *filters):
    return json.dumps({"zoneID": {"zoneName": nacre.ZONE}, "query": {"recordType": record_type, "filterBy": filters}})


def scan(server, sockets):
    body = query(
        "Scanned", {"comparator": "GREATER_THAN_OR_EQUALS", "fieldName": "number", "fieldValue": {"value": 0}},
        {"comparator": "NOT_EQUALS", "fieldName": "text", "fieldValue": {"value": "x" * 100}})
    send_for_ever(server, sockets, "records/query", lambda *_: body, SCANNERS)


def abuse(server, sockets):
    values = {"value": [-1 - number for number in range(250)], "type": "INT64_LIST"}
    costly = query("Lists", *[{"comparator": "NOT_LIST_CONTAINS_ANY", "fieldName": "numbers", "fieldValue": values}] * 49)
    send_for_ever(server, sockets, "records/query", lambda *_: costly, SCANNERS)
    record = '{"operationType":"create","record":{"recordType":"Note","fields":{"text":{"value":"%s"}}}}' % ("x" * REFUSED_BYTES)
    refused = '{"zoneID":{"zoneName":"%s"},"operations":[%s]}' % (nacre.ZONE, ",".join([record] * 85))
    send_for_ever(server, sockets, "records/modify", lambda *_: refused, REFUSED_CONNECTIONS)
