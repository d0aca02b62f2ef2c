"""Nacre as it is started by anybody: `nacre serve` with SQLite in a folder of its own."""

import copy
import json
import os
import sqlite3
import subprocess
import time
import urllib.parse

from . import client, machine, records

CONTAINER = "iCloud.com.example.bench"
ZONE = "Notes"
EMAIL = "bench@example.com"
PASSWORD = "correct horse battery"
BATCH = 200
ADMIN_SECONDS_MAX = 10


class Nacre:
    name = "nacre"
    scope = "private"

    def __init__(self, binary, folder, prefix=(), options=(), has_rates=False):
        """`prefix`: a command that the server is the last words of; `options`: more words behind it, or what makes them of the port. `has_rates`: users are
        kept to rates, as on a server that nobody told otherwise; mostly one user sends what thousands would."""
        self.binary, self.folder, self.prefix, self.options = binary, folder, prefix, options
        self.rates = () if has_rates else ("--request-rate", "0")
        self.log = open(folder + ".log", "ab")
        self.start()

    def start(self):
        """Starts the process and returns when it serves."""
        self.port = client.free_port()
        options = self.options(self.port) if callable(self.options) else self.options
        self.process = subprocess.Popen(
            [*self.prefix, self.binary, "serve", "--data", self.folder, "--listen", f"127.0.0.1:{self.port}", "--log-level", "warning",
             *self.rates, *options],
            stdout=self.log, stderr=self.log)
        self.pid = self.process.pid
        wait_until_ready(self.process, self.port, "/readyz")
        # Apps are served a moment before administrators are.
        deadline = time.monotonic() + ADMIN_SECONDS_MAX
        while not os.path.exists(self.admin_path):
            if time.monotonic() > deadline:
                raise RuntimeError("the server wrote no admin.json")
            time.sleep(0.001)

    @property
    def admin_path(self):
        return os.path.join(self.folder, "admin.json")

    def make_user(self):
        """A container, an app's token, an account and its account token, and a zone to save into."""
        with open(self.admin_path) as file:
            admin = json.load(file)
        at = urllib.parse.urlsplit(admin["url"])
        administrator = client.Client(at.hostname, at.port, admin["token"])
        administrator.json("POST", "/admin/1/containers", {"name": CONTAINER})
        token = administrator.json(
            "POST", "/admin/1/tokens", {"container": CONTAINER, "environment": "development", "kind": "api", "name": "bench"})["token"]
        administrator.json("POST", "/admin/1/users", {"email": EMAIL, "password": PASSWORD})
        self.administrator = administrator
        self.api_token = token
        self.token = self.sign_in(EMAIL)
        self.client = client.Client("127.0.0.1", self.port, self.token)
        self.ask("zones/modify", {"operations": [{"operationType": "create", "zone": {"zoneID": {"zoneName": ZONE}}}]})

    def sign_in(self, email, address="127.0.0.1", password=PASSWORD, kind="account"):
        """The token of who asks from that address of this machine: an account's, or one for the web."""
        anyone = client.Client("127.0.0.1", self.port, source=address)
        try:
            return anyone.json("POST", "/account/1/sign-in", {
                "email": email, "password": password, "apiToken": self.api_token, "container": CONTAINER, "environment": "development",
                "kind": kind})["token"]
        finally:
            anyone.close()

    def another_user(self, email):
        """The same server as another user sees it, who has an account and a zone like everybody."""
        self.administrator.json("POST", "/admin/1/users", {"email": email, "password": PASSWORD})
        user = copy.copy(self)
        user.token = self.sign_in(email)
        user.client = client.Client("127.0.0.1", self.port, user.token)
        user.ask("zones/modify", {"operations": [{"operationType": "create", "zone": {"zoneID": {"zoneName": ZONE}}}]})
        return user

    def publicly(self):
        """The same server, asked for its public database."""
        public = copy.copy(self)
        public.scope = "public"
        return public

    def path(self, endpoint):
        return f"/database/1/{CONTAINER}/development/{self.scope}/{endpoint}"

    def ask(self, endpoint, body):
        return self.client.json("POST", self.path(endpoint), body)

    def seed(self, count):
        """Saves records named `records.name(0)` and on, in batches of 200."""
        for first in range(0, count, BATCH):
            operations = ",".join(
                '{"operationType":"create","record":{"recordName":"%s","recordType":"Note","fields":%s}}'
                % (records.name(number), records.NACRE_FIELDS) for number in range(first, min(first + BATCH, count)))
            self.client.raw("POST", self.path("records/modify"), '{"zoneID":{"zoneName":"%s"},"operations":[%s]}' % (ZONE, operations))

    def define(self, record_type, fields, indexes):
        """Makes a type by a first record, which goes again, and gives its fields these indexes and no others, made at once: {field: [options]}."""
        name = "definition-of-" + record_type
        operation = {"operationType": "create", "record": {"recordName": name, "recordType": record_type, "fields": fields}}
        self.ask("records/modify", {"zoneID": {"zoneName": ZONE}, "operations": [operation]})
        for field in fields:
            self.make_indexes(record_type, field, indexes.get(field, []))
        self.ask("records/modify", {"zoneID": {"zoneName": ZONE}, "operations": [
            {"operationType": "forceDelete", "record": {"recordName": name}}]})
        self.wait_for_indexes()

    def make_indexes(self, record_type, field, options):
        """Gives a field these options and no others; its indexes are begun at once."""
        self.administrator.json("POST", "/admin/1/schema/indexes", {
            "container": CONTAINER, "recordType": record_type, "field": field, "options": [option.upper() for option in options],
            "isNow": bool(options)})

    def wait_for_indexes(self):
        while self.schema()["building"]:
            time.sleep(0.05)

    def schema(self):
        return self.administrator.json("GET", f"/admin/1/schema?container={CONTAINER}&environment=development")

    def record_count(self):
        """Records in the file, read beside the server: what was answered must be there."""
        with sqlite3.connect(f"file:{self.folder}/nacre.sqlite?mode=ro", uri=True) as database:
            return database.execute("SELECT count(*) FROM records WHERE is_tombstone = 0").fetchone()[0]

    def megabytes(self):
        return megabytes(f"{self.folder}/nacre.sqlite")

    def stop(self):
        stop(self.process)
        self.log.close()


def megabytes(path):
    """What the pages of a SQLite file take that hold something, those of its log included."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        pages, free, size = (database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size"))
        return (pages - free) * size / 1e6


def wait_until_ready(process, port, path, seconds_max=30):
    """Asks in a tight loop until the server answers."""
    deadline = time.monotonic() + seconds_max
    while True:
        probe = client.Client("127.0.0.1", port)
        try:
            probe.raw("GET", path)
            return
        except (OSError, client.Refused):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the server did not start: {process.args}") from None
        finally:
            probe.close()


def stop(process):
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
