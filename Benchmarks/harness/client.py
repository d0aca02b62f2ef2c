"""One kept-alive connection that speaks JSON."""

import http.client
import json
import socket


class Refused(Exception):
    """A server answered with an error."""


class Client:
    def __init__(self, host, port, token=None, source=None):
        """`source`: the address of this machine that asks."""
        self.connection = http.client.HTTPConnection(host, port, timeout=60, source_address=(source, 0) if source else None)
        self.headers = {"Content-Type": "application/json"}
        if token:
            self.headers["Authorization"] = "Bearer " + token

    def open(self):
        self.connection.connect()
        self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, method, path, body=None):
        """Sends, and does not wait for the answer."""
        text = body if body is None or isinstance(body, (bytes, str)) else json.dumps(body)
        try:
            self.connection.request(method, path, body=text, headers=self.headers)
        except (BrokenPipeError, ConnectionResetError):
            # The server closed it while nothing was asked.
            self.connection.close()
            self.connection.request(method, path, body=text, headers=self.headers)

    def receive(self):
        response = self.connection.getresponse()
        answer = response.read()
        if response.status >= 400:
            raise Refused(f"{response.status} {answer[:500]!r}")
        return answer

    def raw(self, method, path, body=None):
        self.send(method, path, body)
        return self.receive()

    def json(self, method, path, body=None):
        return json.loads(self.raw(method, path, body) or b"{}")

    def close(self):
        self.connection.close()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
