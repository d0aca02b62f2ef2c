"""What does it cost a client to wait for changes: a processor's time, and memory for a thousand requests that wait at once?

The client is `NacreFrameworkCost wait`: requests to `changes/database` that the server holds open, over the framework's transport. The same process
with nothing that waits, measured in the same run, says what it costs by itself.
"""

import json
import os
import statistics
import subprocess

from framework_cost import variables
from harness import machine, nacre, report

WAITING = 1_000
# Of one user at once; the server's limit.
PER_USER = 100
MILLISECONDS_MAX = 1
MEGABYTES_MAX = 64


def ask(bench):
    server = bench.nacre()
    tokens = [server.token] + [server.another_user(f"waiting{number}@example.com").token for number in range(1, WAITING // PER_USER)]
    found = {0: [], 1: [], WAITING: []}
    for _ in range(bench.rounds):
        for count, results in found.items():
            machine.wait_for_quiet(bench.quiet_seconds_max)
            results.append(wait(bench, server, tokens, count))
    cpu = {count: statistics.median(result["cpu_ms_per_second"] for result in results) for count, results in found.items()}
    memory = {count: statistics.median(result["resident_mb"] for result in results) for count, results in found.items()}
    each = max(0, memory[WAITING] - memory[0]) * 1000 / WAITING
    return report.Answer(
        [
            report.Line(
                "framework: one request that waits, client CPU a second", "ms", cpu[1],
                targets=[report.Target(f"< {MILLISECONDS_MAX} ms", cpu[1] < MILLISECONDS_MAX)]),
            report.Line(
                f"framework: {WAITING:,} that wait in one process, client CPU a second for each", "ms", cpu[WAITING] / WAITING,
                targets=[report.Target(f"< {MILLISECONDS_MAX} ms", cpu[WAITING] < MILLISECONDS_MAX * WAITING)]),
            report.Line(
                f"framework: resident with {WAITING:,} that wait", "MB", memory[WAITING],
                targets=[report.Target(f"< {MEGABYTES_MAX} MB", memory[WAITING] < MEGABYTES_MAX)]),
        ],
        remarks=[f"The framework's process that waits for nothing spends {cpu[0]:.2f} ms a second and holds {memory[0]:.0f} MB; each of {WAITING:,} "
                 f"requests that wait adds {each:.0f} KB."])


def wait(bench, server, tokens, count):
    environment = variables(bench, server) | {"WAITING_ACCOUNT_TOKENS": ",".join(tokens)}
    command = [os.path.join(bench.tools, "NacreFrameworkCost"), "wait", nacre.ZONE, str(count)]
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment).stdout)
    if found["waiting"] != count:
        raise RuntimeError(f"{found['waiting']} of {count} requests waited")
    bench.say(f"{count} waiting: {found['cpu_ms_per_second']:.3f} ms of CPU a second, {found['resident_mb']:.1f} MB")
    return found
