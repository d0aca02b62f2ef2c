"""How soon does a device hear of a save, and what do those cost who hear nothing?

Devices follow the event stream; PocketBase's follow its realtime API. One process plays all of them and who saves, so that one clock measures. Devices of
another sign-in are told of a zone; a thousand devices of ten users are told of one record in the public database; the others' subscriptions compare a field
with values that no record has.
"""

import json
import resource
import statistics
import threading
import time

from harness import listeners, machine, nacre, records, report

import single_creates

SAVES, SAVES_QUICK = 300, 40
DEVICES_PER_USER = 100
DEVICES, DEVICES_QUICK = 1_000, 100
FAN_OUTS, FAN_OUTS_QUICK = 10, 3
SUBSCRIPTIONS, SUBSCRIPTIONS_QUICK = 100_000, 2_000
SUBSCRIPTIONS_PER_USER = 500
MATCHING = 10
STREAMS, STREAMS_QUICK = 5_000, 200
MEGABYTES_MAX = 100
BATCH = 200
# Who save into a zone that nobody subscribes to, while a device waits to hear of another.
WRITERS, BUSY_ZONE, BUSY_MILLISECONDS_MAX = 12, "Busy", 60
# Before the next save, for what the one before left to be done: it is not part of what is measured.
SETTLING_SECONDS = 0.005


def ask(bench):
    wanted = STREAMS + 2_000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(wanted, hard)), hard))
    return report.Answer(latency(bench) + beside_writers(bench) + fan_out(bench) + crowd(bench) + memory(bench))


# Latency


def latency(bench):
    server, other = bench.nacre(), bench.pocketbase()
    count = SAVES_QUICK if bench.quick else SAVES
    token = server.sign_in(nacre.EMAIL)
    subscribe(server, token, "private", [zone_subscription("zone", nacre.ZONE)])
    ours, theirs = listeners.of_nacre(server, token), listeners.of_pocketbase(other, listeners.client_of(other))
    numbers = iter(range(1_000_000))
    found = {"nacre": [], "pocketbase": [], "idle": []}
    for _ in range(bench.rounds):
        machine.wait_for_quiet(bench.quiet_seconds_max)
        found["nacre"] += timed(count, ours, lambda: save_ours(server, next(numbers)), lambda: server.client.receive())
        machine.wait_for_quiet(bench.quiet_seconds_max)
        found["pocketbase"] += timed(count, theirs, lambda: save_theirs(other, next(numbers)), lambda: other.client.receive())
    idle = devices(server, DEVICES_QUICK if bench.quick else DEVICES, "idle", lambda user: subscribe(
        user, user.token, "private", [zone_subscription("own", nacre.ZONE)]))
    for _ in range(bench.rounds):
        machine.wait_for_quiet(bench.quiet_seconds_max)
        found["idle"] += timed(count, ours, lambda: save_ours(server, next(numbers)), lambda: server.client.receive())
    for listener in idle + [ours, theirs]:
        listener.close()
    server.stop()
    other.stop()
    p50 = {side: statistics.median(times) for side, times in found.items()}
    p99 = {side: statistics.quantiles(times, n=100)[98] for side, times in found.items()}
    bench.say(f"p50 {p50}, p99 {p99} ms")
    return [
        report.Line("save → notified, p50", "ms", p50["nacre"], p50["pocketbase"], targets=[
            report.Target("≤ PocketBase", p50["nacre"] <= p50["pocketbase"])]),
        report.Line("save → notified, p99", "ms", p99["nacre"], p99["pocketbase"], targets=[
            report.Target("≤ 2× PocketBase", p99["nacre"] <= 2 * p99["pocketbase"])]),
        report.Line(f"save → notified, p50 beside {len(idle):,} idle devices", "ms", p50["idle"], targets=[
            report.Target("≤ 1.2× of without", p50["idle"] <= 1.2 * p50["nacre"])]),
    ]


def timed(count, listener, save, answer):
    """Milliseconds of each save until the listener heard of it."""
    times = []
    for _ in range(count):
        start = time.perf_counter()
        save()
        listener.hears()
        times.append((time.perf_counter() - start) * 1000)
        answer()
        time.sleep(SETTLING_SECONDS)
    return times


def save_ours(server, number):
    server.client.send("POST", server.path("records/modify"), json.dumps(saving(f"n{number}", zone=nacre.ZONE)))


def save_theirs(other, number):
    other.client.send("POST", "/api/collections/notes/records", "{%s}" % records.POCKETBASE_FIELDS)


