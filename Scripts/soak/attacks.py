"""The attacks of `abuse`, and users who want much: each begins with everything it wants at once, and goes on until its process ends.

An attack is a function of the server as the attacker's user sees it and of the list in which its sockets are kept. It may have `prepare`, which makes
what is asked for; `server`, how the server is started; `after`, which says of the server what is wrong behind it; `witnesses`, what else is asked beside it; and `floors`, the milliseconds that answers may take whatever
they took alone, where they are others than `abuse` says."""

import functools
import http.client
import json
import os
import socket
import time
import urllib.parse

from harness import client, nacre
from harness.crowd import batch, in_background, send_for_ever

import costly_requests
import deaf_clients

BODY_BYTES = 8 * 1024 * 1024


def made_by(prepare, **more):
    def mark(attack):
        if prepare:
            attack.prepare = prepare
        attack.__dict__.update(more)
        return attack
    return mark


# How they are sent


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


def ask_for_ever(server, sockets, endpoint, body, count=costly_requests.CLIENTS):
    body = json.dumps(body)
    send_for_ever(server, sockets, endpoint, lambda *_: body, count)


# Bodies and answers that lie about


def withheld_bodies(server, sockets):
    """990 bodies of 8 MB without their last byte, with the API token only."""
    path = guest_path(server, "records/modify")
    body = b" " * (BODY_BYTES - 1)
    for _ in range(990):
        send_until_refused(opened(server, sockets), head(server, path, BODY_BYTES) + body)


def strangers(server, sockets):
    """9,000 bodies of 64 KB without a credential and without their last byte."""
    data = head(server, server.path("records/modify"), 64 * 1024) + b" " * (64 * 1024 - 1)
    for _ in range(9000):
        send_until_refused(opened(server, sockets), data)


def half_sent_bodies(server, sockets):
    """2,100 sign-ins without a credential, in chunks, of which one byte comes."""
    data = (f"POST /account/1/sign-in HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Type: application/json\r\n"
            "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n").encode()
    for _ in range(2100):
        send_until_refused(opened(server, sockets), data)


def too_large(server, sockets):
    """Two connections whose bodies of 8 MB are refused for what is in them, and one whose bodies say that they are larger, again and again."""
    record = '{"operationType":"create","record":{"recordType":"Note","fields":{"text":{"value":"%s"}}}}' % ("x" * 90_000)
    body = '{"zoneID":{"zoneName":"Notes"},"operations":[%s]}' % ",".join([record] * 85)
    send_for_ever(server, sockets, "records/modify", lambda *_: body, 2)
    claim = head(server, server.path("records/modify"), 20 * BODY_BYTES, f"Authorization: Bearer {server.token}\r\n")

    def work():
        while True:
            with socket.create_connection(("127.0.0.1", server.port), 60) as each:
                send_until_refused(each, claim)
                each.recv(4096)
            time.sleep(0.01)

    in_background(sockets, work)


@made_by(deaf_clients.save)
def deaf_readers(server, sockets):
    """600 that ask for a feed of two megabytes and do not read it."""
    asked = deaf_clients.feed_request(server)
    for _ in range(600):
        sockets.append(deaf_clients.deaf(server.port))
        deaf_clients.send_what_fits(sockets[-1], asked)


def guest_path(server, endpoint):
    """Of who has an API token and is nobody."""
    return server.publicly().path(endpoint) + "?ckAPIToken=" + server.api_token


def public_texts(server):
    """As many records of a megabyte as an answer has room for."""
    costly_requests.texts(server.publicly(), 8, zone="_defaultZone")


def deaf_askers(server, sockets, endpoint, body, count):
    """So many that ask once, as a user, and do not read."""
    body = json.dumps(body).encode()
    data = head(server, server.path(endpoint), len(body), f"Authorization: Bearer {server.token}\r\n") + body
    for _ in range(count):
        sockets.append(deaf_clients.deaf(server.port))
        deaf_clients.send_what_fits(sockets[-1], data)


def deaf_guests(server, sockets, names):
    body = json.dumps({"records": [{"recordName": name} for name in names]}).encode()
    data = head(server, guest_path(server, "records/lookup"), len(body)) + body
    for _ in range(30):
        sockets.append(deaf_clients.deaf(server.port))
        deaf_clients.send_what_fits(sockets[-1], data * 10)


@made_by(public_texts)
def one_public_record_often(server, sockets):
    """One public record of a megabyte, named 200 times in a request, by 30 that have the API token and do not read."""
    deaf_guests(server, sockets, ["big0"] * 200)


