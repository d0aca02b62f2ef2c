"""How much of a lookup's CPU goes into knowing who asks, and into what that caller may read?

A server answers one lookup, asked by each kind of caller, and its CPU is read. Then `NacreAuthenticationCost` does on the same data and for the very same
requests only that part of the work, in a loop, and what it spends is held against the whole.
"""

import base64
import datetime
import hashlib
import json
import os
import subprocess
import urllib.parse

from harness import client, load, machine, nacre, records, report
from harness.bench import median

CONNECTIONS = 64
SECONDS = 30
SECONDS_QUICK = 6
# Of a lookup's CPU, to know who asks and what the caller may read.
SHARE_MAX = 0.10

PLAIN, ROLES = nacre.CONTAINER, "iCloud.com.example.roles"
SCHEMA = """
DEFINE SCHEMA CREATE ROLE Editor; RECORD TYPE Users (roles LIST<INT64>);
RECORD TYPE Note ("___recordID" REFERENCE, title STRING, body STRING, count INT64, price DOUBLE, when TIMESTAMP, tags LIST<STRING>, done INT64, link STRING,
GRANT READ, WRITE TO Editor, GRANT WRITE TO "_creator", GRANT CREATE TO "_icloud");
"""

# One request, byte for byte: a signature is of one.
LUA = "\nlocal whole = @WHOLE@\nfunction request() return whole end\n"

WHERE_THE_TIME_GOES = """\
**Authentication.** What a credential stands for is remembered for five seconds, and what is inside a sealed token for as long. What is left are hashes of strings and locks. A schema's version
is read from the store with each request, on the snapshot that is answered from, and what is remembered of grants and roles is of one version: so a role that is taken away is gone with the next request."""


def ask(bench):
    server = bench.nacre()
    questions = prepare(bench, server)
    samples = bench.take_turns({each["what"]: lambda each=each: run(bench, server, each) for each in questions})
    server.stop()
    machine.wait_for_quiet(bench.quiet_seconds_max)
    told = [{key: each[key] for key in ("container", "database", "target", "headers", "body")} | {"name": each["what"]} for each in questions]
    parts = json.loads(subprocess.run(
        [os.path.join(bench.tools, "NacreAuthenticationCost"), server.folder, str(SECONDS_QUICK if bench.quick else SECONDS)],
        input=json.dumps(told), check=True, stdout=subprocess.PIPE, text=True).stdout)
    bench.say(str(parts))
    lines, remarks = [], []
    for each in questions:
        what, whole = each["what"], median(samples[each["what"]], "cpu_microseconds")
        part = parts[what]
        share = (part["identity"] + part["roles"]) / whole
        # A signature is verified with each request, by nature; it is told, and promises nothing.
        targets = [] if each["signs"] else [report.Target(f"≤ {SHARE_MAX:.0%}", share <= SHARE_MAX)]
        lines.append(report.Line(
            f"who asks and what they may read, of the CPU of a lookup: {what}", "%", share * 100, targets=targets, cpu={"nacre": whole},
            foreign=max(sample.foreign_share for sample in samples[what])))
        remarks.append(
            f"A lookup, {what}: {whole:.1f} µs of CPU; of these {part['identity']:.2f} to know who asks, {part['roles']:.2f} for grants and roles, and "
            f"{part['rates']:.2f} to keep to rates.")
    return report.Answer(lines, remarks=remarks)


def run(bench, server, question):
    headers = {"Host": "127.0.0.1", "Content-Type": "application/json", "Content-Length": len(question["body"])} | question["headers"]
    text = "".join([f"POST {question['target']} HTTP/1.1\r\n", *(f"{name}: {value}\r\n" for name, value in headers.items()), "\r\n", question["body"]])
    sample = load.run(server, load.script(LUA, bench.path("load.lua"), whole=json.dumps(text)), CONNECTIONS, bench.seconds)
    # A body that short would be an error inside a good answer.
    if sample.response_bytes < len(records.BODY):
        raise RuntimeError(f"{question['what']}: answered {sample.response_bytes} bytes")
    return sample


