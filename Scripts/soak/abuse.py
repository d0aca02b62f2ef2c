"""Attacks with an API token alone, with no credential and as one user, and users who want much and mean no harm: memory stays bounded, another user's
lookups and saves take about as long as alone, health is answered, nothing that was said to be saved is lost, and all is over when the attacker is gone. SIGTERM
ends the server whatever runs. Rates are off, so that turns and budgets alone keep users apart, but for attacks that are done with them, too, or are on them."""

import functools
import subprocess
import sys
import time

from harness import client, machine, nacre
from harness.crowd import Greedy, Neighbour, hundredth, saving
from soaking import Fault

import attacks

# Resident megabytes above rest, but for what so many connections take.
MEMORY_MEGABYTES_MAX = 300
CONNECTION_KILOBYTES = 60
# How much longer the hundredth part of another user's answers may take than it does alone, or as many milliseconds where that is more. Alone it is two to
# five milliseconds on a machine whose two cores attackers, server and user share. Lookups keep to eight times that in each attack. A save waits for the
# group that is under way, which may hold one large request: 400 records, or 8 MB of records that it conflicts with. That is 30 to 45 milliseconds.
FACTOR_MAX = 8
MILLISECONDS_FLOOR = 60
# The same of `/healthz` and `/readyz`, each on a connection of its own.
HEALTH_MILLISECONDS_MAX = 100
# Within this all answers are as alone again after the attacker's end.
RECOVERY_SECONDS_MAX = 5
# From SIGTERM to the process's end.
END_SECONDS_MAX = 10
ALONE_SECONDS = 4
STAY_SECONDS = 6
WINDOW_SECONDS = 0.5


def run(soak):
    soak.want_descriptors(12_000)
    texts, faults = [], []
    parts = [(attack, suffer) for attack in attacks.ALL] + [(attacks.costly_queries, end_under_attack)]
    for attack, part in parts:
        if soak.only and attack.__name__ not in soak.only:
            continue
        try:
            text = part(soak, attack)
        except Fault as fault:
            text = f"FAULT: {fault}"
            faults.append(f"{attack.__name__}: {fault}")
        print(f"abuse: {attack.__name__}: {text}", file=sys.stderr, flush=True)
        texts.append(f"{attack.__name__}: {text}")
        soak.end()
    if faults:
        raise Fault("; ".join(faults))
    return "; ".join(texts)


def suffer(soak, attack):
    """One attack beside one user: what was measured, or what is wrong."""
    server = soak.start_server(**getattr(attack, "server", {}))
    server.ask("records/modify", saving("known"))
    eve = server.another_user("eve@example.com")
    prepared = attack.prepare(eve) if hasattr(attack, "prepare") else None
    neighbour = Neighbour(server, attack.witnesses(server) if hasattr(attack, "witnesses") else None)
    try:
        alone, failed = neighbour.measured(ALONE_SECONDS)
        if failed:
            raise Fault(f"alone: {failed[0]}")
        rest = machine.resident_megabytes(server.pid)
        machine.forget_peak(server.pid)
        neighbour.begin()
        attacker = Greedy(attacking(attack, eve, prepared))
        try:
            connections = attacker.begun()
            time.sleep(STAY_SECONDS)
        finally:
            beside, failed = neighbour.end()
            attacker.end()
        peak = machine.peak_megabytes(server.pid)
        recovered = recover(neighbour, alone, attack)
    finally:
        neighbour.leave()
    wrong = attack.after(server) if hasattr(attack, "after") else None
    if wrong:
        raise Fault(wrong)
    text = ", ".join(f"{what} p99 {hundredth(alone[what]):.1f} ms alone, {hundredth(beside[what]):.1f} beside ({factor(alone[what], beside[what]):.1f}×)"
                     for what in alone)
    text = f"{peak - rest:.0f} MB above rest with {connections} connections, {text}, as alone after {recovered:.1f} s"
    if failed:
        raise Fault(f"{failed[0]}; {text}")
    for what in alone:
        if hundredth(beside[what]) > most(what, alone, attack):
            raise Fault(f"{what} took {hundredth(beside[what]):.0f} ms, and {most(what, alone, attack):.0f} are allowed; {text}")
    allowed = MEMORY_MEGABYTES_MAX + connections * CONNECTION_KILOBYTES / 1024
    if peak - rest > allowed:
        raise Fault(f"{peak - rest:.0f} MB above rest, and {allowed:.0f} are allowed; {text}")
    if recovered > RECOVERY_SECONDS_MAX:
        raise Fault(f"answers were not as alone {RECOVERY_SECONDS_MAX} s after the attacker's end; {text}")
    require_saved(server, neighbour.saved)
    return f"{text}; {len(neighbour.saved)} saves kept"


def attacking(attack, eve, prepared):
    return functools.partial(attack, eve) if prepared is None else lambda sockets: attack(eve, sockets, prepared)


def factor(alone, beside):
    return hundredth(beside) / hundredth(alone)


def most(what, alone, attack):
    """What an answer may take, in milliseconds. An attack states where a bound is another, and why."""
    floors = getattr(attack, "floors", {})
    if what == "health":
        return floors.get(what, HEALTH_MILLISECONDS_MAX)
    return max(FACTOR_MAX * hundredth(alone[what]), floors.get(what, MILLISECONDS_FLOOR))


def recover(neighbour, alone, attack):
    """Seconds until all answers of a half second are as alone, in the bounds that hold beside the attack."""
    start = time.monotonic()
    while True:
        begun = time.monotonic() - start
        now, failed = neighbour.measured(WINDOW_SECONDS)
        if not failed and all(times and times[-1] <= most(what, alone, attack) for what, times in now.items()):
            return begun
        if begun > 2 * RECOVERY_SECONDS_MAX:
            return begun


def end_under_attack(soak, attack):
    """SIGTERM while it goes on."""
    server = soak.start_server()
    eve = server.another_user("eve@example.com")
    attack.prepare(eve)
    attacker = Greedy(attacking(attack, eve, None))
    try:
        attacker.begun()
        time.sleep(WINDOW_SECONDS)
        return end(server)
    finally:
        attacker.end()


def end(server):
    start = time.monotonic()
    server.process.terminate()
    try:
        server.process.wait(END_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        server.process.kill()
        server.process.wait()
        raise Fault(f"SIGTERM did not end the server in {END_SECONDS_MAX} s") from None
    return f"ended {time.monotonic() - start:.1f} s after SIGTERM"


def require_saved(server, names):
    """What was said to be saved is there when the server was killed and started again."""
    server.process.kill()
    server.process.wait()
    server.start()
    asker = client.Client("127.0.0.1", server.port, server.token)
    for first in range(0, len(names), 200):
        wanted = names[first:first + 200]
        found = asker.json("POST", server.path("records/lookup"), {"zoneID": {"zoneName": nacre.ZONE}, "records": [{"recordName": name} for name in wanted]})
        for name, record in zip(wanted, found["records"]):
            if record.get("fields", {}).get("text", {}).get("value") != name:
                raise Fault(f"{name} was said to be saved, and is not there")
