"""200 clients that ask for much, again and again, and never read, and 20 devices that never read their event streams, of 10,000 notifications each: memory
stays bounded, and normal requests are answered."""

import json
import socket
import sqlite3
import time

from harness import machine, nacre
from soaking import Fault, Witness

CLIENTS = 200
# Asked at once on each connection; the answers wait for each other.
REQUESTS = 50
RECORDS = 200
# Of one record; so an answer is about two megabytes.
TEXT_BYTES = 10_000
# Resident megabytes: two megabytes of answer for each client, as much again while answers are made, and an idle server.
MEMORY_MEGABYTES_MAX = 1000
# How long they stay.
SECONDS = 20
SAVE_BATCH = 50
STREAMS = 20
NOTIFICATIONS = 10_000
# A notification has nearly the 4 KB that it may have: of all that these devices are told there are 700 MB.
ALERT_BYTES = 3_500
# Resident megabytes above rest: a queue's transaction, and for each stream what of an answer may wait in memory (`bufferedBytesMax`), and one read of the queue.
STREAM_MEGABYTES_MAX = 60
# What waits on the disk for a device: notifications and rows of its push log (`docs/operations.md`).
ROWS_OF_DEVICE = 200
BYTES_OF_DEVICE = 1_100_000
# As the store numbers kinds of entries and tasks.
WAITING, PUSH_LOG, FIRING = 44, 47, 20


def run(soak):
    answers = of_answers(soak)
    soak.end()
    return answers + "; " + of_streams(soak)


def of_answers(soak):
    soak.want_descriptors(2 * CLIENTS + 200)
    server = soak.start_server()
    # The witness is another user: who does not read what it asked for is refused more.
    eve = server.another_user("eve@example.com")
    save(eve)
    request = feed_request(eve)
    machine.forget_peak(server.pid)
    clients = []
    try:
        with Witness(server) as witness:
            for _ in range(CLIENTS):
                clients.append(deaf(server.port))
                send_what_fits(clients[-1], request * REQUESTS)
            deadline = time.monotonic() + SECONDS
            while time.monotonic() < deadline and not witness.fault:
                time.sleep(0.2)
            peak = machine.peak_megabytes(server.pid)
        text = witness.verdict()
    finally:
        for each in clients:
            each.close()
    if peak > MEMORY_MEGABYTES_MAX:
        raise Fault(f"{peak:.0f} MB resident with {CLIENTS} clients that do not read, and {MEMORY_MEGABYTES_MAX} are allowed")
    return f"{CLIENTS} clients, {peak:.0f} MB resident at most; {text}"


def of_streams(soak):
    """Devices that are told of each of a user's saves, which another sign-in of the user does."""
    server = soak.start_server()
    user = server.another_user("listener@example.com")
    # So that there is the type.
    user.seed(1)
    made = user.ask("subscriptions/modify", {"operations": [{"operationType": "create", "subscription": {
        "subscriptionID": "notes", "subscriptionType": "query", "zoneID": {"zoneName": nacre.ZONE}, "query": {"recordType": "Note"},
        "firesOn": ["create"], "notificationInfo": {"alertBody": "x" * ALERT_BYTES}}}]})
    if "serverErrorCode" in made["subscriptions"][0]:
        raise Fault(f"the subscription was refused: {made}")
    streams = [deaf(server.port) for _ in range(STREAMS)]
    for number, each in enumerate(streams):
        each.setblocking(True)
        each.sendall((f"GET /device/1/{nacre.CONTAINER}/development/notifications?clientId=d{number} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
                      f"Authorization: Bearer {user.token}\r\n\r\n").encode())
        if not each.recv(12).startswith(b"HTTP/1.1 200"):
            raise Fault("an event stream was refused")
    user.client.headers["Authorization"] = "Bearer " + user.sign_in("listener@example.com")
    before = machine.resident_megabytes(server.pid)
    machine.forget_peak(server.pid)
    try:
        with Witness(server) as witness:
            for first in range(0, NOTIFICATIONS, SAVE_BATCH):
                user.ask("records/modify", {"zoneID": {"zoneName": nacre.ZONE}, "operations": [
                    {"operationType": "create", "record": {"recordName": f"r{number}", "recordType": "Note", "fields": {}}}
                    for number in range(first, first + SAVE_BATCH)]})
            wait_until_told(server)
            peak = machine.peak_megabytes(server.pid) - before
        text = witness.verdict()
    finally:
        for each in streams:
            each.close()
    rows, kept = queued(server)
    if rows < STREAMS:
        raise Fault(f"{rows} rows wait for {STREAMS} devices, which were to be told")
    if peak > STREAM_MEGABYTES_MAX:
        raise Fault(f"{peak:.0f} MB above rest with {STREAMS} event streams that are not read, and {STREAM_MEGABYTES_MAX} are allowed")
    if rows > STREAMS * ROWS_OF_DEVICE or kept > STREAMS * BYTES_OF_DEVICE:
        raise Fault(f"{rows} rows and {kept} bytes wait for {STREAMS} devices")
    return (f"{STREAMS} event streams of {NOTIFICATIONS} notifications that are not read: {peak:.0f} MB above rest at most, {rows} rows with "
            f"{kept / 1e6:.1f} MB kept; {text}")


def wait_until_told(server):
    """Until no save is left of which devices are to be told."""
    while counted(server, f"SELECT count(*), 0 FROM tasks WHERE kind = {FIRING}")[0]:
        time.sleep(0.1)


def queued(server):
    return counted(server, f"SELECT count(*), coalesce(sum(length(value)), 0) FROM entries WHERE kind IN ({WAITING}, {PUSH_LOG})")


def counted(server, question):
    with sqlite3.connect(f"file:{server.folder}/nacre.sqlite?mode=ro", uri=True) as database:
        return database.execute(question).fetchone()


def save(server):
    text = "x" * TEXT_BYTES
    for first in range(0, RECORDS, SAVE_BATCH):
        server.ask("records/modify", {"zoneID": {"zoneName": nacre.ZONE}, "operations": [
            {"operationType": "create", "record": {"recordName": f"r{number}", "recordType": "Note", "fields": {"text": {"value": text}}}}
            for number in range(first, first + SAVE_BATCH)]})


def feed_request(server):
    body = json.dumps({"zones": [{"zoneID": {"zoneName": nacre.ZONE}}]}).encode()
    answer = server.client.raw("POST", server.path("changes/zone"), body)
    if len(answer) < RECORDS * TEXT_BYTES:
        raise Fault(f"the answer should be large, and has {len(answer)} bytes")
    head = (f"POST {server.path('changes/zone')} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n")
    return head.encode() + body


def deaf(port):
    client = socket.socket()
    # As little as the kernel allows: the answer stays on the server's side.
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    client.connect(("127.0.0.1", port))
    client.setblocking(False)
    return client


def send_what_fits(client, data):
    try:
        client.send(data)
    except BlockingIOError:
        pass
