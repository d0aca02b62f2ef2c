"""A fuzzer for cost: changes requests at random, keeps those that take the most of the server for each byte sent, and goes on from them.

First it holds what strangers may ask against what it charges (`charges`). Then, what is counted is the server's processor time, its answer, and the memory that it took. Requests go one after another, so all of it is the request's own;
rates are off. The corpus is `Fuzz/corpus/costs`; what a run finds worse than that it leaves in `.build/soak/costs`.

An endpoint is of the user's private database; `public:` and `signed:` before it say that it is the public one's, and who asks: who has an API token alone, or a
server-to-server key; `open:` that it is the public one's and the user asks; `guest:` that it is the shared one's, and another user asks, with whom a zone is shared. One
that begins with `/` is a whole path. A request without a body is a GET."""

import base64
import copy
import datetime
import glob
import hashlib
import json
import os
import socket
import subprocess
import time

from harness import client, machine, nacre
from soaking import Fault

import charges
import costly_requests

# Of the server's processor, for each kilobyte that a request has with its head, and at least one. The most that a request is meant to take is a page of a
# query: 64 MB looked at on each of two ways, half a second each. A rate lets a user have that once in ten seconds, because what is looked at is paid for.
MILLISECONDS_PER_KILOBYTE_MAX = 1000
# For any request, however long: the largest body, 8 MB of saves with indexes, is the most work that there is.
MILLISECONDS_MAX = 5000
# Of an answer: 16 MB of records as JSON, and what is around them.
ANSWER_BYTES_MAX = 18_000_000
# Above rest, for one request.
MEGABYTES_MAX = 300
ANSWER_SECONDS_MAX = 60
# Data changes with what is tried; so often it is made anew.
REQUESTS_PER_SERVER = 4000
# Mutations of one request before it is tried.
MUTATIONS_MAX = 6
BODY_BYTES_MAX = 2_000_000
KEPT = 24
# Of them of one endpoint: others would be tried no more.
KEPT_OF_ONE_ENDPOINT = 6
SECONDS_LEAST = 20
WORDS = ["a", "text", "number", "numbers", "place", "ref", "refs", "title", "Note", "Article", "Lists", "Place", "Holder", "big0", "known", "h0", "___recordID",
         "___createTime", "___modTime", "allTokens", "EQUALS", "NOT_EQUALS", "IN", "NOT_IN", "LESS_THAN", "GREATER_THAN", "BEGINS_WITH", "NOT_BEGINS_WITH",
         "NEAR", "CONTAINS_ALL_TOKENS", "CONTAINS_ANY_TOKENS", "LIST_CONTAINS", "NOT_LIST_CONTAINS", "LIST_CONTAINS_ANY", "NOT_LIST_CONTAINS_ANY",
         "LIST_CONTAINS_ALL", "LIST_MEMBER_BEGINS_WITH", "create", "update", "forceUpdate", "replace", "forceReplace", "delete", "forceDelete", "STRING",
         "INT64_LIST", "STRING_LIST", "TIMESTAMP", "LOCATION", "REFERENCE_LIST", "VALIDATE", "DELETE_SELF", "NONE"]
DEVICE = f"/device/1/{nacre.CONTAINER}/development/"
NUMBERS = [0, 1, -1, 200, 400, 2**31, 2**53, -2**63, 0.5, 1e308, 1e-308]
KEYS = ["desiredKeys", "resultsLimit", "zoneWide", "atomic", "numbersAsStrings", "recordType", "filterBy", "sortBy", "reverse", "parent", "nacre"]


def run(soak):
    charged, faults = charges.compare(soak)
    search = Search(soak)
    search.faults += faults
    deadline = time.monotonic() + max(SECONDS_LEAST, soak.seconds)
    try:
        search.begin()
        for case in search.known():
            search.attempt(case)
        while time.monotonic() < deadline:
            search.attempt(search.next())
    finally:
        search.keep()
    worst = search.worst()
    if search.faults:
        raise Fault("; ".join(search.faults) + f"; {charged}; {worst}")
    return f"{charged}; {search.count:,} requests, none beyond {MILLISECONDS_PER_KILOBYTE_MAX} ms of processor a kilobyte; {worst}"


