"""Devices with sync engines edit while they and the server are killed, connections cut and zones deleted: they agree once all is well again.

The app is `Tests/NacreConvergingApp`, and `converging.mjs` where a device runs JavaScript: four devices of a user, two of each kind, and one of
a second user, who takes part in a share. A note is two sets that only
grow, and versions of it merge by their unions. So every acknowledged save must be in the server's note at the end, with two rules: a device says
before that it deletes a note, and after that it has deleted a zone. A seed repeats what the driver does, and not the timing of processes."""

import asyncio
import json
import os
import random
import shutil
import subprocess
import time

from harness import client, nacre
from links import Link
from soaking import Fault, Skipped

# Of an hour.
ROUNDS = 24
FAULT_SECONDS = 45
# Pauses of engines grow with the length of a failure; the longest here is half a minute.
HEAL_SECONDS_MAX = 300
# That nothing moves any more once all are equal.
STILL_SECONDS = 2
DEVICES = 4
IN_JAVASCRIPT = (1, 2)
SECOND_EMAIL = "second@example.com"
STEADY, REBORN = "Steady", "Reborn"
LINE_BYTES_MAX = 1 << 26
JAVASCRIPT_APP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "converging.mjs")


def run(soak):
    app = os.path.join(soak.root, ".build/debug/NacreConvergingApp")
    if not os.path.exists(app):
        raise Skipped(f"there is no {app}: swift build --build-tests builds it")
    if not shutil.which("node"):
        raise Skipped("there is no node")
    texts = []
    for _ in range(soak.share(ROUNDS, 1)):
        seed = soak.random.randrange(2**31)
        folder = os.path.join(soak.home, "converge")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        server = soak.start_server()
        texts.append(f"round {seed}: {asyncio.run(Round(app, folder, server, seed).run())}")
        with open(soak.log_path, "a") as log:
            log.write(texts[-1] + "\n")
        soak.end()
    return f"{len(texts)} rounds; {texts[-1]}"


class Device:
    def __init__(self, number, folder, server, token, owner, kind):
        self.id, self.server, self.token, self.owner, self.kind = f"d{number}", server, token, owner, kind
        self.is_javascript = number in IN_JAVASCRIPT
        self.folder = os.path.join(folder, self.id)
        os.makedirs(self.folder)
        self.link, self.is_signed_in, self.kills, self.calls, self.process = Link(server), True, 0, 0, None

    async def start(self, app):
        signed_in = self.is_signed_in
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *(["node", JAVASCRIPT_APP] if self.is_javascript else [app]),
                "device", self.id, self.folder, self.owner or "-", self.kind, self.token if self.is_signed_in else "-", stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=log, limit=LINE_BYTES_MAX, env=environment(self.server, self.link.port, self.folder))
        # A line that was said meanwhile went to the process that is gone.
        if signed_in != self.is_signed_in:
            self.say(*(["sign-in", self.token] if self.is_signed_in else ["sign-out"]))

    async def kill(self):
        if self.process.returncode is not None:
            raise Fault(f"{self.id} ended by itself with {self.process.returncode}; see {self.folder}/log")
        self.process.kill()
        await self.process.wait()

    def say(self, *words):
        if not self.process.stdin.is_closing():
            self.process.stdin.write((" ".join(map(str, words)) + "\n").encode())

    async def report(self):
        self.calls += 1
        self.say("report", self.calls)
        while line := await self.process.stdout.readline():
            if (report := json.loads(line))["name"] == str(self.calls):
                return report
        raise Fault(f"{self.id} ended by itself; see {self.folder}/log")

    def facts(self):
        with open(os.path.join(self.folder, "journal")) as journal:
            return [fact for line in journal if (fact := read(line))]


def read(line):
    """A fact of a journal; None where a kill tore its line."""
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        return None


def environment(server, port, folder):
    return os.environ | {
        "CONVERGING_SERVER": f"http://127.0.0.1:{port}", "CONVERGING_API_TOKEN": server.api_token, "CLOUDKIT_CONTAINER": nacre.CONTAINER,
        "HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_CACHE_HOME": folder, "SWIFT_BACKTRACE": "enable=no"}


