"""Load by wrk: requests made in Lua, the same number of connections on both sides, the server's CPU beside the throughput."""

import json
import os
import subprocess
import time

from . import machine

# One thread makes the load: the server has the other core, or all that wrk leaves it.
WRK_THREADS = 1

# `post` writes the request by hand, which costs the one generator of load less than wrk.format does. @SEED@ and others are filled in.
PRELUDE = """
local heads = {}
function request_text(method, path, body)
    local head = heads[method .. path]
    if not head then
        head = method .. " " .. path .. " HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n@AUTHORIZATION@Content-Type: application/json\\r\\nContent-Length: "
        heads[method .. path] = head
    end
    return head .. #body .. "\\r\\n\\r\\n" .. body
end
function get_text(path)
    return "GET " .. path .. " HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n@AUTHORIZATION@\\r\\n"
end
function lines_of(path)
    local lines = {}
    for line in io.lines(path) do lines[#lines + 1] = line end
    return lines
end
math.randomseed(@SEED@)
function done(summary, latency, requests)
    local e = summary.errors
    io.write(string.format('RESULT {"requests":%d,"microseconds":%d,"bytes":%d,"refused":%d,"broken":%d,"p50":%d,"p99":%d}\\n',
        summary.requests, summary.duration, summary.bytes, e.status, e.connect + e.read + e.write + e.timeout,
        latency:percentile(50), latency:percentile(99)))
end
"""


class Sample:
    """One run: units a second, and microseconds of server CPU for each unit."""

    def __init__(self, per_second, cpu_microseconds, foreign_share=0.0, **more):
        self.per_second, self.cpu_microseconds, self.foreign_share = per_second, cpu_microseconds, foreign_share
        self.__dict__.update(more)


def script(text, script_path, authorization=None, **values):
    """Writes a wrk script: the prelude and the question's own text, with @NAMES@ filled in."""
    values["authorization"] = f"Authorization: Bearer {authorization}\\r\\n" if authorization else ""
    values.setdefault("seed", time.time_ns() % 1_000_000_007)
    text = PRELUDE + text
    for key, value in values.items():
        text = text.replace(f"@{key.upper()}@", str(value))
    with open(script_path, "w") as file:
        file.write(text)
    return script_path


def run(server, script_path, connections, seconds, units=1):
    """Loads a server and returns what it did. One request that failed fails the run: it would have been cheaper than a real one."""
    command = ["wrk", f"-t{WRK_THREADS}", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", "--latency", "-s", script_path,
               f"http://127.0.0.1:{server.port}/"]
    server_before, all_before, start = machine.cpu_seconds(server.pid), machine.busy_seconds(), time.monotonic()
    children_before = os.times()
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    elapsed = time.monotonic() - start
    server_cpu = machine.cpu_seconds(server.pid) - server_before
    children = os.times()
    wrk_cpu = children.children_user + children.children_system - children_before.children_user - children_before.children_system
    foreign = max(0.0, machine.busy_seconds() - all_before - server_cpu - wrk_cpu) / (elapsed * machine.CORES)
    lines = [line for line in output.splitlines() if line.startswith("RESULT ")]
    if not lines:
        raise RuntimeError(f"wrk said nothing: {output}")
    result = json.loads(lines[-1][7:])
    if result["refused"] or result["broken"] or not result["requests"]:
        raise RuntimeError(f"{server.name} failed requests: {result}\n{output}")
    requests = result["requests"]
    return Sample(
        requests * units / (result["microseconds"] / 1e6), server_cpu * 1e6 / (requests * units), foreign, requests=requests,
        response_bytes=result["bytes"] / requests, p50=result["p50"], p99=result["p99"])