def prepare(bench, server):
    """The callers, and the record that each looks up."""
    ask_admin = server.administrator.json
    ask_admin("POST", "/admin/1/containers", {"name": ROLES})
    ask_admin("POST", "/admin/1/schema/import", {"container": ROLES, "text": SCHEMA, "isDryRun": False})
    api = {PLAIN: server.api_token, ROLES: make_token(ask_admin, ROLES)}
    for container in (PLAIN, ROLES):
        device = sign_in(server, container, api[container], "account")
        if container == ROLES:
            ask_admin("POST", "/admin/1/roles/assign", {
                "container": ROLES, "environment": "development", "role": "Editor", "user": device["userRecordName"]})
        save(server, container, device["token"], "public")
    save(server, PLAIN, server.token, "private")
    bearer = {container: {"Authorization": "Bearer " + sign_in(server, container, api[container], "account")["token"]} for container in (PLAIN, ROLES)}
    session = {container: sign_in(server, container, api[container], "web")["token"] for container in (PLAIN, ROLES)}
    web = {container: f"?ckAPIToken={api[container]}&ckWebAuthToken={urllib.parse.quote(session[container], safe='')}" for container in (PLAIN, ROLES)}
    return [
        question("an API token alone, public", PLAIN, "public", query=f"?ckAPIToken={api[PLAIN]}"),
        question("a web auth token, public", PLAIN, "public", query=web[PLAIN]),
        question("a web auth token, private", PLAIN, "private", query=web[PLAIN]),
        question("an account token, public", PLAIN, "public", bearer[PLAIN]),
        question("an account token, private", PLAIN, "private", bearer[PLAIN]),
        question("a web auth token with a role, public", ROLES, "public", query=web[ROLES]),
        question("an account token with a role, public", ROLES, "public", bearer[ROLES]),
        signed(bench, ask_admin, "a server-to-server key with a role, public", ROLES),
    ]


def question(what, container, database, headers=None, query="", signs=False):
    body = json.dumps({"records": [{"recordName": records.name(0)}]}, separators=(",", ":"))
    target = f"/database/1/{container}/development/{database}/records/lookup{query}"
    return {"what": what, "container": container, "database": database, "target": target, "headers": headers or {}, "body": body, "signs": signs}


def make_token(ask_admin, container):
    return ask_admin("POST", "/admin/1/tokens", {"container": container, "environment": "development", "kind": "api", "name": "bench"})["token"]


def sign_in(server, container, api_token, kind):
    anyone = client.Client("127.0.0.1", server.port)
    try:
        return anyone.json("POST", "/account/1/sign-in", {
            "email": nacre.EMAIL, "password": nacre.PASSWORD, "apiToken": api_token, "container": container, "environment": "development", "kind": kind})
    finally:
        anyone.close()


def save(server, container, token, database):
    user = client.Client("127.0.0.1", server.port, token)
    operation = {"operationType": "create", "record": {"recordName": records.name(0), "recordType": "Note", "fields": json.loads(records.NACRE_FIELDS)}}
    try:
        saved = user.json("POST", f"/database/1/{container}/development/{database}/records/modify", {"operations": [operation]})
    finally:
        user.close()
    if "fields" not in saved["records"][0]:
        raise RuntimeError(f"not saved: {saved}")


def signed(bench, ask_admin, what, container):
    """A request with a signature of now, which is good for ten minutes: longer than its rounds take."""
    key = os.path.join(bench.home, "key.pem")
    subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key], check=True, capture_output=True)
    public = subprocess.run(["openssl", "ec", "-in", key, "-pubout"], check=True, capture_output=True, text=True).stdout
    made = ask_admin("POST", "/admin/1/tokens", {
        "container": container, "environment": "development", "kind": "server", "name": "bench", "publicKey": public})
    ask_admin("POST", "/admin/1/roles/assign", {"container": container, "environment": "development", "role": "Editor", "key": made["keyID"]})
    asked = question(what, container, "public", signs=True)
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    digest = base64.b64encode(hashlib.sha256(asked["body"].encode()).digest()).decode()
    text = f"{date}:{digest}:{asked['target']}".encode()
    signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", key], input=text, check=True, capture_output=True).stdout
    asked["headers"] = {
        "X-Apple-CloudKit-Request-KeyID": made["keyID"], "X-Apple-CloudKit-Request-ISO8601Date": date,
        "X-Apple-CloudKit-Request-SignatureV1": base64.b64encode(signature).decode()}
    return asked
