"""How fast do files go up and down, beside nginx, which does nothing else, and PocketBase? What does the server hold meanwhile, and an app?

A file up is one request with its bytes, over a connection that is kept, answered when it is on the disk: nginx's PUT, PocketBase's record with a file, and the
POST to a URL that `assets/upload` gave beforehand. Before each turn the disk has all that was written: PocketBase leaves its files to the kernel, and
Nacre, which syncs a whole disk for a file of many chunks, would write them in its own time, a third of it. No two files share a chunk. Each is fetched
within a minute, so that its bytes lie in memory on all sides, and here are not hashed again.
"""

import http.client
import json
import os
import statistics
import subprocess
import threading
import time
import urllib.parse

from framework_cost import variables
from harness import machine, nacre, nginx, report
from harness.watch import Watch

MEGABYTES = 10
FILES = 24
FILES_QUICK = 8
THUMBNAIL_BYTES = 20_000
THUMBNAILS = 10_000
THUMBNAILS_QUICK = 1_000
THUMBNAIL_CLIENTS = 8
CROWD = 64
CROWD_MEGABYTES = 100
SERVER_GROWTH_MAX = 64
# What all files of all sides take in the kernel's memory.
MEMORY_MEGABYTES = 10_000
MEMORY_MEGABYTES_QUICK = 2_000
APP_BYTES = 1_000_000_000
APP_BYTES_QUICK = 100_000_000
APP_GROWTH_MAX = 16
BASE = os.urandom(MEGABYTES * 1_000_000)


def ask(bench):
    files = FILES_QUICK if bench.quick else FILES
    machine.touch_memory(MEMORY_MEGABYTES_QUICK if bench.quick else MEMORY_MEGABYTES)
    server, pocketbase = bench.nacre(options=["--asset-size-app", "2G"]), bench.pocketbase()
    plain = nginx.Nginx(nginx_binary(bench), bench.path("nginx"))
    bench.servers.append(plain)
    make_collection(pocketbase)
    sides = {"nacre": NacreFiles(server), "nginx": NginxFiles(plain), "pocketbase": PocketBaseFiles(pocketbase)}
    ups, downs = {name: [] for name in sides}, {name: [] for name in sides}
    for turn in range(bench.rounds + 1):
        for name, side in sides.items():
            contents = [content(turn * 1000 + number) for number in range(files)]
            side.prepare(files)
            os.sync()
            machine.wait_for_quiet(bench.quiet_seconds_max)
            up = rate(files, lambda number: side.put(number, contents[number]))
            side.publish(files)
            down = rate(files, lambda number: side.check(number, len(contents[number])))
            bench.say(f"round {turn}, {name}: {up * MEGABYTES:,.0f} MB/s up, {down * MEGABYTES:,.0f} MB/s down")
            if turn:
                ups[name].append(up * MEGABYTES)
                downs[name].append(down * MEGABYTES)
    lines = [compared("10 MB files up", ups, 0.6, 2), compared("10 MB files down", downs, 0.9, 1)]
    lines.append(thumbnails(bench, sides))
    lines += crowd(bench, server)
    lines += app(bench, server)
    return report.Answer(lines)


def nginx_binary(bench):
    return os.path.join(bench.home, "nginx", "usr/sbin/nginx")


def content(number, length=MEGABYTES * 1_000_000):
    """The same bytes with a mark of their own in every 16 KB."""
    mark = b"%016x" % number
    whole = bytearray(BASE[:length])
    for place in range(0, length - 16, 16_384):
        whole[place:place + 16] = mark
    return bytes(whole)


def rate(count, one):
    start = time.monotonic()
    for number in range(count):
        one(number)
    return count / (time.monotonic() - start)


def compared(what, samples, times_nginx, times_pocketbase):
    ours, theirs, others = (statistics.median(samples[name]) for name in ("nacre", "nginx", "pocketbase"))
    targets = [report.Target(f"≥ {times_nginx}× nginx ({theirs:,.0f})", ours >= times_nginx * theirs),
               report.Target(f"≥ {times_pocketbase}× PocketBase", ours >= times_pocketbase * others)]
    return report.Line(f"files: {what}, one after the other", "MB/s", ours, pocketbase=others, targets=targets)


class Keeper:
    def __init__(self, port):
        self.port = port
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def send(self, method, path, body=None, headers={}):
        self.connection.request(method, path, body=body, headers=headers)
        answer = self.connection.getresponse()
        found = answer.read()
        if answer.status >= 400:
            raise RuntimeError(f"{method} {path}: {answer.status} {found[:300]!r}")
        return found

    def check(self, number, length):
        if len(self.get(number)) != length:
            raise RuntimeError("a file has another length than it had")