class Case:
    """A request, and what it took."""

    def __init__(self, endpoint, body):
        self.endpoint, self.body = endpoint, body
        self.sent = self.milliseconds = self.answer = self.megabytes = 0.0
        self.status = 0

    @property
    def per_kilobyte(self):
        return self.milliseconds / max(1.0, self.sent / 1000)

    @property
    def answered(self):
        return self.answer / max(1.0, self.sent / 1000)

    def __str__(self):
        return (f"{self.endpoint}, {self.sent:,.0f} bytes sent: {self.milliseconds:,.0f} ms of processor ({self.per_kilobyte:,.0f} a kilobyte), {self.answer:,.0f} bytes "
                f"answered with {self.status}, {self.megabytes:,.0f} MB")


class Search:
    MEASURES = {"processor": lambda case: case.per_kilobyte, "whole": lambda case: case.milliseconds, "answer": lambda case: case.answered,
                "memory": lambda case: case.megabytes}

    def __init__(self, soak):
        self.soak, self.random = soak, soak.random
        self.corpus = os.path.join(soak.root, "Fuzz/corpus/costs")
        self.found = os.path.join(soak.home, "costs")
        self.pools = {name: [] for name in self.MEASURES}
        self.faults, self.count, self.since_start = [], 0, 0

    def begin(self):
        self.soak.end()
        self.server = self.soak.start_server(options=["--open-sign-up"])
        self.signer = Signer(self.soak.home, self.server)
        self.guest = seed(self.server)
        self.connect()
        for _ in range(5):
            self.ask(Case("records/lookup", {"records": [{"recordName": "known"}]}))
        self.rest = machine.resident_megabytes(self.server.pid)
        self.since_start = 0

    def connect(self):
        self.asker = client.Client("127.0.0.1", self.server.port, self.server.token)

    def known(self):
        cases = [Case(endpoint, body) for endpoint, body in seeds(self.server, self.guest)]
        for path in sorted(glob.glob(os.path.join(self.corpus, "*"))):
            with open(path) as file:
                case = json.load(file)
            cases.append(Case(case["endpoint"], case["body"]))
        return cases

    def next(self):
        if self.since_start >= REQUESTS_PER_SERVER:
            self.begin()
        pool = self.random.choice(list(self.pools.values()))
        if pool and self.random.random() < 0.6:
            parent = self.random.choice(pool)
        else:
            parent = Case(*self.random.choice(seeds(self.server, self.guest)))
        body = copy.deepcopy(parent.body)
        if body is None:
            return Case(parent.endpoint, None)
        for _ in range(self.random.randint(1, MUTATIONS_MAX)):
            body = mutated(body, self.random, [case.body for case in pool if case.body is not None])
        return Case(parent.endpoint, body)

    def attempt(self, case):
        text = "" if case.body is None else json.dumps(case.body)
        if len(text) > BODY_BYTES_MAX:
            return
        machine.forget_peak(self.server.pid)
        before = charges.processor_seconds(self.server.pid)
        start = time.monotonic()
        self.ask(case, text)
        took = time.monotonic() - start
        # What goes on behind the answer is the request's, too: what is to be sealed, released, or copied to the file.
        case.milliseconds = (charges.processor_seconds(self.server.pid) - before) * 1000
        case.megabytes = max(0.0, machine.peak_megabytes(self.server.pid) - self.rest)
        self.count += 1
        self.since_start += 1
        for name, measure in self.MEASURES.items():
            pool = self.pools[name]
            pool.append(case)
            pool.sort(key=measure, reverse=True)
            of_this = [other for other in pool if other.endpoint == case.endpoint]
            if len(of_this) > KEPT_OF_ONE_ENDPOINT:
                pool.remove(of_this[-1])
            del pool[KEPT:]
        faults = []
        if case.per_kilobyte > MILLISECONDS_PER_KILOBYTE_MAX:
            faults.append("too much of the processor a kilobyte")
        if case.milliseconds > MILLISECONDS_MAX:
            faults.append("too much of the processor")
        if case.answer > ANSWER_BYTES_MAX:
            faults.append("too long an answer")
        if case.megabytes > MEGABYTES_MAX:
            faults.append("too much memory")
        if took > ANSWER_SECONDS_MAX or case.status == 0:
            faults.append(f"no answer within {ANSWER_SECONDS_MAX} s")
        if case.status == 500:
            faults.append("an internal error")
        for fault in faults:
            path = self.write(case, f"fault-{len(self.faults)}")
            self.faults.append(f"{fault}: {case}: {path}")
        if faults:
            self.begin()

    def ask(self, case, text=None):
        text = json.dumps(case.body) if text is None else text
        asker, _, endpoint = case.endpoint.rpartition(":")
        path = endpoint if endpoint.startswith("/") else self.server.path(endpoint)
        headers = {"Content-Type": "application/json"}
        if asker:
            path = path.replace("private", "shared" if asker == "guest" else "public")
        if asker == "signed":
            headers |= self.signer.headers(path, text)
        elif asker == "public":
            path += "?ckAPIToken=" + self.server.api_token
        else:
            headers["Authorization"] = "Bearer " + (self.guest if asker == "guest" else self.server).token
        # The line, the host, and two lengths beside them.
        case.sent = len(text) + len(path) + sum(len(name) + len(value) + 4 for name, value in headers.items()) + 60
        try:
            if case.body is None:
                self.asker.connection.request("GET", path, headers=headers)
            else:
                self.asker.connection.request("POST", path, body=text, headers=headers)
            response = self.asker.connection.getresponse()
            case.answer, case.status = len(response.read()), response.status
        except (OSError, socket.timeout) as error:
            case.status = 0
            self.asker.close()
            self.connect()

    def write(self, case, name):
        os.makedirs(self.found, exist_ok=True)
        path = os.path.join(self.found, name + ".json")
        with open(path, "w") as file:
            json.dump({"endpoint": case.endpoint, "body": case.body, "took": str(case)}, file, indent=1)
        return path

    def keep(self):
        for name, pool in self.pools.items():
            for place, case in enumerate(pool[:3]):
                self.write(case, f"{name}-{place}")

    def worst(self):
        return "; ".join(f"most {name}: {pool[0]}" for name, pool in self.pools.items() if pool)


