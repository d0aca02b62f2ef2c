"""A client that keeps its own log, and telemetry that must say the same: requests, errors, codes and bytes exactly, and percentiles within the error
that docs/telemetry.md states. In between the server ends, is killed, and comes back with its clock an hour earlier."""

import collections
import json
import math
import os
import shutil
import signal
import time
import urllib.parse

from harness import client, nacre
from soaking import Fault

# Seconds that a killed server may lose: the time between two writes, and one for the write.
LOST_SECONDS_MAX = 11
ROUND_SECONDS = 13
SHARE = 0.05
ROUNDS_LEAST = 4
# Latencies are in buckets: a percentile is the middle of one.
ERROR_MAX = 1 / 16
HOUR = 3600 * 1000


def run(soak):
    server = soak.start_server()
    user = server.publicly()
    log, lost_most, number, kinds = [], 0, 0, collections.Counter()
    begin = int(time.time() * 1000)
    rounds = max(ROUNDS_LEAST, round(soak.seconds * SHARE / ROUND_SECONDS))
    # Without Debian's faketime no clock is set back, and the count of ends says so.
    ends = ["kill", "stop", "set back"] if shutil.which("faketime") else ["kill", "stop"]
    for turn in range(rounds):
        end = ends[turn % len(ends)]
        asked, until = [], time.monotonic() + ROUND_SECONDS
        while time.monotonic() < until:
            number += 1
            asked.append(ask(user, *question(soak.random, number, end == "kill")))
            time.sleep(soak.random.uniform(0, 0.03))
        log += asked
        kinds[end] += 1
        if end == "kill":
            lost_most += sum(time.monotonic() - entry["at"] < LOST_SECONDS_MAX for entry in asked)
        stop(server, signal.SIGKILL if end == "kill" else signal.SIGTERM)
        server.prefix = ("faketime", "-f", "-1h") if end == "set back" else ()
        server.start()
        user.client = client.Client("127.0.0.1", server.port, server.token)
        with open(server.admin_path) as file:
            admin = json.load(file)
        at = urllib.parse.urlsplit(admin["url"])
        server.administrator = client.Client(at.hostname, at.port, admin["token"])
    try:
        return verdict(server, log, lost_most, begin) + ", " + ", ".join(f"{count} × {end}" for end, count in kinds.items())
    finally:
        stop(server, signal.SIGTERM)


def stop(server, number):
    """Ends the server, which is the child of faketime if that has started it."""
    with open(f"/proc/{server.pid}/task/{server.pid}/children") as file:
        children = file.read().split() if server.prefix else []
    os.kill(int(children[0]) if children else server.pid, number)
    server.process.wait()


def question(random, number, is_lossy):
    """An operation and its body. What may be lost is asked for by itself, so that everything else is counted exactly."""
    if is_lossy:
        note = {"recordName": f"n{number}", "recordType": "Note", "fields": {"title": {"value": "x" * random.randrange(400)}}}
        return "records/modify", {"operations": [{"operationType": "create", "record": note}]}
    return random.choice([
        ("records/lookup", {"records": [{"recordName": f"absent{index}"} for index in range(random.randint(1, 3))]}),
        ("subscriptions/modify", {"operations": [{"operationType": "create", "subscription": {"subscriptionID": "s", "subscriptionType": "none"}}]}),
        ("records/query", {"query": {"recordType": random.choice(["Note", "Missing"])}}),
        ("users/lookup/id", {"users": "none"}),
        ("records/lookup", {"records": "none"}),
    ])