def saving(name, zone=None, fields=None):
    record = {"recordName": name, "recordType": "Note", "fields": fields or json.loads(records.NACRE_FIELDS)}
    return {**({"zoneID": {"zoneName": zone}} if zone else {}), "operations": [{"operationType": "create", "record": record}]}


def beside_writers(bench):
    server = bench.nacre(name="busy")
    server.ask("zones/modify", {"operations": [{"operationType": "create", "zone": {"zoneID": {"zoneName": BUSY_ZONE}}}]})
    token = server.sign_in(nacre.EMAIL)
    subscribe(server, token, "private", [zone_subscription("zone", nacre.ZONE)])
    ours, run, numbers, times = listeners.of_nacre(server, token), single_creates.Runs(bench, WRITERS), iter(range(1_000_000)), []
    for _ in range(bench.rounds):
        machine.wait_for_quiet(bench.quiet_seconds_max)
        writing = threading.Thread(target=run, args=(server, single_creates.NACRE, server.token), kwargs={
            "path": server.path("records/modify"), "zone": BUSY_ZONE, "fields": records.NACRE_FIELDS})
        writing.start()
        while writing.is_alive():
            times += timed(1, ours, lambda: save_ours(server, next(numbers)), lambda: server.client.receive())
        writing.join()
    ours.close()
    server.stop()
    p50, p99 = statistics.median(times), statistics.quantiles(times, n=100)[98]
    bench.say(f"beside {WRITERS} writers: p50 {p50:.1f}, p99 {p99:.1f} ms of {len(times)} saves")
    return [report.Line(f"save → notified, p50 beside {WRITERS} who save into another zone", "ms", p50, targets=[
        report.Target(f"≤ {BUSY_MILLISECONDS_MAX} ms", p50 <= BUSY_MILLISECONDS_MAX)])]


# Many devices


def fan_out(bench):
    server, other = bench.nacre(name="fan"), bench.pocketbase(name="fan-pocketbase")
    public, count = server.publicly(), DEVICES_QUICK if bench.quick else DEVICES
    public.ask("records/modify", saving("first"))
    rounds, numbers = FAN_OUTS_QUICK if bench.quick else FAN_OUTS, iter(range(1_000_000))
    alone = []
    for _ in range(rounds):
        # As those that are told: a save after a rest takes three times one of many in a row.
        machine.wait_for_quiet(bench.quiet_seconds_max)
        alone.append(saver_waits(public, next(numbers)))
    heard = devices(server, count, "fan", lambda user: subscribe(user, user.token, "public", [query_subscription("all")]))
    asker = listeners.client_of(other)
    theirs = [listeners.of_pocketbase(other, asker) for _ in range(count)]
    last, answered = {"nacre": [], "pocketbase": []}, {"nacre": [], "pocketbase": []}
    for _ in range(rounds):
        machine.wait_for_quiet(bench.quiet_seconds_max)
        start = time.perf_counter()
        answered["nacre"].append(saver_waits(public, next(numbers)))
        last["nacre"].append(listeners.last_heard(heard, start))
        machine.wait_for_quiet(bench.quiet_seconds_max)
        start = time.perf_counter()
        other.client.raw("POST", "/api/collections/notes/records", "{%s}" % records.POCKETBASE_FIELDS)
        answered["pocketbase"].append((time.perf_counter() - start) * 1000)
        last["pocketbase"].append(listeners.last_heard(theirs, start))
    for listener in heard + theirs:
        listener.close()
    server.stop()
    other.stop()
    last, answered = ({side: statistics.median(times) for side, times in of.items()} for of in (last, answered))
    without = statistics.median(alone)
    bench.say(f"{count} devices: the last after {last} ms, the saver after {answered} ms, {without:.2f} ms without subscribers")
    return [
        report.Line(f"one save, {count:,} devices: the last is notified", "ms", last["nacre"], last["pocketbase"], targets=[
            report.Target("≤ 0.6× PocketBase", last["nacre"] <= 0.6 * last["pocketbase"])]),
        report.Line(f"one save, {count:,} devices: the saver is answered", "ms", answered["nacre"], answered["pocketbase"], targets=[
            report.Target(f"≤ 1.1× of {without:.2f} ms without subscribers", answered["nacre"] <= 1.1 * without)]),
    ]


def saver_waits(public, number):
    """Milliseconds until a save in the public database is answered."""
    start = time.perf_counter()
    public.client.raw("POST", public.path("records/modify"), json.dumps(saving(f"p{number}")))
    return (time.perf_counter() - start) * 1000