@made_by(public_texts)
def public_records(server, sockets):
    """As many public records as an answer has room for, by 30 that have the API token and do not read."""
    deaf_guests(server, sockets, [f"big{number}" for number in range(8)])


# Who waits, guesses and idles


def wait_for_changes(server, sockets, count):
    token = server.ask("changes/database", {})["syncToken"]
    body = ('{"syncToken":"%s","nacre":{"waitSeconds":30}}' % token).encode()
    data = head(server, server.path("changes/database"), len(body), f"Authorization: Bearer {server.token}\r\n") + body
    for _ in range(count):
        opened(server, sockets).sendall(data)


def waits(server, sockets):
    """2,100 waits for changes of one user."""
    wait_for_changes(server, sockets, 2100)


def many_users(server):
    return [server.another_user(f"device{number}@example.com") for number in range(24)]


@made_by(many_users)
def honest_devices(server, sockets, users):
    """More waits than requests may be under way, by users who have a few dozen devices each."""
    for user in users:
        wait_for_changes(user, sockets, 86)


def sign_ins(server):
    """Of a device that the guessed account has signed in from, and of a new device of another account each time."""
    return {"known sign-ins": (0.5, lambda _: server.sign_in(nacre.EMAIL, "127.0.0.1")),
            "new sign-ins": (0.5, lambda number: server.sign_in("eve@example.com", f"127.0.1.{number % 250 + 1}"))}


# A sign-in hashes a password, a tenth of a second and more, and waits for hashes that were let through before it.
@made_by(None, witnesses=sign_ins, floors={"known sign-ins": 4000, "new sign-ins": 4000})
def guesses(server, sockets):
    """24 guesses a second at one account, and 120 that guess at accounts of their own, from another address."""
    def guess(email, pause):
        while True:
            try:
                server.sign_in(email, "127.0.0.2", "wrong wrong")
            except (client.Refused, OSError, http.client.HTTPException):
                pass
            time.sleep(pause)

    for _ in range(6):
        in_background(sockets, functools.partial(guess, nacre.EMAIL, 0.25))
    for number in range(120):
        in_background(sockets, functools.partial(guess, f"{number}@example.com", 1))


OFFICE = 120
OFFICE_ADDRESS = "127.0.0.3"


def office(server):
    for number in range(OFFICE):
        server.another_user(f"office{number}@example.com")
    return OFFICE


def office_witnesses(server):
    """One of the office too, who fails where a right password is refused."""
    return {**sign_ins(server), "office sign-ins": (0.5, lambda number: server.sign_in(f"office{-number % OFFICE}@example.com", OFFICE_ADDRESS))}


@made_by(office, witnesses=office_witnesses, floors={"known sign-ins": 4000, "new sign-ins": 4000, "office sign-ins": 15_000})
def office_sign_ins(server, sockets, count):
    """120 accounts that sign in from one address, 32 at once, all with the right password: none is refused."""
    def work(number):
        while True:
            try:
                server.sign_in(f"office{number % count}@example.com", OFFICE_ADDRESS)
            except (client.Refused, OSError, http.client.HTTPException):
                pass
            number += 32

    for number in range(32):
        in_background(sockets, functools.partial(work, number))


@made_by(None, server={"prefix": ("prlimit", "--nofile=1024:1024")})
def idle_connections(server, sockets):
    """991 connections that asked once and idle, where the process may have 1,024 descriptors."""
    data = f"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode()
    for _ in range(991):
        opened(server, sockets).sendall(data)


# Strangers who come from elsewhere, as a proxy says, to a server that has its rates

BEHIND_PROXY = {"has_rates": True, "options": ("--trusted-proxy", "127.0.0.1")}
# A rate that the attacker's few connections can spend in a second.
AT_LOW_RATE = {"has_rates": True, "options": ("--trusted-proxy", "127.0.0.1", "--request-rate", "2000")}


def ask_from_elsewhere(server, sockets, count, target, body):
    """So many connections; `target` makes the path of the connection's number and the request's."""
    def work(number):
        turn = 0
        while True:
            asker = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
            try:
                while True:
                    asker.request("POST", target(number, turn), body, {"X-Forwarded-For": f"192.0.2.{number + 1}", "Content-Type": "application/json"})
                    answer = asker.getresponse()
                    answer.read()
                    turn += 1
                    if answer.status != 200:
                        time.sleep(0.001)
            except (OSError, http.client.HTTPException):
                time.sleep(0.1)
            finally:
                asker.close()

    for number in range(count):
        in_background(sockets, functools.partial(work, number))


