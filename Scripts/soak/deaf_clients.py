"""200 clients that ask for much, again and again, and never read: memory stays bounded, and normal requests are answered."""

import json
import socket
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


def run(soak):
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
