"""Who hears of changes: streams of server-sent events, of which one process follows thousands."""

import json
import selectors
import socket
import time

from . import client, nacre

SECONDS_MAX = 30


class Listener:
    """A stream; `marker` is in each event that tells of a change."""

    def __init__(self, port, target, marker, headers=""):
        self.marker, self.rest = marker, b""
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=SECONDS_MAX)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: text/event-stream\r\n{headers}\r\n".encode())

    def read(self):
        """How many events tell of changes in what has come."""
        some = self.socket.recv(65536)
        if not some:
            raise RuntimeError(f"the stream ended: {self.rest[-500:]!r}")
        self.rest += some
        count = self.rest.count(self.marker)
        # A marker may be cut.
        self.rest = self.rest[-(len(self.marker) - 1):] if count == 0 else self.rest[self.rest.rfind(self.marker) + len(self.marker):]
        return count

    def until(self, text):
        """What came up to some text, which is there."""
        while text not in self.rest:
            some = self.socket.recv(65536)
            if not some:
                raise RuntimeError(f"the stream ended: {self.rest[-500:]!r}")
            self.rest += some
        said, self.rest = self.rest.split(text, 1)
        return said

    def hears(self):
        while not self.read():
            pass

    def close(self):
        self.socket.close()


def of_nacre(server, token, client_id=None):
    query = f"?clientId={client_id}" if client_id else ""
    listener = Listener(
        server.port, f"/device/1/{nacre.CONTAINER}/development/notifications{query}", b"event: notification", f"Authorization: Bearer {token}\r\n")
    listener.until(b"retry: 1000")
    return listener


def of_pocketbase(server, asker, topic="notes/*"):
    listener = Listener(server.port, "/api/realtime", b'"action":"create"')
    said = listener.until(b'"clientId":"')
    asker.raw("POST", "/api/realtime", json.dumps({"clientId": listener.until(b'"').decode(), "subscriptions": [topic]}))
    return listener


def last_heard(listeners, start):
    """Milliseconds since `start` when the last of them heard."""
    chosen = selectors.DefaultSelector()
    for listener in listeners:
        chosen.register(listener.socket, selectors.EVENT_READ, listener)
    left = len(listeners)
    while left:
        ready = chosen.select(SECONDS_MAX)
        if not ready:
            raise RuntimeError(f"{left} of {len(listeners)} heard nothing")
        for key, _ in ready:
            if key.data.read():
                chosen.unregister(key.fileobj)
                left -= 1
    chosen.close()
    return (time.perf_counter() - start) * 1000


def client_of(server, token=None):
    asker = client.Client("127.0.0.1", server.port, token)
    asker.open()
    return asker
