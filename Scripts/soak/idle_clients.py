"""10,000 connections that have asked once and then idle: memory stays bounded, and normal requests are answered."""

import socket

from harness import machine
from soaking import Fault, Witness

CLIENTS = 10_000
# Resident megabytes: an idle server (50), and for each connection 1 KB and room for others' machines.
MEMORY_MEGABYTES_MAX = 100
# Well within the 75 s for which the server keeps an idle connection.
OPEN_SECONDS_MAX = 60


def run(soak):
    # The server keeps 256 for itself.
    soak.want_descriptors(CLIENTS + 400)
    server = soak.start_server()
    before = machine.resident_megabytes(server.pid)
    request = f"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode()
    clients = []
    try:
        with Witness(server) as witness:
            for _ in range(CLIENTS):
                clients.append(socket.create_connection(("127.0.0.1", server.port), OPEN_SECONDS_MAX))
                clients[-1].sendall(request)
            for number, each in enumerate(clients):
                if not each.recv(4096).startswith(b"HTTP/1.1 200 "):
                    raise Fault(f"connection {number} was not answered")
            after = machine.resident_megabytes(server.pid)
            lost = sum(1 for each in clients if is_closed(each))
        text = witness.verdict()
    finally:
        for each in clients:
            each.close()
    if lost:
        raise Fault(f"{lost} of {CLIENTS} idle connections were closed at once")
    if after > MEMORY_MEGABYTES_MAX:
        raise Fault(f"{after:.0f} MB resident with {CLIENTS} idle connections, and {MEMORY_MEGABYTES_MAX} are allowed")
    return f"{CLIENTS} connections, {after:.0f} MB resident ({before:.0f} before); {text}"


def is_closed(client):
    client.setblocking(False)
    try:
        return client.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