@made_by(None, server=BEHIND_PROXY)
def made_up_tokens(server, sockets):
    """API tokens of 15 KB that nobody made, another in each request, 50 requests behind each other on each of eight connections."""
    path = server.publicly().path("records/lookup")
    rest = ("a" * 15_000 + f" HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nX-Forwarded-For: 192.0.2.1\r\n"
            "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")

    def work(number):
        turn = 0
        while True:
            try:
                with socket.create_connection(("127.0.0.1", server.port), 60) as each:
                    while True:
                        each.sendall("".join(f"POST {path}?ckAPIToken={number}x{turn + more}x{rest}" for more in range(50)).encode())
                        turn, answered = turn + 50, b""
                        while answered.count(b"HTTP/1.1 ") < 50:
                            piece = each.recv(1 << 16)
                            if not piece:
                                raise OSError
                            answered += piece
            except OSError:
                time.sleep(0.1)

    for number in range(8):
        in_background(sockets, functools.partial(work, number))


def web_user(server):
    """A user on the web, who has the API token that everybody has."""
    token = client.Client("127.0.0.1", server.port).json("POST", "/account/1/sign-in", {
        "email": nacre.EMAIL, "password": nacre.PASSWORD, "apiToken": server.api_token, "container": nacre.CONTAINER, "environment": "development",
        "kind": "web"})["token"]
    target = server.publicly().path("records/lookup") + "?" + urllib.parse.urlencode({"ckAPIToken": server.api_token, "ckWebAuthToken": token})
    return {"web lookups": (0.05, lambda _: client.Client("127.0.0.1", server.port).json("POST", target, {"records": [{"recordName": "none"}]}))}


@made_by(None, server=AT_LOW_RATE, witnesses=web_user)
def strangers_at_a_token(server, sockets):
    """24 strangers, each at an address of its own, who look up 200 names with the API token of a page."""
    body = json.dumps({"records": [{"recordName": f"none{number}"} for number in range(200)]})
    target = guest_path(server, "records/lookup")
    ask_from_elsewhere(server, sockets, 24, lambda *_: target, body)


# Requests of a few kilobytes that would be much work


@made_by(costly_requests.lists)
def abandoned_queries(server, sockets):
    """Filters of 250 values over lists of 100,000, four at a time, hung up at once."""
    def work(number):
        body = json.dumps(costly_requests.query_of_lists(number)).encode()
        while True:
            with socket.create_connection(("127.0.0.1", server.port), 60) as each:
                send_until_refused(each, head(server, server.path("records/query"), len(body), f"Authorization: Bearer {server.token}\r\n") + body)
            time.sleep(0.1)

    for number in range(costly_requests.CLIENTS):
        in_background(sockets, functools.partial(work, number))


@made_by(costly_requests.lists)
def costly_queries(server, sockets):
    """The same, read, by 16 connections."""
    ask_for_ever(server, sockets, "records/query", costly_requests.query_of_lists(), 16)


@made_by(functools.partial(costly_requests.texts, count=8))
def one_zone_often(server, sockets):
    """One zone of 8 MB, named 200 times in a request."""
    ask_for_ever(server, sockets, "changes/zone", costly_requests.same_zone())


@made_by(functools.partial(costly_requests.texts, count=8))
def zone_of_much(server, sockets):
    """The same zone, named once."""
    ask_for_ever(server, sockets, "changes/zone", costly_requests.same_zone(1))


@made_by(functools.partial(costly_requests.texts, count=200))
def large_lookups(server, sockets):
    """200 records of a megabyte in a request."""
    ask_for_ever(server, sockets, "records/lookup", costly_requests.lookup([f"big{number}" for number in range(200)]))


@made_by(functools.partial(costly_requests.texts, count=200))
def conflicts(server, sockets):
    """20 × 200 stale updates of records of a megabyte."""
    ask_for_ever(server, sockets, "records/modify", costly_requests.stale_updates([f"big{number}" for number in range(200)]), 20)


@made_by(functools.partial(costly_requests.texts, count=8))
def answered_conflicts(server, sockets):
    """20 × 8 stale updates of records of a megabyte: as many as an answer has room for."""
    ask_for_ever(server, sockets, "records/modify", costly_requests.stale_updates([f"big{number}" for number in range(8)]), 20)


@made_by(functools.partial(costly_requests.texts, count=1))
def deaf_conflicts(server, sockets):
    """A stale update of a record of a megabyte at a time, by 600 that do not read."""
    deaf_askers(server, sockets, "records/modify", costly_requests.stale_updates(["big0"]), 600)


