"""Attacks with an API token alone, with no credential and as one user: memory stays bounded, health and normal requests are answered, and all is over
when the attacker is gone. SIGTERM ends the server whatever runs."""

import functools
import http.client
import json
import socket
import subprocess
import sys
import time

from harness import machine, nacre
from soaking import Fault, Witness, another_user

import costly_requests
import deaf_clients

# Resident megabytes above rest, but for what so many connections take: libmicrohttpd's 48 KB and what we keep.
MEMORY_MEGABYTES_MAX = 300
CONNECTION_KILOBYTES = 60
# Within this an answer is normal again after the attacker's end.
RECOVERY_SECONDS_MAX = 5
HEALTH_SECONDS_MAX = 20
# From SIGTERM to the process's end.
END_SECONDS_MAX = 10
STAY_SECONDS = 5
BODY_BYTES = 8 * 1024 * 1024


def run(soak):
    soak.want_descriptors(6000)
    texts = []
    for attack in (withheld_bodies, strangers, too_large, deaf_readers, waits, guesses,
                   costly_queries, one_zone_often, large_lookups, one_record_often, conflicts, all_zones):
        server = soak.start_server()
        eve = another_user(server)
        PREPARATIONS.get(attack.__name__, deaf_clients.save)(eve)
        rest = machine.resident_megabytes(server.pid)
        machine.forget_peak(server.pid)
        sockets = []
        try:
            with Witness(server) as witness:
                attack(eve, sockets)
                deadline = time.monotonic() + STAY_SECONDS
                while time.monotonic() < deadline and not witness.fault:
                    for path in ("/healthz", "/readyz"):
                        health(server, path)
                    time.sleep(0.2)
            try:
                witness.verdict()
            except Fault as fault:
                raise Fault(f"{attack.__name__}: {fault}") from None
            peak = machine.peak_megabytes(server.pid)
        finally:
            for each in sockets:
                each.close()
        recover(server)
        if attack is costly_queries:
            end_under_attack(server, lambda: attack(eve, []))
        allowed = MEMORY_MEGABYTES_MAX + len(sockets) * CONNECTION_KILOBYTES / 1024
        if peak - rest > allowed:
            raise Fault(f"{attack.__name__}: {peak - rest:.0f} MB above rest, and {allowed:.0f} are allowed")
        print(f"abuse: {attack.__name__}: {peak - rest:.0f} MB above rest", file=sys.stderr, flush=True)
        texts.append(f"{attack.__name__} {peak - rest:.0f} MB with {len(sockets)} connections, slowest {witness.slowest * 1000:.0f} ms")
        soak.end()
    return "; ".join(texts)


# What there is to ask for, where it is not the records of `deaf_clients`.
PREPARATIONS = {
    "costly_queries": costly_requests.lists,
    "one_zone_often": functools.partial(costly_requests.texts, count=8),
    "large_lookups": functools.partial(costly_requests.texts, count=200),
    "one_record_often": functools.partial(costly_requests.texts, count=1),
    "conflicts": functools.partial(costly_requests.texts, count=200),
    "all_zones": functools.partial(costly_requests.zones, count=30),
}


def end_under_attack(server, attack):
    attack()
    start = time.monotonic()
    server.process.terminate()
    try:
        server.process.wait(END_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        raise Fault(f"SIGTERM did not end the server in {END_SECONDS_MAX} s") from None
    print(f"abuse: ended {time.monotonic() - start:.1f} s after SIGTERM", file=sys.stderr, flush=True)


def health(server, path):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=HEALTH_SECONDS_MAX)
    try:
        connection.request("GET", path)
        if connection.getresponse().status != 200:
            raise Fault(f"{path} is not answered")
    except OSError as error:
        raise Fault(f"{path}: {error!r}") from None
    finally:
        connection.close()


def recover(server):
    start = time.monotonic()
    health(server, "/readyz")
    server.ask("records/lookup", {"records": [{"recordName": "absent"}]})
    if time.monotonic() - start > RECOVERY_SECONDS_MAX:
        raise Fault(f"a normal answer took {time.monotonic() - start:.1f} s after the attacker's end")


def opened(server, sockets):
    each = socket.create_connection(("127.0.0.1", server.port), 60)
    sockets.append(each)
    return each