def devices(server, count, name, begin):
    """So many streams of users of their own, a hundred each. `begin` is called with each user."""
    found = []
    for start in range(0, count, DEVICES_PER_USER):
        user = server.another_user(f"{name}{start}@example.com")
        begin(user)
        found += [listeners.of_nacre(server, user.token, f"d{number}") for number in range(min(DEVICES_PER_USER, count - start))]
    return found


# Many subscriptions


def crowd(bench):
    server = bench.nacre(name="crowd")
    public, count = server.publicly(), SUBSCRIPTIONS_QUICK if bench.quick else SUBSCRIPTIONS
    saves = SAVES_QUICK if bench.quick else SAVES
    numbers = iter(range(1_000_000))
    public.ask("records/modify", saving("first", fields={"shelf": {"value": "none", "type": "STRING"}}))
    machine.wait_for_quiet(bench.quiet_seconds_max)
    without = cpu_of_saves(public, saves, numbers)
    for start in range(0, count, SUBSCRIPTIONS_PER_USER):
        user = server.another_user(f"crowd{start}@example.com")
        for first in range(0, SUBSCRIPTIONS_PER_USER, BATCH):
            subscribe(user, user.token, "public", [
                query_subscription(f"s{number}", "wanted" if start == 0 and number < MATCHING else f"shelf {start + number}")
                for number in range(first, min(first + BATCH, SUBSCRIPTIONS_PER_USER))])
    # A device that is told: without one nothing is queued.
    heard = listeners.of_nacre(server, server.sign_in("crowd0@example.com"))
    machine.wait_for_quiet(bench.quiet_seconds_max)
    among = cpu_of_saves(public, saves, numbers)
    heard.close()
    server.stop()
    bench.say(f"{count} subscriptions of which {MATCHING} match: {among:.0f} µs of CPU a save, {without:.0f} without")
    return [report.Line(f"a save among {count:,} subscriptions of which {MATCHING} match, server CPU", "µs", among, targets=[
        report.Target(f"≤ 1.5× of {without:.0f} µs without", among <= 1.5 * without)])]


def cpu_of_saves(public, count, numbers):
    """Microseconds of the server's processor time a save, with what it leaves to be done."""
    before = machine.cpu_seconds(public.pid)
    for _ in range(count):
        public.client.raw("POST", public.path("records/modify"), json.dumps(
            saving(f"c{next(numbers)}", fields={"shelf": {"value": "wanted", "type": "STRING"}})))
    time.sleep(3)
    return (machine.cpu_seconds(public.pid) - before) * 1e6 / count


# Many streams


def memory(bench):
    server, count = bench.nacre(name="streams"), STREAMS_QUICK if bench.quick else STREAMS
    users = [server.another_user(f"stream{start}@example.com") for start in range(0, count, DEVICES_PER_USER)]
    time.sleep(5)
    before = machine.resident_megabytes(server.pid)
    streams = [listeners.of_nacre(server, user.token, f"d{number}") for user in users for number in range(DEVICES_PER_USER)]
    time.sleep(5)
    after = machine.resident_megabytes(server.pid)
    for stream in streams:
        stream.close()
    server.stop()
    bench.say(f"{len(streams)} streams: {before:.1f} MB before, {after:.1f} MB with them")
    return [report.Line(f"{len(streams):,} open streams, resident above rest", "MB", after - before, targets=[
        report.Target(f"≤ {MEGABYTES_MAX} MB", after - before <= MEGABYTES_MAX)])]


# Subscriptions


def subscribe(server, token, scope, subscriptions):
    asker = listeners.client_of(server, token)
    answer = asker.json("POST", f"/database/1/{nacre.CONTAINER}/development/{scope}/subscriptions/modify", {
        "operations": [{"operationType": "create", "subscription": subscription} for subscription in subscriptions]})
    refused = [item for item in answer["subscriptions"] if "serverErrorCode" in item]
    if refused:
        raise RuntimeError(f"refused: {refused[0]}")
    asker.close()


def zone_subscription(name, zone):
    return {"subscriptionID": name, "subscriptionType": "zone", "zoneID": {"zoneName": zone}, "notificationInfo": {"shouldSendContentAvailable": True}}


def query_subscription(name, shelf=None):
    query = {"recordType": "Note"}
    if shelf:
        query["filterBy"] = [{"fieldName": "shelf", "comparator": "EQUALS", "fieldValue": {"value": shelf, "type": "STRING"}}]
    return {"subscriptionID": name, "subscriptionType": "query", "query": query, "firesOn": ["create"], "notificationInfo": {"alertBody": "A note"}}
