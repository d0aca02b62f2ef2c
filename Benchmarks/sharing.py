"""What does it cost that something is shared: a participant's pages, saves with a hundred participants, and accepting a share of 100,000 records?

There is nothing of the kind elsewhere to compare with. A participant is held against the owner, a shared zone against a private one, and an acceptance
against a save.
"""

import copy
import json
import statistics
import time

from feed_pages import CONNECTIONS as READERS, PAGE
from harness import load, machine, nacre, records, report
from harness.bench import median
from single_creates import CONNECTIONS as WRITERS, NACRE as CREATES, Runs

RECORDS = 20_000
ACCEPTED_RECORDS = 100_000
# CloudKit's limit, the owner among them.
PARTICIPANTS = 100
PAGE_CPU_MAX = 1.2
SAVE_CPU_MAX = 1.3
ACCEPT_SAVES_MAX = 10
ACCEPTANCES = 9
SAVES = 200
BACKFILL_SECONDS_MAX = 120

WHERE_THE_TIME_GOES = """\
**Sharing.** A participant's request reads the share before anything else. A save into a shared zone leaves a task that marks the zone in the shared database
of each participant; saves that come before it is done are told together. A share of a record puts a row into its view for each record below its root, in
portions behind the share's commit: an acceptance finds them, and writes none."""

PAGES = """
local tokens = lines_of("@TOKENS@")
function request()
    return request_text("POST", "@PATH@", '{"zones":[{"zoneID":@ZONE@,"resultsLimit":@PAGE@,"syncToken":"' .. tokens[math.random(#tokens)] .. '"}]}')
end
"""


def ask(bench):
    server = bench.nacre()
    guests = [Guest(server, number) for number in range(PARTICIPANTS - 1)]
    return report.Answer([*pages(bench, server, guests[0]), *saves(bench, server, guests), accepting(bench, server, guests)])


class Guest:
    """A user who takes part in what somebody else shares."""

    def __init__(self, server, number):
        self.user = server.another_user(f"guest{number}@example.com")
        self.shared, self.public = at(self.user, "shared"), at(self.user, "public")
        self.name = self.public.client.json("GET", self.public.path("users/caller"))["userRecordName"]

    def accept(self, guid):
        answer = self.public.ask("records/accept", {"shortGUIDs": [{"value": guid}]})["results"][0]
        if "serverErrorCode" in answer:
            raise RuntimeError(f"a share was not accepted: {answer}")


def at(user, scope):
    """The same user at another database."""
    other = copy.copy(user)
    other.scope = scope
    return other


def zone(server, name):
    server.ask("zones/modify", {"operations": [{"operationType": "create", "zone": {"zoneID": {"zoneName": name}}}]})
    return {"zoneName": name}


def modify(server, zone_id, operations):
    for result in server.ask("records/modify", {"zoneID": zone_id, "operations": operations})["records"]:
        if "serverErrorCode" in result:
            raise RuntimeError(f"a save was refused: {result}")
        yield result


def share(server, zone_id, guests, root=None):
    """Shares a zone, or a record and what hangs on it, with users. Answers what stands in the URL."""
    participants = [{"type": "USER", "permission": "READ_WRITE", "acceptanceStatus": "INVITED", "userIdentity": {"lookupInfo": {"userRecordName": guest.name}}}
                    for guest in guests]
    record = {"recordName": f"share-of-{root}" if root else "cloudkit.zoneshare", "recordType": "cloudkit.share", "publicPermission": "NONE",
              "participants": participants} | ({"forRecord": {"recordName": root}} if root else {})
    return next(modify(server, zone_id, [{"operationType": "create", "record": record}]))["shortGUID"]


def tree(server, zone_id, count):
    """A root, and so many records below it."""
    create(server, zone_id, "root")
    for first in range(0, count, nacre.BATCH):
        create(server, zone_id, *(records.name(number) for number in range(first, first + nacre.BATCH)), parent="root")


def create(server, zone_id, *names, parent=None):
    link = ',"parent":{"recordName":"%s"}' % parent if parent else ""
    operations = ",".join(
        '{"operationType":"create","record":{"recordName":"%s","recordType":"Note","fields":%s%s}}' % (name, records.NACRE_FIELDS, link) for name in names)
    server.client.raw("POST", server.path("records/modify"), '{"zoneID":{"zoneName":"%s"},"operations":[%s]}' % (zone_id["zoneName"], operations))


def walk(server, zone_id):
    """Reads a zone's changes to the end. Answers the tokens, each with the records of the page behind it: a page keeps a commit whole, whatever was asked for."""
    found, asked = [], {"zoneID": zone_id, "resultsLimit": PAGE}
    while True:
        page = server.ask("changes/zone", {"zones": [asked]})["zones"][0]
        found.append((asked.get("syncToken"), len(page["records"])))
        if not page["moreComing"]:
            return found
        asked["syncToken"] = page["syncToken"]