def head(server, path, length, credential=""):
    return (f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n{credential}Content-Type: application/json\r\n"
            f"Content-Length: {length}\r\n\r\n").encode()


def send_until_refused(each, data):
    """A server that has refused may close while the rest is still being sent."""
    each.settimeout(1)
    try:
        each.sendall(data)
    except OSError:
        pass


def withheld_bodies(server, sockets):
    """990 bodies of 8 MB without their last byte, with the API token only."""
    path = server.path("records/modify").replace("private", "public") + "?ckAPIToken=" + server.api_token
    body = b" " * (BODY_BYTES - 1)
    for _ in range(990):
        send_until_refused(opened(server, sockets), head(server, path, BODY_BYTES) + body)


def strangers(server, sockets):
    """4,000 bodies of 64 KB without a credential and without their last byte."""
    data = head(server, server.path("records/modify"), 64 * 1024) + b" " * (64 * 1024 - 1)
    for _ in range(4000):
        send_until_refused(opened(server, sockets), data)


def too_large(server, sockets):
    """Bodies of 8 MB that are refused for what is in them, and some that say that they are larger."""
    record = '{"operationType":"create","record":{"recordType":"Note","fields":{"text":{"value":"%s"}}}}' % ("x" * 90_000)
    body = ('{"zoneID":{"zoneName":"Notes"},"operations":[%s]}' % ",".join([record] * 85)).encode()
    bearer = f"Authorization: Bearer {server.token}\r\n"
    each = None
    for _ in range(20):
        each = opened(server, sockets)
        send_until_refused(each, head(server, server.path("records/modify"), len(body), bearer) + body)
        send_until_refused(opened(server, sockets), head(server, server.path("records/modify"), 20 * BODY_BYTES, bearer) + body)


def deaf_readers(server, sockets):
    """600 that read a feed of two megabytes and do not read it."""
    request = deaf_clients.feed_request(server)
    for _ in range(600):
        sockets.append(deaf_clients.deaf(server.port))
        deaf_clients.send_what_fits(sockets[-1], request)


def waits(server, sockets):
    """2,100 waits for changes of one user."""
    token = server.ask("changes/database", {})["syncToken"]
    body = ('{"syncToken":"%s","nacre":{"waitSeconds":30}}' % token).encode()
    data = head(server, server.path("changes/database"), len(body), f"Authorization: Bearer {server.token}\r\n") + body
    for _ in range(2100):
        opened(server, sockets).sendall(data)


def guesses(server, sockets):
    """200 wrong passwords at once, of many accounts."""
    for number in range(200):
        body = ('{"email":"%d@example.com","password":"wrong wrong","apiToken":"%s","container":"%s","environment":"development"}'
                % (number, server.api_token, nacre.CONTAINER)).encode()
        opened(server, sockets).sendall(head(server, "/account/1/sign-in", len(body)) + body)


def costly_queries(server, sockets):
    """Filters of 250 values over lists of 100,000, hung up at once."""
    for number in range(costly_requests.CLIENTS):
        costly_requests.hang_up(server, "records/query", costly_requests.query_of_lists(number), sockets, opened, head)


def one_zone_often(server, _):
    """One zone of 8 MB, named 200 times in a request."""
    costly_requests.ask_and_read(server, "changes/zone", [json.dumps(costly_requests.same_zone())] * costly_requests.CLIENTS)


def large_lookups(server, _):
    """200 records of a megabyte in a request."""
    names = [f"big{number}" for number in range(200)]
    costly_requests.ask_and_read(server, "records/lookup", [json.dumps(costly_requests.lookup(names))] * costly_requests.CLIENTS)


def one_record_often(server, _):
    """One record of a megabyte, named 200 times in a request."""
    costly_requests.ask_and_read(server, "records/lookup", [json.dumps(costly_requests.lookup(["big0"] * 200))] * 30)


def conflicts(server, _):
    """20 × 200 stale updates of records of a megabyte."""
    names = [f"big{number}" for number in range(200)]
    costly_requests.ask_and_read(server, "records/modify", [json.dumps(costly_requests.stale_updates(names))] * 20)


def all_zones(server, _):
    """A small field of many zones' large records."""
    costly_requests.ask_and_read(server, "records/query", [json.dumps(costly_requests.zone_wide())] * costly_requests.CLIENTS)