class NginxFiles(Keeper):
    """The rounds of `prepare` name files anew, as all sides do: what takes another's place takes its memory as well, which costs less."""

    def __init__(self, server):
        super().__init__(server.port)
        self.round = 0

    def prepare(self, count):
        # It may have been closed while the machine was waited for.
        self.connection.close()
        self.round += 1

    def publish(self, count):
        pass

    def put(self, number, body):
        self.send("PUT", f"/{self.round}-{number}", body)

    def get(self, number):
        return self.send("GET", f"/{self.round}-{number}")


class NacreFiles(Keeper):
    """The rounds of `prepare` name records anew, so that each has its own."""

    def __init__(self, server):
        super().__init__(server.port)
        self.server, self.round = server, 0

    def name(self, number):
        return f"file-{self.round}-{number}"

    def prepare(self, count):
        self.connection.close()
        self.round += 1
        self.sent, self.places = {}, []
        for first in range(0, count, nacre.BATCH):
            tokens = [{"recordName": self.name(number), "recordType": "Picture", "fieldName": "image"}
                      for number in range(first, min(first + nacre.BATCH, count))]
            answer = self.server.ask("assets/upload", {"zoneID": {"zoneName": nacre.ZONE}, "tokens": tokens})
            self.places += [path(token["url"]) for token in answer["tokens"]]

    def put(self, number, body):
        self.sent[number] = json.loads(self.send("POST", self.places[number], body))["singleFile"]

    def publish(self, count):
        self.links = {}
        for first in range(0, count, nacre.BATCH):
            operations = [{"operationType": "create", "record": {
                "recordName": self.name(number), "recordType": "Picture", "fields": {"image": {"value": self.sent[number], "type": "ASSETID"}}}}
                for number in range(first, min(first + nacre.BATCH, count))]
            saved = self.server.ask("records/modify", {"zoneID": {"zoneName": nacre.ZONE}, "operations": operations})
            for offset, record in enumerate(saved["records"]):
                self.links[first + offset] = path(record["fields"]["image"]["value"]["downloadURL"].replace("${f}", "image"))

    def get(self, number):
        return self.send("GET", self.links[number])


class PocketBaseFiles(Keeper):
    def __init__(self, server):
        super().__init__(server.port)

    def prepare(self, count):
        self.connection.close()
        self.paths = {}

    def publish(self, count):
        pass

    def put(self, number, body):
        edge = b"----nacre-bench"
        whole = (b"--" + edge + b'\r\nContent-Disposition: form-data; name="image"; filename="image"\r\nContent-Type: application/octet-stream\r\n\r\n'
                 + body + b"\r\n--" + edge + b"--\r\n")
        saved = json.loads(self.send(
            "POST", "/api/collections/pictures/records", whole, {"Content-Type": "multipart/form-data; boundary=" + edge.decode()}))
        self.paths[number] = f"/api/files/{saved['collectionId']}/{saved['id']}/{saved['image']}"

    def get(self, number):
        return self.send("GET", self.paths[number])


def path(url):
    parts = urllib.parse.urlsplit(url)
    return parts.path + ("?" + parts.query if parts.query else "")


def make_collection(pocketbase):
    pocketbase.client.headers["Authorization"] = pocketbase.administrator_token
    pocketbase.client.json("POST", "/api/collections", {
        "name": "pictures", "type": "base", "listRule": "", "viewRule": "", "createRule": "", "updateRule": "", "deleteRule": "",
        "fields": [{"name": "image", "type": "file", "maxSize": 1 << 30, "maxSelect": 1}]})
    del pocketbase.client.headers["Authorization"]


