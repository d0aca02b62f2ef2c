"""Holds what strangers may ask against what it charges: processor seconds of a release server beside `cost` in the log.

A unit of cost is ten microseconds (docs/operations.md, "Rates"). A route may cost three times what it charges, or a tenth of a millisecond: below that the
machine's own noise is larger. Requests go one by one over one connection, so each pays for waking the server, too."""

import base64
import http.client
import json
import os
import time

UNIT_MILLISECONDS = 0.01
FACTOR_MAX = 3
MILLISECONDS_FLOOR = 0.1
# Requests of a round, of which the cheapest counts.
REQUESTS = 200
ROUNDS = 3
JSON = {"Content-Type": "application/json"}
GZIP = {"Accept-Encoding": "gzip"}


def compare(soak):
    """The worst factor of all routes, and what is wrong: a text and a list."""
    server = soak.start_server(options=["--open-sign-up", "--log-level", "info"])
    results = [Result(case, *measured(server, case)) for case in cases(server)]
    soak.end()
    worst = max(results, key=lambda result: result.factor)
    faults = [f"charged too little: {result}" for result in results
              if result.factor > FACTOR_MAX and result.milliseconds > MILLISECONDS_FLOOR]
    return f"{len(results)} requests of strangers, at worst {worst}", faults


class Case:
    def __init__(self, name, method, path, body=None, headers=None):
        self.name, self.method, self.path, self.body, self.headers = name, method, path, body, headers or {}


class Result:
    def __init__(self, case, milliseconds, cost):
        self.case, self.milliseconds, self.cost = case, milliseconds, cost

    @property
    def factor(self):
        return self.milliseconds / max(UNIT_MILLISECONDS, self.cost * UNIT_MILLISECONDS)

    def __str__(self):
        return f"{self.case.name}: {self.milliseconds:.3f} ms for {self.cost:.1f} units ({self.factor:.1f}×)"


