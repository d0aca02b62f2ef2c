"""A push service for Firefox, in the place of Mozilla's: browsers follow a WebSocket, servers post to endpoints below the same address.

What it says is Mozilla's push protocol as far as Firefox asks for it: hello, register, notification, ack (https://mozilla-push-service.readthedocs.io).
"""

import base64
import hashlib
import http.server
import json
import struct
import threading
import uuid

# RFC 6455, "Sending the Server's Opening Handshake".
WEBSOCKET_ID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, CLOSE, PING, PONG = 1, 8, 9, 10


class Broker:
    def __init__(self):
        self.lock = threading.Lock()
        # The server's key that a browser subscribed with, by the channel; what was posted, with its headers; what browsers acknowledged.
        self.keys, self.posted, self.acknowledged = {}, [], []
        self.sockets = {}
        broker = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.close_connection = True
                code = hashlib.sha1((self.headers["Sec-WebSocket-Key"] + WEBSOCKET_ID).encode()).digest()
                self.send_response(101)
                self.send_header("Upgrade", "websocket")
                self.send_header("Connection", "Upgrade")
                self.send_header("Sec-WebSocket-Accept", base64.b64encode(code).decode())
                if "Sec-WebSocket-Protocol" in self.headers:
                    self.send_header("Sec-WebSocket-Protocol", self.headers["Sec-WebSocket-Protocol"])
                self.end_headers()
                broker.follow(WebSocket(self.rfile, self.wfile))

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                status = broker.push(self.path.rsplit("/", 1)[-1], {name.lower(): value for name, value in self.headers.items()}, body)
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        self.url, self.endpoints = f"ws://127.0.0.1:{self.port}/", f"http://127.0.0.1:{self.port}/push/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def follow(self, socket):
        """A browser's connection."""
        while (text := socket.read()) is not None:
            said = json.loads(text)
            kind = said.get("messageType")
            if kind == "hello":
                socket.write({"messageType": "hello", "status": 200, "uaid": said.get("uaid") or uuid.uuid4().hex, "use_webpush": True, "broadcasts": {}})
            elif kind == "register":
                channel = said["channelID"]
                with self.lock:
                    self.sockets[channel], self.keys[channel] = socket, said.get("key")
                socket.write({"messageType": "register", "channelID": channel, "status": 200, "pushEndpoint": self.endpoints + channel})
            elif kind == "unregister":
                socket.write({"messageType": "unregister", "channelID": said["channelID"], "status": 200})
            elif kind == "ack":
                with self.lock:
                    self.acknowledged += said["updates"]
            elif not said:
                socket.write({})

    def push(self, channel, headers, body):
        """A server's message: the status of its answer."""
        with self.lock:
            socket = self.sockets.get(channel)
            self.posted.append((headers, body))
        if socket is None:
            return 410
        data = base64.urlsafe_b64encode(body).rstrip(b"=").decode()
        socket.write({"messageType": "notification", "channelID": channel, "version": uuid.uuid4().hex, "data": data,
                      "headers": {"encoding": headers["content-encoding"]}})
        return 201

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class WebSocket:
    """The server's side of a connection: whole texts, as the browser sends them."""

    def __init__(self, reading, writing):
        self.reading, self.writing, self.lock = reading, writing, threading.Lock()

    def read(self):
        """The next text; None: the connection ends."""
        while True:
            head = self.reading.read(2)
            if len(head) < 2:
                return None
            code, length = head[0] & 15, head[1] & 127
            if length == 126:
                length = struct.unpack(">H", self.reading.read(2))[0]
            elif length == 127:
                length = struct.unpack(">Q", self.reading.read(8))[0]
            mask = self.reading.read(4) if head[1] & 128 else bytes(4)
            data = bytes(byte ^ mask[place % 4] for place, byte in enumerate(self.reading.read(length)))
            if code == CLOSE:
                return None
            if code == PING:
                self._send(PONG, data)
            elif code == TEXT:
                return data.decode()

    def write(self, message):
        self._send(TEXT, json.dumps(message).encode())

    def _send(self, code, data):
        length = bytes([len(data)]) if len(data) < 126 else b"\x7e" + struct.pack(">H", len(data)) if len(data) < 65536 else b"\x7f" + struct.pack(">Q", len(data))
        with self.lock:
            self.writing.write(bytes([128 | code]) + length + data)
            self.writing.flush()