def backfilled(guest, zone_id, count):
    """Waits until a guest finds so many records, and answers as `walk`."""
    deadline = time.monotonic() + BACKFILL_SECONDS_MAX
    while True:
        pages = walk(guest.shared, zone_id)
        found = sum(found for _, found in pages)
        if found >= count:
            return pages
        if time.monotonic() > deadline:
            raise RuntimeError(f"{found} of {count} records came in {BACKFILL_SECONDS_MAX} s")


# The lines


def pages(bench, server, guest):
    own = owner(server)
    for kind, root in (("a zone", None), ("a record and what hangs on it", "root")):
        here = zone(server, f"Pages-{root}")
        tree(server, here, RECORDS)
        guest.accept(share(server, here, [guest], root))
        seen = here | {"ownerRecordName": own}
        sides = {
            "owner": (server, here, walk(server, here)),
            "guest": (guest.shared, seen, backfilled(guest, seen, RECORDS)),
        }

        def run(name):
            side, zone_id, walked = sides[name]
            # The first has no token, and the last is not whole.
            whole = walked[1:-1]
            path = bench.path(f"{name}.txt")
            with open(path, "w") as file:
                file.write("".join(token + "\n" for token, _ in whole))
            text = load.script(PAGES, bench.path("load.lua"), side.token, path=side.path("changes/zone"), page=PAGE, tokens=path,
                               zone=json.dumps(zone_id))
            sample = load.run(side, text, READERS, bench.seconds, statistics.mean(count for _, count in whole))
            if sample.response_bytes < PAGE * len(records.BODY):
                raise RuntimeError(f"{name} was answered {sample.response_bytes} bytes")
            return sample

        samples = bench.take_turns({name: lambda name=name: run(name) for name in sides})
        cpu = {name: median(of_side, "cpu_microseconds") for name, of_side in samples.items()}
        line = report.Line.of_samples(f"a participant's pages of {PAGE} of {kind}, {READERS} connections", "records/s", {"nacre": samples["guest"]})
        line.targets = [report.Target(f"≤ {PAGE_CPU_MAX}× the owner's CPU of {cpu['owner']:.1f} µs", cpu["guest"] <= PAGE_CPU_MAX * cpu["owner"])]
        yield line


def saves(bench, server, guests):
    run = Runs(bench)
    for kind, root in (("a zone", None), ("a record", "root")):
        private, here = zone(server, f"Private-{root}"), zone(server, f"Shared-{root}")
        create(server, private, "root")
        create(server, here, "root")
        guid = share(server, here, guests, root)
        for guest in guests:
            guest.accept(guid)
        text = CREATES.replace('"recordType":"Note",', '"recordType":"Note","parent":{"recordName":"root"},') if root else CREATES

        def create_in(zone_id):
            return run(server, text, server.token, path=server.path("records/modify"), zone=zone_id["zoneName"], fields=records.NACRE_FIELDS)

        samples = bench.take_turns({"private": lambda: create_in(private), "shared": lambda: create_in(here)})
        cpu = {name: median(of_side, "cpu_microseconds") for name, of_side in samples.items()}
        line = report.Line.of_samples(
            f"single creates below {kind} that is shared with {PARTICIPANTS}, {WRITERS} connections" if root else
            f"single creates in {kind} that is shared with {PARTICIPANTS}, {WRITERS} connections", "records/s", {"nacre": samples["shared"]})
        line.targets = [report.Target(f"≤ {SAVE_CPU_MAX}× the CPU of {cpu['private']:.0f} µs in a private one", cpu["shared"] <= SAVE_CPU_MAX * cpu["private"])]
        yield line


def accepting(bench, server, guests):
    here = zone(server, "Large")
    tree(server, here, ACCEPTED_RECORDS)
    seen = here | {"ownerRecordName": owner(server)}
    guests = guests[:ACCEPTANCES]
    guid = share(server, here, guests, "root")
    # The first accepts while the share's rows are still being made.
    took, saving = [], []
    machine.wait_for_quiet(bench.quiet_seconds_max)
    for guest in guests:
        took.append(seconds(lambda: guest.accept(guid)))
    first = guests[0].shared.ask("changes/zone", {"zones": [{"zoneID": seen, "resultsLimit": PAGE}]})["zones"][0]
    if not first["records"]:
        raise RuntimeError("the first page after an acceptance has no records")
    backfilled(guests[0], seen, ACCEPTED_RECORDS)
    private = zone(server, "Saves")
    for number in range(SAVES):
        saving.append(seconds(lambda: create(server, private, f"s{number}")))
    accept, save = statistics.median(took) * 1000, statistics.median(saving) * 1000
    return report.Line(
        f"accepting a share of {ACCEPTED_RECORDS:,} records", "ms", accept,
        targets=[report.Target(f"≤ {ACCEPT_SAVES_MAX} saves of {save:.2f} ms", accept <= ACCEPT_SAVES_MAX * save)])


def seconds(work):
    start = time.monotonic()
    work()
    return time.monotonic() - start


def owner(server):
    return server.client.json("GET", server.path("users/caller"))["userRecordName"]