class Round:
    def __init__(self, app, folder, server, seed):
        self.app, self.folder, self.server, self.random = app, folder, server, random.Random(seed)
        self.counts = dict.fromkeys(("edits", "kills", "server kills", "faults of links", "sign-outs", "zones made again", "cancelled"), 0)

    async def run(self):
        self.over = asyncio.Event()
        # Saves of pages bring no types and fields otherwise.
        self.server.administrator.json("POST", "/admin/1/containers/change", {"name": nacre.CONTAINER, "justInTime": "all"})
        second = self.server.another_user(SECOND_EMAIL)
        tokens = [self.server.sign_in(nacre.EMAIL, kind="web" if number in IN_JAVASCRIPT else "account") for number in range(DEVICES)]
        tokens.append(second.sign_in(SECOND_EMAIL))
        owner = json.loads(subprocess.run(
            [self.app, "share", tokens[0], tokens[-1]], check=True, stdout=subprocess.PIPE, timeout=60,
            env=environment(self.server, self.server.port, self.folder)).stdout)
        kind = self.random.choice(["atomic", "loose"])
        self.devices = [
            Device(number, self.folder, self.server, token, owner if number == DEVICES else None, kind) for number, token in enumerate(tokens)]
        try:
            for device in self.devices:
                await device.link.open()
                await device.start(self.app)
            await self.do_harm()
            healed = await self.heal()
            return f"{kind}, {self.judge(healed)}"
        finally:
            for device in self.devices:
                device.link.close()
                if device.process and device.process.returncode is None:
                    device.process.kill()
                    await device.process.wait()

    # Harm

    async def pause(self, seconds):
        """Whether it is not over yet."""
        try:
            await asyncio.wait_for(self.over.wait(), seconds)
        except TimeoutError:
            pass
        return not self.over.is_set()

    async def do_harm(self):
        workers = [work(device) for device in self.devices for work in (self.edit, self.call, self.kill, self.harm_link)]
        tasks = [asyncio.create_task(work) for work in [*workers, self.kill_server(), self.sign_out(self.devices[-2]), self.remake(self.devices[0])]]
        await asyncio.wait(tasks, timeout=FAULT_SECONDS, return_when=asyncio.FIRST_EXCEPTION)
        self.over.set()
        await asyncio.gather(*tasks)

    async def edit(self, device):
        while await self.pause(self.random.uniform(0.1, 1)):
            count = self.random.randint(1, 6)
            self.counts["edits"] += count
            if device.is_signed_in:
                device.say("edit", count, self.random.randrange(2**60))

    async def call(self, device):
        number = 0
        while await self.pause(self.random.uniform(0.3, 4)):
            number += 1
            name = f"call{number}"
            device.say(self.random.choice(["fetch", "send"]), name)
            if self.random.random() < 0.2 and await self.pause(self.random.uniform(0, 0.3)):
                device.say(*self.random.choice([["cancel", name], ["cancel-all"]]))

    async def kill(self, device):
        while await self.pause(self.random.uniform(2, 20)):
            self.counts["kills"] += 1
            await device.kill()
            await self.pause(self.random.choice([0, 0.05, self.random.uniform(0, 3)]))
            await device.start(self.app)

    async def kill_server(self):
        while await self.pause(self.random.uniform(6, 25)):
            self.counts["server kills"] += 1
            self.server.process.kill()
            self.server.process.wait()
            await self.pause(self.random.choice([0, 0.2, self.random.uniform(0, 5)]))
            await asyncio.to_thread(self.server.start)

    async def harm_link(self, device):
        link = device.link
        while await self.pause(self.random.expovariate(1 / 3)):
            self.counts["faults of links"] += 1
            kind = self.random.choice(["cut", "refuse", "delay", "up", "down", "both"])
            if kind in ("cut", "refuse"):
                link.cut()
            link.refuses = kind == "refuse"
            link.delay = self.random.uniform(0.01, 1) if kind == "delay" else 0
            link.holes = {"up", "down"} if kind == "both" else {kind} & {"up", "down"}
            if kind != "cut":
                await self.pause(min(self.random.expovariate(1 / 2), 15))
            if link.holes and self.random.random() < 0.5:
                link.cut()
            link.heal()

    async def sign_out(self, device):
        while await self.pause(self.random.uniform(8, 25)):
            self.counts["sign-outs"] += 1
            device.is_signed_in = False
            device.say("sign-out")
            await self.pause(self.random.uniform(0, 8))
            device.is_signed_in = True
            device.say("sign-in", device.token)

    async def remake(self, device):
        while await self.pause(self.random.uniform(8, 25)):
            self.counts["zones made again"] += 1
            device.say("remake", REBORN)

    # Healing

    async def heal(self):
        """What the server holds once all hold it. The seconds until then count from the moment when all processes ran and each link was well."""
        start = time.monotonic()
        while True:
            equal, seen = await self.compare()
            seconds = time.monotonic() - start
            if equal:
                await asyncio.sleep(STILL_SECONDS)
                again, seen = await self.compare()
                if not again:
                    raise Fault(f"all held the same after {seconds:.1f} s, and then not: {seen}")
                self.seconds = seconds
                return seen
            if seconds > HEAL_SECONDS_MAX:
                raise Fault(f"after {seconds:.0f} s not all hold the same: {seen}")
            await asyncio.sleep(0.1)

    async def compare(self):
        """Whether all hold the same and nothing is pending, and the server's notes, or what differs."""
        try:
            served = await asyncio.to_thread(self.served)
        except (OSError, client.Refused) as error:
            return False, f"the server: {error}"
        reports = await asyncio.gather(*(device.report() for device in self.devices))
        for device, report in zip(self.devices, reports):
            held = {key: sets(content) for key, content in report["notes"].items()}
            known = served if device.owner is None else {key: note for key, note in served.items() if key.startswith(STEADY)}
            if report["pending"] or report["unsent"]:
                return False, f"{device.id} has {report['pending']} pending, {report['unsent']} unsent"
            if held != known:
                keys = [key for key in held.keys() | known.keys() if held.get(key) != known.get(key)]
                return False, f"{device.id} differs in {len(keys)} notes: {sorted(keys)[:3]}"
        return True, served

    def served(self):
        notes = {}
        asker = client.Client("127.0.0.1", self.server.port, self.server.token)
        try:
            for zone in (STEADY, REBORN):
                token, more = None, True
                while more:
                    asked = {"zoneID": {"zoneName": zone}} | ({"syncToken": token} if token else {})
                    page = asker.json("POST", self.server.path("changes/zone"), {"zones": [asked]})["zones"][0]
                    if page.get("serverErrorCode") == "ZONE_NOT_FOUND":
                        break
                    for record in page["records"]:
                        if record.get("deleted"):
                            notes.pop(f"{zone}/{record['recordName']}", None)
                        elif record["recordType"] == "Note":
                            notes[f"{zone}/{record['recordName']}"] = sets(
                                {name: field["value"] for name, field in record["fields"].items()})
                    token, more = page["syncToken"], page["moreComing"]
        finally:
            asker.close()
        return notes

    # Judgement

    def judge(self, served):
        """What was promised to each device, held against what there is."""
        facts = [(device.id, fact) for device in self.devices for fact in device.facts()]

        def of(kind):
            return [(device, fact) for device, fact in facts if fact["kind"] == kind]

        for device, fact in of("fault"):
            raise Fault(f"{device}: {fact['text']} {fact['key']}")
        deleted_at = max((fact["seconds"] for _, fact in of("zoneDeleted")), default=0)
        deletes = {fact["key"] for _, fact in of("deletes")}
        for device, fact in of("deleted"):
            if fact["key"] in served:
                raise Fault(f"{device} was told that {fact['key']} is deleted, and the server has it")
        kept = gone = 0
        for device, fact in of("saved"):
            key = fact["key"]
            if key in deletes or (key.startswith(REBORN) and fact["seconds"] <= deleted_at):
                gone += 1
                continue
            kept += 1
            words, struck = sets(fact["content"])
            has = served.get(key, (set(), set()))
            if not (words <= has[0] and struck <= has[1]):
                lost = sorted((words - has[0]) | (struck - has[1]))
                raise Fault(f"{device} was told that {key} is saved, and the server lacks {lost[:5]}")
        times = sorted(fact["seconds"] for _, fact in of("cancelled"))
        self.counts["cancelled"] = len(times)
        counts = ", ".join(f"{count} {name}" for name, count in self.counts.items())
        return (f"equal {self.seconds:.1f} s after all was well, {len(served)} notes, {kept} acknowledged saves there, {gone} of notes and zones "
                f"that were deleted, {len(of('deleted'))} deletions; cancelled calls ended within {times[-1] if times else 0:.2f} s; {counts}")


def sets(content):
    return set(content.get("words", [])), set(content.get("struck", []))