def ask(user, operation, body):
    """Asks, and returns what the client saw."""
    text = json.dumps(body).encode()
    start = time.monotonic()
    user.client.send("POST", user.path(operation), text)
    response = user.client.connection.getresponse()
    answer = response.read()
    end = time.monotonic()
    told = json.loads(answer)
    if response.status >= 400:
        codes = [told["serverErrorCode"]]
    elif operation.endswith("/lookup"):
        # A missing record is no refusal.
        codes = []
    else:
        codes = [item["serverErrorCode"] for items in told.values() if isinstance(items, list) for item in items if "serverErrorCode" in item]
    return {"at": end, "operation": operation, "status": response.status, "codes": codes, "in": len(text), "out": len(answer), "seconds": end - start}


def verdict(server, log, lost_most, begin):
    """What was compared, or what is wrong."""
    period = f"from={begin - 2 * HOUR}&to={int(time.time() * 1000) + HOUR}&database=public&container={nacre.CONTAINER}"
    told = server.administrator.json("GET", f"/admin/1/telemetry?{period}")
    lines = {line["operation"]: line for line in told["lines"] if line["operation"] != "storage"}
    codes = {line["code"]: line["errors"] for line in server.administrator.json("GET", f"/admin/1/telemetry?{period}&by=code")["lines"]}
    day = server.administrator.json("GET", f"/admin/1/telemetry?last=day&database=public&container={nacre.CONTAINER}")
    if day["total"]["requests"] != told["total"]["requests"]:
        raise Fault(f"{day['total']['requests']} requests of a day, and {told['total']['requests']} of its parts")
    faults, missing = [], 0
    for operation in sorted({entry["operation"] for entry in log}):
        own, line = [entry for entry in log if entry["operation"] == operation], lines.get(operation, collections.defaultdict(int))
        if operation == "records/modify":
            missing = len(own) - line["requests"]
            if not 0 <= missing <= lost_most:
                faults.append(f"{operation}: {missing} of {len(own)} are missing, and {lost_most} may be")
            continue
        figures = {
            "requests": len(own), "clientErrors": sum(400 <= entry["status"] < 500 for entry in own),
            "serverErrors": sum(entry["status"] >= 500 for entry in own),
            "itemErrors": sum(len(entry["codes"]) for entry in own if entry["status"] < 400),
            "bytesIn": sum(entry["in"] for entry in own), "bytesOut": sum(entry["out"] for entry in own),
        }
        faults += [f"{operation}: {name} is {line[name]}, and {value} in the client's log" for name, value in figures.items() if line[name] != value]
        faults += percentile_faults(operation, line, rows(server, operation), own)
    wanted = collections.Counter(code for entry in log for code in entry["codes"])
    if wanted != codes:
        faults.append(f"codes are {codes}, and {dict(wanted)} in the client's log")
    if faults:
        raise Fault("; ".join(faults))
    return f"{len(log)} requests, {sum(wanted.values())} refusals, {missing} lost by kills of {lost_most} that may be"


def rows(server, operation):
    """The milliseconds of each request, as the request log has them."""
    found, after = [], ""
    while after is not None:
        page = server.administrator.json(
            "GET", f"/admin/1/requests?operation={urllib.parse.quote(operation)}&database=public&limit=1000{after and '&after=' + after}")
        found += [row["milliseconds"] for row in page["requests"]]
        after = page.get("next")
    return found


def percentile_faults(operation, line, milliseconds, own):
    """What is wrong with the percentiles: beside the request log's times, and longer than the client has waited."""
    if len(milliseconds) != len(own):
        return [f"{operation}: the request log has {len(milliseconds)} rows, and the client's log {len(own)}"]
    faults = []
    for part in (50, 95, 99):
        exact, waited = (nearest(values, part) for values in (milliseconds, [entry["seconds"] * 1000 for entry in own]))
        told = line[f"p{part}"]
        if abs(told - exact) > exact * ERROR_MAX + 0.001 or told > waited * (1 + ERROR_MAX):
            faults.append(f"{operation}: p{part} is {told} ms, exactly {exact}, and the client waited {waited:.3f}")
    return faults


def nearest(values, part):
    return sorted(values)[max(math.ceil(part / 100 * len(values)), 1) - 1]