def cases(server):
    """All that a stranger may ask, with no credential or with the public API token, where one of a kind costs most."""
    public = server.publicly()
    save(public, [(f"small{number}", f"some words {number}") for number in range(200)])
    public.make_indexes("Note", "text", ["queryable"])
    public.wait_for_indexes()
    # What hardly shrinks takes gzip longest.
    save(public, [(f"noise{kilobytes}", base64.b64encode(os.urandom(kilobytes * 750)).decode()) for kilobytes in (4, 48, 400)])
    token = "?ckAPIToken=" + server.api_token
    own = {"Content-Type": "application/x-www-form-urlencoded", "Origin": f"http://127.0.0.1:{server.port}"}

    def ask(name, endpoint, body, headers=None):
        text = body if isinstance(body, str) else json.dumps(body)
        return Case(name, "POST", public.path(endpoint) + token, text, JSON | (headers or {}))

    def named(names, **more):
        return {"records": [{"recordName": name} for name in names]} | more

    found = [Case("GET " + path, "GET", path) for path in (
        "/", "/healthz", "/readyz", "/limits", "/version", "/errors", "/openapi", "/openapi.json", "/nothing", "/verify-address?link=x",
        "/sign-in" + token + "&origin=https%3A%2F%2Fapp.example", "/sign-in?ckAPIToken=unknown", "/sign-in?share=" + "A" * 22,
        "/share/" + "A" * 22, "/share/" + "A" * 22 + "~" + "a" * 64, "/share/" + "A" * 150, "/assets/1/download/x/y", "/push/1/aps")]
    found += [Case(f"GET {path}, gzip", "GET", path, headers=GZIP) for path in ("/limits", "/openapi", "/openapi.json", "/errors")]
    found += [
        Case("a page for people", "GET", "/", headers={"Accept": "text/html"}),
        Case("a long path", "GET", "/" + "a%20" * 3500), Case("a long head", "GET", "/version", headers={"X-Long": "x" * 14000}),
        Case("many headers", "GET", "/version", headers={f"X-{number}": "x" for number in range(90)}),
        Case("another host", "GET", "/limits", headers={"Host": "evil.example"}),
        Case("OPTIONS", "OPTIONS", public.path("records/lookup"), headers={"Origin": "https://app.example"}),
        Case("a foreign form", "POST", "/sign-in", "a=b", {"Content-Type": "application/x-www-form-urlencoded"}),
        Case("a long form", "POST", "/sign-in", "step=sign-in&flow=" + "A" * 15000, own), Case("a form of many", "POST", "/sign-in", "a=b&" * 4000, own),
        Case("an upload to nowhere", "POST", "/assets/1/upload/x", "x"),
        Case("no credential", "POST", public.path("records/lookup"), "{}", JSON),
        Case("an unknown API token", "POST", public.path("records/lookup") + "?ckAPIToken=unknown", "{}", JSON),
        Case("a bearer that is none", "POST", public.path("records/lookup"), "{}", JSON | {"Authorization": "Bearer " + "A" * 14000}),
        Case("a web token that is none", "POST", public.path("records/lookup") + token + "&ckWebAuthToken=" + "A" * 2000, "{}", JSON),
        Case("a key that is none", "POST", public.path("records/lookup"), "{}", JSON | {
            "X-Apple-CloudKit-Request-KeyID": "x", "X-Apple-CloudKit-Request-ISO8601Date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "X-Apple-CloudKit-Request-SignatureV1": "AAAA"}),
        ask("one record", "records/lookup", named(["small0"])), ask("200 records", "records/lookup", named([f"small{n}" for n in range(200)])),
        ask("200 records, gzip", "records/lookup", named([f"small{n}" for n in range(200)]), GZIP),
        ask("many keys", "records/lookup", named(["small0"], desiredKeys=[f"key{n}" for n in range(1024)])),
        ask("many keys of many", "records/lookup", named([f"small{n}" for n in range(200)], desiredKeys=[f"key{n}" for n in range(1023)] + ["text"])),
        ask("numbers that nobody wants", "records/lookup", '{"x":[' + "1," * 200_000 + '1],"records":[{"recordName":"small0"}]}'),
        ask("a query", "records/query", {"query": {"recordType": "Note", "filterBy": [
            {"comparator": "BEGINS_WITH", "fieldName": "text", "fieldValue": {"value": "some"}}]}}),
        ask("zones", "zones/lookup", {"zones": [{"zoneName": f"zone{number}"} for number in range(100)]}),
        Case("zones/list", "GET", public.path("zones/list") + token), ask("what wants a user", "records/changes", {}),
    ]
    for kilobytes in (4, 48, 400):
        found += [ask(f"{kilobytes} KB", "records/lookup", named([f"noise{kilobytes}"])),
                  ask(f"{kilobytes} KB, gzip", "records/lookup", named([f"noise{kilobytes}"]), GZIP)]
    found += [Case("account/" + name, "POST", "/account/1/" + name, '{"email":"nobody@example.com"}', JSON) for name in (
        "sign-up", "sign-out", "sessions/list", "sessions/end", "change-password", "verify-phone", "usage")]
    found.append(Case("account, a long text", "POST", "/account/1/delete", '{"email":"%s"}' % ("a" * 16000), JSON))
    return found


def save(server, texts):
    for name, text in texts:
        server.ask("records/modify", {"operations": [{"operationType": "forceReplace", "record": {
            "recordName": name, "recordType": "Note", "fields": {"text": {"value": text}, "number": {"value": 1}}}}]})


def measured(server, case):
    """Milliseconds of the server's processor and units for one request."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)

    def ask():
        try:
            connection.request(case.method, case.path, case.body, case.headers)
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            connection.close()

    log = server.folder + ".log"
    try:
        for _ in range(10):
            ask()
        start = os.path.getsize(log)
        rounds = []
        for _ in range(ROUNDS):
            before = processor_seconds(server.pid)
            for _ in range(REQUESTS):
                ask()
            rounds.append((processor_seconds(server.pid) - before) / REQUESTS * 1000)
    finally:
        connection.close()
    costs = []
    with open(log, "rb") as lines:
        lines.seek(start)
        for line in lines:
            if b'"cost":' in line:
                costs.append(json.loads(line)["cost"])
    return min(rounds), sum(costs) / max(1, len(costs))


def processor_seconds(pid):
    """To the nanosecond, where /proc counts in hundredths: the clock that `clock_getcpuclockid` names."""
    return time.clock_gettime(~pid << 3 | 2)