@made_by(functools.partial(costly_requests.texts, count=8))
def deaf_large_conflicts(server, sockets):
    """8 stale updates of records of a megabyte at a time, by 100 that do not read."""
    deaf_askers(server, sockets, "records/modify", costly_requests.stale_updates([f"big{number}" for number in range(8)]), 100)


@made_by(functools.partial(costly_requests.texts, count=33))
def fallen_deletions(server, sockets):
    """20 × 32 deletions of records of a megabyte, which fall with a stale update beside them."""
    ask_for_ever(server, sockets, "records/modify", costly_requests.deletions_that_fall([f"big{number}" for number in range(32)], "big32"), 20)


@made_by(functools.partial(costly_requests.texts, count=8))
def large_updates(server, sockets):
    """20 × 8 updates of a small field of records of a megabyte, which are done."""
    ask_for_ever(server, sockets, "records/modify", costly_requests.updates([f"big{number}" for number in range(8)]), 20)


@made_by(functools.partial(costly_requests.zones, count=30))
def all_zones(server, sockets):
    """A small field of many zones' large records."""
    ask_for_ever(server, sockets, "records/query", costly_requests.zone_wide())


# Files


def send_file(server, asker, record, data, field="file"):
    """Sends a file for a field of a record: the dictionary that a save carries."""
    token = {"recordName": record, "recordType": "Picture", "fieldName": field}
    answer = asker.json("POST", server.path("assets/upload"), {"zoneID": {"zoneName": nacre.ZONE}, "tokens": [token]})
    path = urllib.parse.urlsplit(answer["tokens"][0]["url"]).path
    return json.loads(asker.raw("POST", path, data))["singleFile"]


def many_chunks(server):
    """12 files of 30 MB, some 100 chunks each, in a record each."""
    for number in range(12):
        file = send_file(server, server.client, f"picture{number}", os.urandom(30 * 1024 * 1024))
        server.ask("records/modify", {"zoneID": {"zoneName": nacre.ZONE}, "operations": [{"operationType": "forceReplace", "record": {
            "recordName": f"picture{number}", "recordType": "Picture", "fields": {"file": {"value": file}}}}]})


@made_by(many_chunks)
def rereferenced_files(server, sockets):
    """16 connections that copy one file 200 times in a request, which is refused, or 12 files of 100 chunks, which is done."""
    once = [{"recordName": f"picture{number}", "fieldName": "file"} for number in range(12)]
    bodies = [json.dumps({"zoneID": {"zoneName": nacre.ZONE}, "assets": assets}) for assets in (once[:1] * 200, once)]
    send_for_ever(server, sockets, "assets/rereference", lambda number, turn: bodies[turn % 2], 16)


@made_by(None, server={"options": ("--user-quota", "20M")})
def unsaved_files(server, sockets):
    """8 connections that send files of a megabyte and save none, under a quota of 20 MB. Each says what it was answered: the disk holds no more."""
    def work(number):
        asker = client.Client("127.0.0.1", server.port, server.token)
        turn = 0
        while True:
            turn += 1
            try:
                send_file(server, asker, f"{number}-{turn}", os.urandom(1024 * 1024))
            except (client.Refused, OSError, http.client.HTTPException):
                asker.close()
                time.sleep(0.05)

    for number in range(8):
        in_background(sockets, functools.partial(work, number))


def at_most_the_quota(server):
    """What is wrong with the files after `unsaved_files`; None: nothing."""
    files = (os.path.join(folder, name) for folder, _, names in os.walk(os.path.join(server.folder, "assets")) for name in names)
    megabytes = sum(os.path.getsize(file) for file in files) / 1e6
    return f"{megabytes:.0f} MB of files lie under a quota of 20 MB" if megabytes > 30 else None


unsaved_files.after = at_most_the_quota


# Subscriptions and devices of others


def subscribe(server, numbers, *filters):
    """Subscriptions of one user to records that are made in the public database; each has a price of its own besides."""
    server.publicly().ask("subscriptions/modify", {"operations": [{"operationType": "create", "subscription": {
        "subscriptionID": f"s{number}", "subscriptionType": "query", "firesOn": ["create"],
        "query": {"recordType": "Item", "filterBy": [*filters, {
            "comparator": "NOT_EQUALS", "fieldName": "price", "fieldValue": {"value": 1000 + number}}]}}} for number in numbers]})


def public_items(server):
    server.define("Item", {"price": {"value": 50}, "text": {"value": "x"}}, {"price": ["queryable"], "text": ["queryable"]})