class Signer:
    """A server-to-server key of the container."""

    def __init__(self, folder, server):
        self.key = os.path.join(folder, "signer.pem")
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", self.key)
        self.key_id = server.administrator.json("POST", "/admin/1/tokens", {
            "container": nacre.CONTAINER, "environment": "development", "kind": "server", "name": "signer",
            "publicKey": openssl("ec", "-in", self.key, "-pubout").decode()})["keyID"]

    def headers(self, path, text):
        # To the second: what is sent twice in one is done once, and the second is a retry.
        date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        signature = openssl("dgst", "-sha256", "-sign", self.key, input=f"{date}:{digest}:{path}".encode())
        return {"X-Apple-CloudKit-Request-KeyID": self.key_id, "X-Apple-CloudKit-Request-ISO8601Date": date,
                "X-Apple-CloudKit-Request-SignatureV1": base64.b64encode(signature).decode()}


def openssl(*arguments, input=None):
    return subprocess.run(["openssl", *arguments], input=input, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout


# Requests


def zone(more):
    return {"zoneID": {"zoneName": nacre.ZONE}} | more


def question(record_type, *filters, sort=()):
    return zone({"query": {"recordType": record_type, "filterBy": list(filters), "sortBy": list(sort)}})


def test(field, comparator, value, **more):
    return {"comparator": comparator, "fieldName": field, "fieldValue": {"value": value} | more}


def saved(kind, name, record_type, fields, **more):
    return {"operationType": kind, "record": {"recordName": name, "recordType": record_type, "fields": fields} | more}


def seeds(server, guest):
    place = {"latitude": 52.5, "longitude": 13.4}
    words = " ".join(f"new{number}" for number in range(100))
    target = {"recordName": "known", "action": "DELETE_SELF"}
    shared = {"zoneID": guest.shared_zone}
    public_question = {"query": {"recordType": "Note", "filterBy": [test("text", "BEGINS_WITH", "t"), test("number", "NOT_EQUALS", 5)]}}
    return [
        ("records/lookup", zone({"records": [{"recordName": f"n{number}"} for number in range(50)]})),
        ("records/lookup", zone({"records": [{"recordName": f"big{number}"} for number in range(7)]})),
        ("records/lookup", zone({"records": [{"recordName": f"big{number}"} for number in range(20)], "desiredKeys": ["number"]})),
        ("records/query", question("Note", test("number", "GREATER_THAN_OR_EQUALS", 0), sort=[{"fieldName": "text", "ascending": False}])),
        ("records/query", question("Note", test("text", "BEGINS_WITH", "t"), test("number", "NOT_EQUALS", 5))),
        ("records/query", question("Note", test("number", "IN", list(range(200))))),
        ("records/query", question("Article", test("text", "CONTAINS_ALL_TOKENS", "word1 word2 word3"))),
        ("records/query", question("Lists", *[test("numbers", "NOT_LIST_CONTAINS_ANY", list(range(-250, 0)), type="INT64_LIST")] * 5)),
        ("records/query", question("Place", {"comparator": "NEAR", "fieldName": "place", "fieldValue": {"value": place}, "distance": 1e6},
                                   sort=[{"fieldName": "place", "relativeLocation": {"value": place}}])),
        ("records/query", {"zoneWide": True, "query": {"recordType": "Note", "filterBy": [test("number", "GREATER_THAN", -1)]}}),
        ("changes/zone", {"zones": [{"zoneID": {"zoneName": nacre.ZONE}}]}),
        ("changes/zone", {"zones": [{"zoneID": {"zoneName": f"z{number}"}} for number in range(20)]}),
        ("changes/database", {}),
        ("records/changes", zone({})),
        ("zones/list", {}),
        ("zones/lookup", {"zones": [{"zoneName": f"z{number}"} for number in range(20)]}),
        ("zones/modify", {"operations": [{"operationType": "create", "zone": {"zoneID": {"zoneName": f"y{number}"}}} for number in range(10)]}),
        ("records/modify", zone({"operations": [saved("create", f"c{number}", "Note", {"text": {"value": "x"}}) for number in range(20)]})),
        ("records/modify", zone({"atomic": False, "operations": [saved("update", f"big{number}", "Note", {"number": {"value": 1}}, recordChangeTag="a")
                                                                   for number in range(7)]})),
        ("records/modify", zone({"operations": [saved("forceReplace", f"a{number}", "Article", {"text": {"value": words}}) for number in range(5)]})),
        ("records/modify", zone({"operations": [saved("forceUpdate", f"r{number}", "Holder", {"refs": {"value": [target], "type": "REFERENCE_LIST"}})
                                                  for number in range(5)]})),
        ("records/modify", zone({"operations": [{"operationType": "forceDelete", "record": {"recordName": "h0"}}]})),
        ("records/modify", zone({"operations": [saved("forceUpdate", "child", "Note", {}, parent={"recordName": "big0"})]})),
        ("records/modify", zone({"operations": [saved("forceUpdate", "holder", "Holder", {"refs": {"type": "REFERENCE_LIST", "value": [
            {"recordName": f"big{number}", "action": "VALIDATE"} for number in range(20)]}})]})),
        ("records/modify", zone({"operations": [saved("forceReplace", f"big{number}", "Note", {"text": {"value": "x" * 50_000}}) for number in range(7)],
                                  "desiredKeys": [], "nacre": {"operationID": "again"}})),
        ("zones/changes", {}),
        ("users/caller", None), ("users/current", None), ("zones/list", None), ("/limits", None), ("/metrics", None), ("/version", None), ("/sign-in", None),
        (f"/sign-in?ckAPIToken={server.api_token}&origin=https%3A%2F%2Fapp.example", None),
        ("public:users/caller", None), ("signed:users/caller", None),
        ("public:records/lookup", {"records": [{"recordName": f"p{number}"} for number in range(20)]}),
        ("public:records/query", public_question), ("signed:records/query", public_question),
        ("signed:records/lookup", {"records": [{"recordName": f"p{number}"} for number in range(20)]}),
        ("signed:records/modify", {"operations": [saved("forceUpdate", f"s{number}", "Note", {"text": {"value": "x"}}) for number in range(20)]}),
        ("signed:records/modify", {"atomic": False, "operations": [saved("forceUpdate", f"s{number}", "Holder", {"refs": {
            "value": [{"recordName": "p0", "action": "DELETE_SELF"}], "type": "REFERENCE_LIST"}}) for number in range(5)]}),
        ("assets/upload", {"tokens": [{"recordType": "Photo", "fieldName": "image"} for _ in range(20)]}),
        ("assets/upload", {"tokens": [{"recordType": "Photo", "fieldName": "image", "nacre": {"chunks": [
            {"size": 65_536, "sha256": base64.b64encode(bytes([number] * 32)).decode()} for number in range(50)]}}]}),
        ("assets/rereference", {"assets": [{"fileChecksum": "A" * 28, "recordName": "known", "recordType": "Photo", "fieldName": "image"}]}),
        ("subscriptions/list", {}),
        ("subscriptions/lookup", {"subscriptions": [{"subscriptionID": f"s{number}"} for number in range(20)]}),
        ("subscriptions/modify", {"operations": [subscribing(f"s{number}", number) for number in range(20)]}),
        ("open:subscriptions/modify", {"operations": [subscribing(f"o{number}", number) for number in range(20)]}),
        ("open:records/modify", {"operations": [saved("forceUpdate", f"p{number}", "Note", {"number": {"value": number}}) for number in range(20)]}),
        (DEVICE + "tokens/create", {"apnsEnvironment": "development"}),
        (DEVICE + "tokens/register", {"apnsEnvironment": "development", "apnsToken": guest.push_token}),
        ("open:records/resolve", {"shortGUIDs": [{"value": guest.short_guid, "shouldFetchRootRecord": True}]}),
        ("open:records/accept", {"shortGUIDs": [{"value": "0" * 22}, {"value": guest.short_guid}]}),
        ("open:users/lookup/email", {"users": [{"emailAddress": f"{number}@example.com"} for number in range(20)]}),
        ("open:users/lookup/id", {"users": [{"userRecordName": f"_{number}"} for number in range(20)]}),
        ("open:users/discover", {"lookupInfos": [{"emailAddress": "eve@example.com"}]}),
        ("records/modify", {"zoneID": {"zoneName": "z1"}, "operations": [saved("update", "cloudkit.zoneshare", "cloudkit.share", {}, publicPermission="NONE", participants=[
            {"userIdentity": {"lookupInfo": {"emailAddress": f"{number}@example.com"}}, "permission": "READ_ONLY", "type": "USER"} for number in range(20)])]}),
        ("guest:changes/database", {}), ("guest:zones/list", {}),
        ("guest:changes/zone", {"zones": [shared]}),
        ("guest:records/query", shared | {"query": {"recordType": "Note", "filterBy": [test("text", "BEGINS_WITH", "x")]}}),
        ("guest:records/lookup", shared | {"records": [{"recordName": "one"}, {"recordName": "cloudkit.zoneshare"}]}),
        ("guest:records/modify", shared | {"operations": [saved("forceUpdate", f"g{number}", "Note", {"text": {"value": "x"}}) for number in range(20)]}),
        ("/account/1/sign-in", {"email": nacre.EMAIL, "password": nacre.PASSWORD, "apiToken": server.api_token, "container": nacre.CONTAINER,
                                "environment": "development", "kind": "account"}),
        ("/account/1/sign-up", {"email": "ada@example.com", "password": nacre.PASSWORD}), ("/account/1/sign-out", {}),
    ]


def subscribing(name, number):
    return {"operationType": "create", "subscription": {"subscriptionID": name, "subscriptionType": "query", "zoneWide": True, "firesOn": ["create", "update"],
            "query": {"recordType": "Note", "filterBy": [test("number", "EQUALS", number)]}, "notificationInfo": {"alertBody": "new", "additionalFields": ["text"]}}}


def seed(server):
    """Fills the server; the user with whom a zone is shared, who knows its address and its share's short GUID."""
    def save(operations):
        for first in range(0, len(operations), 200):
            server.ask("records/modify", zone({"operations": operations[first:first + 200]}))

    server.define("Note", {"text": {"value": "x"}, "number": {"value": 1}}, {"text": ["queryable", "sortable"], "number": ["queryable", "sortable"]})
    server.define("Article", {"text": {"value": "x"}}, {"text": ["searchable"]})
    server.define("Place", {"place": {"value": {"latitude": 1, "longitude": 1}}}, {"place": ["queryable"]})
    costly_requests.lists(server)
    costly_requests.texts(server, 20)
    save([saved("create", "known", "Note", {"text": {"value": "known"}, "number": {"value": 1}})])
    save([saved("create", f"n{number}", "Note", {"text": {"value": f"t{number}" * 20}, "number": {"value": number % 100}}) for number in range(12_000)])
    save([saved("create", f"a{number}", "Article", {"text": {"value": " ".join(f"word{number * place % 997}" for place in range(300))}}) for number in range(200)])
    save([saved("create", f"p{number}", "Place", {"place": {"value": {"latitude": number % 180 - 90, "longitude": number * 7 % 360 - 180}}})
          for number in range(2000)])
    for level in range(6):
        save([saved("create", f"h{level}" if place == 0 else f"h{level}.{place}", "Holder", {"refs": {"value": [
            {"recordName": f"h{level - 1}" if level else "known", "action": "DELETE_SELF"}], "type": "REFERENCE_LIST"}}) for place in range(100)])
    public = server.publicly()
    for first in range(0, 2000, 200):
        public.ask("records/modify", {"operations": [saved("create", f"p{number}", "Note", {"text": {"value": f"t{number}" * 20}, "number": {"value": number}})
                                                     for number in range(first, first + 200)]})
    for number in range(20):
        server.ask("zones/modify", {"operations": [{"operationType": "create", "zone": {"zoneID": {"zoneName": f"z{number}"}}}]})
        costly_requests.save(server, ["one"], {"text": {"value": "x" * 50_000}}, zone=f"z{number}")
    share = server.ask("records/modify", {"zoneID": {"zoneName": "z0"}, "operations": [
        saved("create", "cloudkit.zoneshare", "cloudkit.share", {}, publicPermission="READ_WRITE")]})["records"][0]
    guest = server.another_user("eve@example.com")
    guest.short_guid = share["shortGUID"]
    accepted = guest.publicly().ask("records/accept", {"shortGUIDs": [{"value": guest.short_guid}]})["results"][0]
    guest.shared_zone = accepted["zoneID"]
    guest.push_token = server.client.json("POST", DEVICE + "tokens/create", {"apnsEnvironment": "development"})["apnsToken"]
    return guest


# Changes


def places(body):
    """All places in a document, as (holder, key)."""
    found, left = [], [body]
    while left:
        holder = left.pop()
        for key in (holder if isinstance(holder, dict) else range(len(holder))):
            found.append((holder, key))
            if isinstance(holder[key], (dict, list)):
                left.append(holder[key])
        if len(found) > 20_000:
            break
    return found


def renamed(value, number):
    """A copy whose names are its own: what is named twice is refused."""
    value = copy.deepcopy(value)
    for holder, key in places([value]):
        if key in ("recordName", "zoneName") and isinstance(holder[key], str):
            stem = holder[key].rstrip("0123456789")
            holder[key] = f"{stem}{number}"
    return value


def mutated(body, random, others):
    found = places(body)
    if not found:
        return body
    holder, key = random.choice(found)
    value = holder[key]
    lists = [each for each in found if isinstance(each[0][each[1]], list) and each[0][each[1]]]
    move = random.randrange(9)
    if move <= 2 and lists:
        # Longer lists, each member of which has a name of its own.
        holder, key = random.choice(lists)
        value = holder[key]
        wanted = min(len(value) * random.choice([2, 3, 10]), 5000)
        first = value[0]
        if isinstance(first, (dict, list)):
            holder[key] = value + [renamed(random.choice(value), number) for number in range(len(value), wanted)]
        elif isinstance(first, (int, float)):
            holder[key] = value + [number - random.choice([0, 2**40]) for number in range(len(value), wanted)]
        else:
            holder[key] = value + [f"{first}{number}" for number in range(len(value), wanted)]
    elif move == 3 and isinstance(value, str):
        holder[key] = random.choice([value * 10, value + " " + value[::-1], "\x01" * 500, "%" * 300, " ".join(f"{value[:20]}{n}" for n in range(300)), ""])
    elif move == 4:
        holder[key] = random.choice(WORDS + NUMBERS + [True, None])
    elif move == 5 and isinstance(holder, dict):
        holder[random.choice(KEYS)] = random.choice([True, 200, 10**6, [], ["text"], ["number"], {"recordName": "big1"}, {"waitSeconds": 0}])
    elif move == 6:
        del holder[key]
    elif move == 7 and others:
        theirs = places(random.choice(others))
        same = [each for each in theirs if each[1] == key and isinstance(key, str)]
        if same:
            other, name = random.choice(same)
            holder[key] = copy.deepcopy(other[name])
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        holder[key] = random.choice(NUMBERS + [value * 10, -value, value + 1])
    return body
