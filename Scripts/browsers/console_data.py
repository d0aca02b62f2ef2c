"""Data for the console's checks: records of every type, zones, shares, subscriptions, roles and a deployed schema, and names with markup in them.

    console_data.py NACRE DATA_FOLDER [RECORDS]

RECORDS are further records of one type, for checks of speed. Runs once against a server that `nacre up` or `nacre serve` has started.
"""

import base64
import hashlib
import importlib.machinery
import importlib.util
import json
import os
import random
import subprocess
import sys
import time
import urllib.error
import urllib.request

# The forms of docs/encryption.md, in Python.
loader = importlib.machinery.SourceFileLoader("forms", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../encryption/forms"))
forms = importlib.util.module_from_spec(importlib.util.spec_from_loader("forms", loader))
loader.exec_module(forms)
CONTAINER = "iCloud.com.example.Notes"
PASSWORD = "correct horse battery"
MARKUP = "<img src=x onerror=window.hurt=1>"
SCHEMA = """DEFINE SCHEMA
    CREATE ROLE Editor;
    RECORD TYPE Users (roles LIST<INT64>, nickname STRING);
    RECORD TYPE Folder (
        "___recordID" REFERENCE QUERYABLE,
        name STRING QUERYABLE SORTABLE SEARCHABLE,
        color STRING,
        GRANT WRITE TO "_creator", GRANT READ TO "_world", GRANT CREATE TO "_icloud"
    );
    RECORD TYPE Note (
        "___recordID" REFERENCE QUERYABLE,
        "___createTime" TIMESTAMP QUERYABLE SORTABLE,
        "___modTime" TIMESTAMP SORTABLE,
        title STRING QUERYABLE SORTABLE SEARCHABLE,
        text STRING SEARCHABLE,
        stars INT64 QUERYABLE SORTABLE,
        price DOUBLE QUERYABLE SORTABLE,
        due TIMESTAMP QUERYABLE SORTABLE,
        place LOCATION QUERYABLE SORTABLE,
        tags LIST<STRING> QUERYABLE,
        numbers LIST<INT64>,
        days LIST<TIMESTAMP>,
        folder REFERENCE QUERYABLE,
        picture ASSET,
        signature BYTES,
        secret ENCRYPTED STRING,
        GRANT WRITE TO "_creator", GRANT READ, WRITE, CREATE TO Editor, GRANT READ TO "_world", GRANT CREATE TO "_icloud"
    );
    RECORD TYPE Event (
        "___recordID" REFERENCE QUERYABLE,
        number INT64 QUERYABLE SORTABLE,
        kind STRING QUERYABLE,
        GRANT WRITE TO "_creator", GRANT READ TO "_world", GRANT CREATE TO "_icloud"
    );
"""


class Place:
    """A server that is filled: administrators' requests, and those of a user's device."""

    def __init__(self, nacre, data):
        self.nacre, self.data = nacre, data
        with open(os.path.join(data, "admin.json")) as file:
            told = json.load(file)
        self.admin, self.secret, self.public = told["url"], told["token"], told["publicURL"]
        self.token = None

    def ask(self, url, body=None, bearer=None, raw=False):
        data = body if raw else None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} | ({"Authorization": "Bearer " + bearer} if bearer else {})
        try:
            with urllib.request.urlopen(urllib.request.Request(url, data, headers)) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{url}: {error.code} {error.read().decode()}")

    def administer(self, path, body=None):
        return self.ask(f"{self.admin}/admin/1/{path}", body, self.secret)

    def run(self, *arguments, text=None):
        done = subprocess.run([self.nacre, *arguments, "--data", self.data], input=text, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"nacre {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def user(self, email, environment="development"):
        """The account token of a device of a user, who is made if missing."""
        if email not in [user["email"] for user in self.administer("users")["users"]]:
            self.administer("users", {"email": email, "password": PASSWORD, "givenName": email.split("@")[0].title()})
        token = self.administer("tokens", {"container": CONTAINER, "environment": environment, "kind": "api", "name": "Filling"})["token"]
        return self.ask(f"{self.public}/account/1/sign-in", {
            "email": email, "password": PASSWORD, "apiToken": token, "container": CONTAINER, "environment": environment, "kind": "account",
            "device": f"{email.split('@')[0]}'s phone"})["token"]

    def cloud(self, user, path, body=None, environment="development"):
        return self.ask(f"{self.public}/database/1/{CONTAINER}/{environment}/{path}", body, user)

    def save(self, user, database, records, zone=None, environment="development", kind="forceReplace"):
        body = {"operations": [{"operationType": kind, "record": record} for record in records], "nacre": {"details": True}}
        if zone:
            body["zoneID"] = {"zoneName": zone}
        answer = self.cloud(user, f"{database}/records/modify", body, environment)
        for record in answer["records"]:
            if "serverErrorCode" in record:
                raise SystemExit(f"{record}")
        return answer["records"]


def value(value, type=None):
    return {"value": value} | ({"type": type} if type else {})


def picture():
    """A small BMP: a sunset over a sea."""
    width, height = 48, 32
    rows = b""
    for y in range(height):
        for x in range(width):
            sun = (x - 24) ** 2 + (y - 13) ** 2 < 50
            rows += bytes([60, 180, 255] if sun and y > 11 else [130 - y, 90, 60 + y] if y < 12 else [90 + y, 130, 230 - y])
    header = b"BM" + (54 + len(rows)).to_bytes(4, "little") + bytes(4) + (54).to_bytes(4, "little")
    return header + (40).to_bytes(4, "little") + width.to_bytes(4, "little") + height.to_bytes(4, "little") + b"\1\0\x18\0" + bytes(24) + rows


def encoded(bytes_):
    return base64.b64encode(bytes_).decode()


def scopes(place, user, zones):
    """Makes keys of encrypted values and a scope of each zone, as the first device of a user does. Returns the names of the zones' keys."""
    name = place.cloud(user, "private/users/caller")["userRecordName"]
    account = forms.sized(CONTAINER) + forms.sized("development") + forms.sized(name)
    device, recovery = forms.Keys(os.urandom(32), os.urandom(32)), forms.Keys(os.urandom(32), os.urandom(32))
    secret, first = os.urandom(32), forms.number(1, 4)
    begin = account + device.both + recovery.both + forms.public(secret) + bytes(32)
    begin += recovery.signs.sign(forms.context("nacre recovery", bytes(32), begin))
    begin = device.signed(forms.form(forms.STATEMENT, forms.number(0, 8), bytes(32), b"\1", forms.sized(begin), device.id))
    fingerprint = forms.digest(begin)

    def wrapped(kind, subject, at, key, recipient):
        return encoded(forms.wrapped(forms.form(kind, subject, fingerprint, first, device.id), at, key, recipient, os.urandom(32), device))

    place.cloud(user, "private/keys/append", {"statement": encoded(begin), "wraps": [
        wrapped(forms.ACCOUNT_WRAP, recipient, account + forms.sized(""), secret, key)
        for recipient, key in [(device.id, device.agreement), (bytes(16), recovery.agreement)]]})
    owner = forms.sized(name) + fingerprint + forms.number(0, 8) + forms.digest(begin) + b"\3\1"
    names = {}
    for zone in zones:
        scope, key, at = os.urandom(16), os.urandom(32), account + forms.sized(zone)
        proof = forms.expand(forms.extract(b"", key), forms.context("nacre key proof", scope, first))
        manifest = device.signed(forms.form(
            forms.SCOPE, at, scope, forms.sized(""), forms.number(0, 8), forms.number(int(time.time() * 1000), 8), bytes(32), first, first,
            forms.listed([proof]), forms.listed([owner]), b"\1", fingerprint, device.id))
        place.cloud(user, "private/keys/scopes/modify", {
            "zoneID": {"zoneName": zone}, "manifest": encoded(manifest),
            "wraps": [wrapped(forms.WRAP, scope + first, at, key, forms.public(secret))]})
        names[zone] = scope + first
    return names


def manifest(key, field, sealed):
    """Returns the manifest of a record with one encrypted field, without a code and a signature: the server does not check it. See docs/encryption.md."""
    number, stamp, writer = bytes(8), (1).to_bytes(8, "big"), bytes(16)
    parent, count, name = bytes(2), (1).to_bytes(2, "big"), len(field).to_bytes(2, "big") + field.encode()
    files, admission, code, signature = bytes(2), bytes(2), bytes(32), bytes(64)
    value = hashlib.sha256(sealed).digest()
    return b"\1\2" + key + number + stamp + writer + parent + count + name + value + files + admission + code + signature


def note(number, pick, key):
    """Returns a note. One of a private database has a secret, under the key of this name."""
    texts = ["bread, olives, lemons", "Ask the printer about paper", "Mountains, then the sea", "Second draft, shorter",
        "Repair the bicycle", "A letter to Ida"]
    titles = ["Groceries", "Printing", "Summer", "Chapter two", "Bicycle", "Letter", "Meeting", "Garden", "Recipe", "Tickets"]
    sealed = pick.randbytes(32)
    secret, details = {}, {}
    if key:
        secret = {"secret": {"value": encoded(sealed), "type": "STRING", "isEncrypted": True, "nacre": {"keyID": key.hex()}}}
        details = {"nacre": {"manifest": encoded(manifest(key, "secret", sealed))}}
    return details | {"recordName": f"note-{number:03}", "recordType": "Note", "fields": secret | {
        "title": value(f"{titles[number % len(titles)]} {number}" if number else MARKUP), "text": value(pick.choice(texts)), "stars": value(pick.randrange(6)),
        "price": value(round(pick.random() * 90, 2), "DOUBLE"), "due": value(1790000000000 + number * 7_300_000, "TIMESTAMP"),
        "place": value({"latitude": 45 + pick.random() * 9, "longitude": 6 + pick.random() * 12}, "LOCATION"),
        "tags": value(pick.sample(["food", "today", "work", "family", MARKUP, "later"], 2), "STRING_LIST"),
        "numbers": value([pick.randrange(100) for _ in range(4)], "INT64_LIST"), "days": value([1790000000000, 1790086400000], "TIMESTAMP_LIST"),
        "folder": value({"recordName": f"folder-{number % 3}", "action": "NONE"}, "REFERENCE"),
        "signature": value(encoded(pick.randbytes(24)), "BYTES")}}


def fill(place, records=0):
    pick = random.Random(7)
    administer = place.administer
    administer("containers", {"name": CONTAINER})
    administer("schema/import", {"container": CONTAINER, "text": SCHEMA, "isDryRun": False})
    administer("schema/deploy", {"container": CONTAINER, "isDryRun": False})
    ada, bob = place.user("ada@example.com"), place.user("bob@example.com")
    folders = [{"recordName": f"folder-{number}", "recordType": "Folder", "fields": {"name": value(name), "color": value(color)}}
               for number, (name, color) in enumerate([("Home", "teal"), ("Work", "violet"), (MARKUP, "rose")])]
    for zone in ["Notes", "Work"]:
        place.cloud(ada, "private/zones/modify", {"operations": [{"operationType": "create", "zone": {"zoneID": {"zoneName": zone}}}]})
    keys = scopes(place, ada, ["_defaultZone", "Notes", "Work"])
    for database, zone in [("public", None), ("private", None), ("private", "Notes"), ("private", "Work")]:
        place.save(ada, database, folders, zone)
        key = keys[zone or "_defaultZone"] if database == "private" else None
        place.save(ada, database, [note(number, pick, key) for number in range(60)], zone)
    place.cloud(ada, "private/zones/modify", {"operations": [{"operationType": "create", "zone": {"zoneID": {"zoneName": MARKUP}}}]})
    upload = place.cloud(ada, "private/assets/upload", {"zoneID": {"zoneName": "Notes"}, "tokens": [
        {"recordType": "Note", "fieldName": "picture", "recordName": "sunset"}]})["tokens"][0]["url"]
    receipt = place.ask(upload, picture(), raw=True)["singleFile"]
    place.save(ada, "private", [{"recordName": "sunset", "recordType": "Note", "parent": {"recordName": "folder-0"}, "fields": {
        "title": value("Sunset"), "stars": value(5), "picture": value(receipt,
            "ASSETID"), "place": value({"latitude": 45.44, "longitude": 12.33}, "LOCATION")}}], "Notes")
    place.cloud(ada, "private/records/modify", {"zoneID": {"zoneName": "Notes"}, "operations": [
        {"operationType": "forceDelete", "record": {"recordName": f"note-{number:03}"}} for number in (7, 8, 9)]})
    participant = {"userIdentity": {"lookupInfo": {"emailAddress": "bob@example.com"}}, "permission": "READ_WRITE", "type": "USER"}
    share = place.cloud(ada, "private/records/modify", {"zoneID": {"zoneName": "Work"}, "nacre": {"details": True},
        "operations": [{"operationType": "create", "record": {
        "recordName": "cloudkit.zoneshare", "recordType": "cloudkit.share", "publicPermission": "NONE", "participants": [participant],
        "fields": {"cloudkit.title": value("Work notes")}}}]})["records"][0]
    place.cloud(bob, "public/records/accept", {"shortGUIDs": [{"value": share["shortGUID"]}]})
    place.cloud(ada, "private/records/modify", {"zoneID": {"zoneName": "Notes"}, "operations": [{"operationType": "create", "record": {
        "recordName": "share-of-home", "recordType": "cloudkit.share", "forRecord": {"recordName": "folder-0"}, "publicPermission": "NONE", "participants": [participant],
        "fields": {"cloudkit.title": value("Home")}}}]})
    for database, subscriptions in {
        "private": [{"subscriptionID": "work-changes", "subscriptionType": "zone", "zoneID": {"zoneName": "Work"}},
                    {"subscriptionID": "everything", "subscriptionType": "zone", "zoneWide": True}],
        "public": [{"subscriptionID": "starred-notes", "subscriptionType": "query", "firesOn": ["create", "update"], "query": {
            "recordType": "Note", "filterBy": [{"fieldName": "stars", "comparator": "GREATER_THAN", "fieldValue": value(3)}]},
            "notificationInfo": {"alertBody": "A note with stars"}}]}.items():
        place.cloud(ada, f"{database}/subscriptions/modify", {"operations": [{"operationType": "create",
            "subscription": one} for one in subscriptions]})
    caller = place.cloud(bob, "public/users/caller")["userRecordName"]
    administer("roles/assign", {"container": CONTAINER, "environment": "development", "role": "Editor", "user": caller})
    eve = place.user("eve@example.com", "production")
    place.save(eve, "public", [{"recordName": "live", "recordType": "Note", "fields": {"title": value("Live"), "stars": value(4)}}],
        environment="production")
    # A difference between development and production.
    administer("schema/indexes", {"container": CONTAINER, "recordType": "Note", "field": "mood", "fieldType": "STRING", "options": ["QUERYABLE"]})
    for start in range(0, records, 200):
        place.save(ada, "public", [{"recordName": f"event-{number:06}", "recordType": "Event", "fields": {
            "number": value(number), "kind": value(pick.choice(["open", "close", "move"]))}} for number in range(start, min(start + 200, records))])


if __name__ == "__main__":
    fill(Place(sys.argv[1], sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0)
