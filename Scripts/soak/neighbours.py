"""What a user's lookups and single saves take alone, and beside one other user who sends as much as sixteen connections can: uploads in batches,
queries that look at much, first syncs. Rates are off, so that turns alone keep them apart."""

import http.client
import json
import sys
import threading
import time

from harness import client, nacre
from soaking import Fault, another_user

import costly_requests

CONNECTIONS = 16
BATCH = 200
SYNCED_RECORDS = 6000
# How much longer the hundredth part of answers may take than it does alone, or as many milliseconds where that is more: one group of writes with a batch in
# it, or one page that is being written down, is not interrupted.
FACTOR_MAX = 8
MILLISECONDS_FLOOR = 500


def run(soak):
    seconds = max(4, soak.seconds / 8)
    texts = []
    for attack in (uploads, queries, first_syncs):
        server = soak.start_server()
        eve = another_user(server)
        body = attack(eve)
        server.ask("records/modify", saving("known"))
        alone = measured(server, seconds)
        stopped = threading.Event()
        attackers = [threading.Thread(target=send, args=(eve, body, number, stopped)) for number in range(CONNECTIONS)]
        for attacker in attackers:
            attacker.start()
        try:
            beside = measured(server, seconds)
        finally:
            stopped.set()
            for attacker in attackers:
                attacker.join()
        text = ", ".join(f"{what} {alone[what]:.0f} ms alone, {beside[what]:.0f} beside" for what in alone)
        print(f"neighbours: {attack.__name__}: p99 of {text}", file=sys.stderr, flush=True)
        for what in alone:
            if beside[what] > max(FACTOR_MAX * alone[what], MILLISECONDS_FLOOR):
                raise Fault(f"{attack.__name__}: p99 of {text}")
        texts.append(f"{attack.__name__}: p99 of {text}")
        soak.end()
    return "; ".join(texts)


def uploads(server):
    """Batches of new records, each of 200 bytes."""
    record = '{"operationType":"create","record":{"recordName":"b%d-%d","recordType":"Note","fields":{"text":{"value":"' + "x" * 200 + '"}}}}'

    def body(number):
        operations = ",".join(record % (number, place) for place in range(BATCH))
        return server.path("records/modify"), '{"zoneID":{"zoneName":"%s"},"operations":[%s]}' % (nacre.ZONE, operations)

    return body


def queries(server):
    """Lists of numbers that are compared with others, as in `abuse`."""
    costly_requests.lists(server)
    question = json.dumps(costly_requests.query_of_lists())
    return lambda _: (server.path("records/query"), question)


def first_syncs(server):
    """Pages of a zone, from its beginning each time."""
    server.seed(SYNCED_RECORDS)
    question = json.dumps({"zones": [{"zoneID": {"zoneName": nacre.ZONE}}]})
    return lambda _: (server.path("changes/zone"), question)


def saving(name):
    operation = {"operationType": "forceReplace", "record": {"recordName": name, "recordType": "Note", "fields": {"text": {"value": "hello"}}}}
    return {"zoneID": {"zoneName": nacre.ZONE}, "operations": [operation]}


def send(server, body, number, stopped):
    """One connection of who sends as much as it can; refusals are answers."""
    asker = client.Client("127.0.0.1", server.port, server.token)
    count = 0
    while not stopped.is_set():
        count += 1
        try:
            asker.raw("POST", *body(number * 1_000_000 + count))
        except client.Refused:
            stopped.wait(0.1)
    asker.close()


def measured(server, seconds):
    """The hundredth part of answers that takes longest begins here, in milliseconds, for lookups and for single saves."""
    looking = json.dumps({"zoneID": {"zoneName": nacre.ZONE}, "records": [{"recordName": "known"}]})
    questions = {
        "lookups": lambda _: (server.path("records/lookup"), looking),
        "saves": lambda number: (server.path("records/modify"), json.dumps(saving(f"s{number}"))),
    }
    took = {what: [] for what in questions}
    faults = []
    deadline = time.monotonic() + seconds

    def ask(what):
        asker = client.Client("127.0.0.1", server.port, server.token)
        while time.monotonic() < deadline:
            start = time.monotonic()
            try:
                asker.raw("POST", *questions[what](len(took[what])))
            except (client.Refused, OSError, http.client.HTTPException) as error:
                faults.append(f"one of the {what} failed after {time.monotonic() - start:.1f} s: {error!r}")
                return
            took[what].append(time.monotonic() - start)
            time.sleep(0.005)
        asker.close()

    threads = [threading.Thread(target=ask, args=(what,)) for what in questions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise Fault(faults[0])
    return {what: sorted(times)[len(times) * 99 // 100] * 1000 for what, times in took.items()}