def public_saves(server):
    """Saves of somebody else into the public database."""
    asker, path = client.Client("127.0.0.1", server.port, server.token), server.publicly().path("records/modify")
    body = json.dumps({"operations": [{"operationType": "create", "record": {
        "recordType": "Item", "fields": {"price": {"value": 50}, "text": {"value": "x"}}}}]})
    return {"public saves": (0.02, lambda _: asker.raw("POST", path, body))}


def ten_users(server):
    public_items(server)
    return [server.another_user(f"idle{number}@example.com") for number in range(10)]


@made_by(ten_users, witnesses=public_saves)
def idle_inequalities(server, sockets, users):
    """4,000 subscriptions to `price < 10`, and 1,000 that each save is held against in vain, beside saves at the price 50."""
    below = {"comparator": "LESS_THAN", "fieldName": "price", "fieldValue": {"value": 10}}
    other = {"comparator": "NOT_EQUALS", "fieldName": "text", "fieldValue": {"value": "x"}}
    for user in users:
        subscribe(user, range(100), other)
        for first in range(100, 500, 100):
            subscribe(user, range(first, first + 100), below)


@made_by(ten_users, witnesses=public_saves)
def devices_that_left(server, sockets, users):
    """1,000 devices of ten users that followed their event streams, subscribe to each save into the public database, and are gone."""
    for user in users:
        subscribe(user, range(1))
        for number in range(100):
            with socket.create_connection(("127.0.0.1", user.port), 60) as each:
                each.sendall((f"GET /device/1/{nacre.CONTAINER}/development/notifications?clientId=d{number} HTTP/1.1\r\n"
                              f"Host: 127.0.0.1:{user.port}\r\nAuthorization: Bearer {user.token}\r\n\r\n").encode())
                each.recv(4096)


def share_pages(server, sockets):
    """Pages of shares by 16 connections without a credential: of URLs that no share can have, and of the longest that one can."""
    def work(name):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        while True:
            try:
                connection.request("GET", "/share/" + name)
                connection.getresponse().read()
            except (OSError, http.client.HTTPException):
                connection.close()

    for number in range(16):
        in_background(sockets, functools.partial(work, "A" * 150 if number % 2 else "A" * 22 + "~" + "a" * 64))


# Users who want much and mean no harm


def upload(server, sockets):
    """One connection that saves 400 records at a time."""
    send_for_ever(server, sockets, "records/modify", lambda number, turn: batch(number, turn, 400), 1)


def uploads(server, sockets):
    """16 connections that save 200 records at a time."""
    send_for_ever(server, sockets, "records/modify", lambda number, turn: batch(number, turn, 200), 16)


def searchable_texts(server):
    server.define("Article", {"text": {"value": "x"}}, {"text": ["searchable"]})


@made_by(searchable_texts)
def new_words(server, sockets):
    """200 texts of 500 words, none of which was ever seen, in a request. All of it is one transaction, and a save waits for one."""
    def body(number, turn):
        return json.dumps({"zoneID": {"zoneName": nacre.ZONE}, "operations": [
            {"operationType": "create", "record": {"recordName": f"w{number}-{turn}-{place}", "recordType": "Article", "fields": {"text": {
                "value": " ".join(f"w{number}x{turn}x{place}x{word}" for word in range(500))}}}} for place in range(200)]})

    send_for_ever(server, sockets, "records/modify", body, 1)


@made_by(searchable_texts, server={"has_rates": True}, floors={"saves": 20})
def new_words_at_rate(server, sockets):
    """The same on a server that has its rates: a user who was quiet has six such requests at once, and then one in eleven seconds, so they are few among
    another's saves, and the bound is that of the others."""
    new_words(server, sockets)


@made_by(lambda server: server.seed(6000))
def first_syncs(server, sockets):
    """16 that read a zone from its beginning."""
    ask_for_ever(server, sockets, "changes/zone", costly_requests.same_zone(1), 16)


ALL = (deaf_conflicts, deaf_large_conflicts, fallen_deletions, large_updates, all_zones, upload, uploads, new_words,
       new_words_at_rate, first_syncs, withheld_bodies, strangers, too_large, deaf_readers, one_public_record_often,
       public_records, waits, honest_devices, guesses, office_sign_ins, idle_connections, abandoned_queries,
       costly_queries, one_zone_often, zone_of_much, large_lookups, conflicts, answered_conflicts,
       rereferenced_files, unsaved_files, idle_inequalities, devices_that_left, half_sent_bodies, made_up_tokens,
       strangers_at_a_token, share_pages)
