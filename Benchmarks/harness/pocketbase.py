"""PocketBase in its fastest form that is as durable as Nacre: no rules, no logs, and a sync of the disk in each commit."""

import os
import re
import sqlite3
import subprocess

from . import client, nacre, records
from .nacre import stop, wait_until_ready

PERSON = ("bench@example.com", "correct horse battery")
BATCH = 200

# SQLite's `synchronous` belongs to a connection. PocketBase writes through one, and sets NORMAL on it: a commit would not be synced.
HOOK = """
onBootstrap((e) => {
    e.next()
    $app.nonconcurrentDB().newQuery("PRAGMA synchronous=FULL").execute()
    const found = new DynamicModel({ synchronous: 0 })
    $app.nonconcurrentDB().newQuery("PRAGMA synchronous").one(found)
    console.log("writes with synchronous=" + found.synchronous)
})
"""

FULL = 2


class PocketBase:
    name = "pocketbase"

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        os.makedirs(folder + "/hooks")
        with open(folder + "/hooks/main.pb.js", "w") as file:
            file.write(HOOK)
        subprocess.run(
            [binary, "superuser", "upsert", *PERSON, *self.folders], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.log_path = folder + ".log"
        self.log = open(self.log_path, "ab")
        self.start()

    @property
    def folders(self):
        return [f"--dir={self.folder}/data", f"--hooksDir={self.folder}/hooks", f"--publicDir={self.folder}/public", "--hooksWatch=false"]

    def start(self):
        self.port = client.free_port()
        self.process = subprocess.Popen(
            [self.binary, "serve", f"--http=127.0.0.1:{self.port}", *self.folders], stdout=self.log, stderr=self.log)
        self.pid = self.process.pid
        wait_until_ready(self.process, self.port, "/api/health")
        with open(self.log_path) as file:
            found = re.findall(r"writes with synchronous=(\d)", file.read())
        if not found or int(found[-1]) != FULL:
            raise RuntimeError(f"PocketBase does not write with synchronous=FULL: {found}")

    def make_collection(self):
        self.client = client.Client("127.0.0.1", self.port)
        token = self.client.json(
            "POST", "/api/collections/_superusers/auth-with-password", {"identity": PERSON[0], "password": PERSON[1]})["token"]
        self.client.headers["Authorization"] = token
        self.client.json("PATCH", "/api/settings", {
            "batch": {"enabled": True, "maxRequests": 300, "timeout": 30}, "logs": {"maxDays": 0}, "rateLimits": {"enabled": False}})
        fields = [("title", "text"), ("body", "text"), ("count", "number"), ("price", "number"), ("when", "date"), ("tags", "json"),
                  ("done", "bool"), ("link", "url")]
        self.client.json("POST", "/api/collections", {
            "name": "notes", "type": "base", "listRule": "", "viewRule": "", "createRule": "", "updateRule": "", "deleteRule": "",
            "fields": [{"name": name, "type": kind} for name, kind in fields]})
        self.administrator_token = self.client.headers.pop("Authorization")

    def make_things(self, indexes=("shelf,rank", "rank", "price", "when")):
        """A collection of `things.Thing`, with the indexes that its queries need; of two fields where that is best for one that filters and sorts."""
        fields = [("shelf", "text"), ("rank", "number"), ("price", "number"), ("when", "date"), ("place", "geoPoint"), ("text", "text"),
                  ("title", "text"), ("body", "text")]
        self.client.headers["Authorization"] = self.administrator_token
        self.client.json("POST", "/api/collections", {
            "name": "things", "type": "base", "listRule": "", "viewRule": "", "createRule": "", "updateRule": "", "deleteRule": "",
            "fields": [{"name": name, "type": kind} for name, kind in fields], "indexes": [index_on(fields) for fields in indexes]})
        del self.client.headers["Authorization"]

    def index_things(self, indexes):
        """Gives the collection these indexes in the place of those that it has."""
        self.client.headers["Authorization"] = self.administrator_token
        self.client.json("PATCH", "/api/collections/things", {"indexes": [index_on(fields) for fields in indexes]})
        del self.client.headers["Authorization"]

    def seed(self, count):
        for first in range(0, count, BATCH):
            requests = ",".join(
                '{"method":"POST","url":"/api/collections/notes/records","body":{"id":"%s",%s}}'
                % (records.name(number), records.POCKETBASE_FIELDS) for number in range(first, min(first + BATCH, count)))
            self.client.raw("POST", "/api/batch", '{"requests":[%s]}' % requests)

    def record_count(self):
        with sqlite3.connect(f"file:{self.folder}/data/data.db?mode=ro", uri=True) as database:
            return database.execute("SELECT count(*) FROM notes").fetchone()[0]

    def megabytes(self):
        return nacre.megabytes(f"{self.folder}/data/data.db")

    def stop(self):
        stop(self.process)
        self.log.close()


def index_on(fields):
    """`fields` are separated by commas."""
    names = ", ".join(f"`{name}`" for name in fields.split(","))
    return f"CREATE INDEX `things_{fields.replace(',', '_')}` ON `things` ({names})"