def thumbnails(bench, sides):
    """Small files by eight clients at once; a record with each, because PocketBase makes one."""
    count = THUMBNAILS_QUICK if bench.quick else THUMBNAILS
    rates = {}
    for name in ("nacre", "pocketbase"):
        keepers = [type(sides[name])(bench.servers[0 if name == "nacre" else 1]) for _ in range(THUMBNAIL_CLIENTS)]
        share = count // THUMBNAIL_CLIENTS
        bodies = [[content(number * THUMBNAIL_CLIENTS + client + 10**6, THUMBNAIL_BYTES) for number in range(share)]
                  for client in range(THUMBNAIL_CLIENTS)]

        def work(client):
            keeper = keepers[client]
            keeper.round = 100 + client
            keeper.prepare(share)
            for number in range(share):
                keeper.put(number, bodies[client][number])
            keeper.publish(share)

        machine.wait_for_quiet(bench.quiet_seconds_max)
        if name == "nacre":
            # Each has a connection of its own for the API as well.
            for keeper in keepers:
                keeper.server = bench.servers[0].another_user(f"thumbnails-{keepers.index(keeper)}@example.com")
        start = time.monotonic()
        together(THUMBNAIL_CLIENTS, work)
        rates[name] = share * THUMBNAIL_CLIENTS / (time.monotonic() - start)
        bench.say(f"{count} thumbnails, {name}: {rates[name]:,.0f}/s")
    target = report.Target("≥ 1.5× PocketBase", rates["nacre"] >= 1.5 * rates["pocketbase"])
    return report.Line(f"files: {count:,} thumbnails of 20 KB up, with a record each, 8 clients", "/s", rates["nacre"], pocketbase=rates["pocketbase"],
                       targets=[target])


def crowd(bench, server):
    """What the server holds above rest while many clients send large files at once, and while they fetch them."""
    clients, size = (8, 10) if bench.quick else (CROWD, CROWD_MEGABYTES)
    keepers = []
    for client in range(clients):
        keeper = NacreFiles(server)
        keeper.round = 200 + client
        keeper.prepare(1)
        keepers.append(keeper)

    def send(client):
        keeper = keepers[client]
        keeper.connection.putrequest("POST", keeper.places[0])
        keeper.connection.putheader("Content-Length", str(size * 1_000_000))
        keeper.connection.endheaders()
        for piece in range(size):
            keeper.connection.send(content(client * 1000 + piece + 10**8, 1_000_000))
        answer = keeper.connection.getresponse()
        found = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{answer.status} {found[:200]!r}")
        keeper.sent[0] = json.loads(found)["singleFile"]

    def fetch(client):
        connection = keepers[client].connection
        while True:
            connection.request("GET", keepers[client].links[0])
            answer = connection.getresponse()
            if answer.status != 503:
                break
            # All answers together have so much memory, and a chunk and the one behind it count as much as they have: the others come later.
            answer.read()
            time.sleep(float(answer.headers["Retry-After"]))
        count = 0
        while piece := answer.read(1 << 20):
            count += len(piece)
        if answer.status != 200 or count != size * 1_000_000:
            raise RuntimeError(f"{answer.status}, {count} bytes")

    lines = []
    for work, what in ((send, "send"), (fetch, "fetch")):
        machine.forget_peak(server.pid)
        rest = machine.resident_megabytes(server.pid)
        start = time.monotonic()
        together(clients, work)
        growth = machine.peak_megabytes(server.pid) - rest
        bench.say(f"{clients} clients {what} {size} MB each in {time.monotonic() - start:.0f} s: {rest:.0f} MB at rest, {growth:.0f} MB more at most")
        lines.append(report.Line(f"files: the server's memory while {clients} clients {what} {size} MB each, above rest", "MB", growth,
                                 targets=[report.Target(f"≤ {SERVER_GROWTH_MAX} MB", growth <= SERVER_GROWTH_MAX)]))
        if work == send:
            for keeper in keepers:
                keeper.publish(1)
    return lines


def together(count, work):
    """Runs `work(0)` and on, each on a thread of its own, and returns when all have ended. Raises what one of them raised."""
    errors = []

    def one(number):
        try:
            work(number)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def app(bench, server):
    """What an app with the framework holds above rest while it saves a large file, and fetches it."""
    count = APP_BYTES_QUICK if bench.quick else APP_BYTES
    lines = []
    for work, what in (("upload", "saves"), ("download", "fetches")):
        process = subprocess.Popen(
            [os.path.join(bench.tools, "NacreFrameworkCost"), work, nacre.ZONE, str(count)], stdout=subprocess.PIPE,
            env=dict(variables(bench, server), XDG_CACHE_HOME=bench.path("caches"), TMPDIR=bench.folder), text=True)
        found = json.loads(process.communicate()[0])
        if process.returncode:
            raise RuntimeError(f"NacreFrameworkCost {work} ended with {process.returncode}")
        bench.say(f"an app {what} {count / 1e6:,.0f} MB: {found}")
        growth = found["growth_megabytes"]
        lines.append(report.Line(f"files: an app's memory while it {what} one of {count / 1e6:,.0f} MB, above rest", "MB", growth,
                                 targets=[report.Target(f"≤ {APP_GROWTH_MAX} MB", growth <= APP_GROWTH_MAX)]))
    return lines
