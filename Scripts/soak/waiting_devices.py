"""20,000 devices that wait for changes, half by event streams and half by requests: they cost memory, and each is told when something changes.

Of fewer where this machine allows a process fewer descriptors."""

import json
import selectors
import socket
import threading
import time

from harness import machine, nacre
from soaking import Fault, Witness

# Of each kind.
DEVICES = 10_000
# Descriptors that the server keeps for itself.
KEPT = 256
# Of what is left, from where on it closes connections that are without a request for a moment.
FULL = 7 / 8
# Who asks beside the devices.
OTHERS = 100
# Of one user; the server's limit.
PER_USER = 100
# Ports of one address of this machine that may be in use at a time, with room for others.
PER_ADDRESS = 5_000
# What the server is told to take: idle connections are closed from seven eighths of it on.
CONNECTIONS = 24_576
SECONDS_MAX = 60
# While they wait: heartbeats of streams each 15 s, requests that are answered after 30 s and asked again.
REST_SECONDS = 40
STREAM_KILOBYTES_MAX = 25
REQUEST_KILOBYTES_MAX = 60
# Of one core, of which the client's part is none.
CPU_SHARE_MAX = 0.3


class Waiting:
    """Devices of one kind, which a thread keeps waiting."""

    def __init__(self, server):
        self.port, self.chosen, self.count, self.told, self.lost = server.port, selectors.DefaultSelector(), 0, set(), []
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.work, daemon=True)

    def add(self, request, answer):
        """Opens a connection that sends `request`; `answer(part)` says what becomes of what came: None, `told`, or what is to be sent next."""
        source = f"127.0.0.{2 + self.count // PER_ADDRESS}"
        each = socket.create_connection(("127.0.0.1", self.port), SECONDS_MAX, (source, 0))
        each.sendall(request)
        self.count += 1
        self.chosen.register(each, selectors.EVENT_READ, (self.count, answer))
        return each

    def work(self):
        while not self.stopped.is_set():
            for key, _ in self.chosen.select(0.2):
                number, answer = key.data
                try:
                    part = key.fileobj.recv(65536)
                    if not part:
                        raise OSError("the server closed it")
                    said = answer(part)
                    if said == "told":
                        self.told.add(number)
                    elif said:
                        key.fileobj.sendall(said)
                except OSError as error:
                    self.lost.append(f"device {number}: {error}")
                    self.chosen.unregister(key.fileobj)

    def begin(self):
        self.thread.start()

    def end(self):
        self.stopped.set()
        if self.thread.ident:
            self.thread.join()
        for key in list(self.chosen.get_map().values()):
            key.fileobj.close()


def run(soak):
    allowed = soak.most_descriptors(CONNECTIONS + KEPT)
    devices = min(DEVICES, int((allowed - KEPT) * FULL - OTHERS) // 2 // PER_USER * PER_USER)
    server = soak.start_server(options=("--connections", str(CONNECTIONS)))
    emails = [f"waiting{number}@example.com" for number in range(2 * devices // PER_USER)]
    users = [server.another_user(email) for email in emails]
    for user in users:
        # It connects again when it is asked something.
        user.client.close()
    time.sleep(3)
    kinds = [("event streams", stream, STREAM_KILOBYTES_MAX), ("requests", request, REQUEST_KILOBYTES_MAX)]
    texts, all_waiting, half = [], [], len(users) // 2
    try:
        with Witness(server) as witness:
            for place, (name, begin, most) in enumerate(kinds):
                before = machine.resident_megabytes(server.pid)
                waiting = Waiting(server)
                all_waiting.append((name, waiting))
                waiting.begin()
                for user, email in list(zip(users, emails))[place * half:(place + 1) * half]:
                    begin(waiting, user, email)
                time.sleep(5)
                each = (machine.resident_megabytes(server.pid) - before) * 1000 / devices
                texts.append(f"{devices} {name} {each:.1f} KB each")
                if each > most:
                    raise Fault(f"{each:.1f} KB for each of {devices} {name}, and {most} are allowed")
            cpu = machine.cpu_seconds(server.pid)
            time.sleep(REST_SECONDS)
            share = (machine.cpu_seconds(server.pid) - cpu) / REST_SECONDS
            texts.append(f"{share:.3f} of a core while they wait, {machine.resident_megabytes(server.pid):.0f} MB resident")
            tell(users)
            deadline = time.monotonic() + SECONDS_MAX
            while time.monotonic() < deadline and any(len(waiting.told) < devices for _, waiting in all_waiting):
                time.sleep(0.1)
        texts.append(witness.verdict())
    finally:
        for _, waiting in all_waiting:
            waiting.end()
    for name, waiting in all_waiting:
        if waiting.lost:
            raise Fault(f"{len(waiting.lost)} of {devices} {name} were lost: {waiting.lost[0]}")
        if len(waiting.told) < devices:
            raise Fault(f"{len(waiting.told)} of {devices} {name} were told")
    if share > CPU_SHARE_MAX:
        raise Fault(f"{share:.2f} of a core while nothing changed, and {CPU_SHARE_MAX} are allowed")
    return "; ".join(texts)


def stream(waiting, user, email):
    """Event streams of as many devices as a user may have wait; each is told of the user's zone."""
    user.ask("subscriptions/modify", {"operations": [{"operationType": "create", "subscription": {
        "subscriptionID": "zone", "subscriptionType": "zone", "zoneID": {"zoneName": nacre.ZONE},
        "notificationInfo": {"shouldSendContentAvailable": True}}}]})
    # Devices are not told what they change themselves.
    author = user.sign_in(email)
    for number in range(PER_USER):
        waiting.add(
            f"GET /device/1/{nacre.CONTAINER}/development/notifications?clientId=d{number} HTTP/1.1\r\nHost: 127.0.0.1:{user.port}\r\n"
            f"Authorization: Bearer {user.token}\r\n\r\n".encode(),
            lambda part: "told" if b"event: notification" in part else None)
    user.client.headers["Authorization"] = "Bearer " + author
    user.client.close()


def request(waiting, user, _):
    """Requests for changes of the user's database, from where it is now."""
    token = user.ask("changes/database", {})["syncToken"]
    body = json.dumps({"syncToken": token, "nacre": {"waitSeconds": 30}})
    text = (f"POST {user.path('changes/database')} HTTP/1.1\r\nHost: 127.0.0.1:{user.port}\r\nAuthorization: Bearer {user.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode()

    def answer(part):
        if not part.startswith(b"HTTP/1.1 200 "):
            raise OSError(f"answered {part[:200]!r}")
        return "told" if b'"zoneName"' in part else text

    for _ in range(PER_USER):
        waiting.add(text, answer)
    user.client.close()


def tell(users):
    """A save in each user's zone."""
    for user in users:
        user.ask("records/modify", {"zoneID": {"zoneName": nacre.ZONE}, "operations": [
            {"operationType": "create", "record": {"recordName": "news", "recordType": "Note", "fields": {}}}]})
        user.client.close()
