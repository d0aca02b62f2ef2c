"""What does the default cost? In development a field that comes with a save may be queried, sorted and searched; an index is made when a query needs it.

Records of eight fields with a text of 45 words, of a type that nobody defined, beside the same of a type without options. Then once more with the index of the words."""

import json

from harness import nacre, records, report
from harness.bench import median
from indexed_batches import RANDOM, THINGS, long_text
from single_creates import Runs

BATCH, CONNECTIONS_BATCH = nacre.BATCH, 8
CONNECTIONS_SINGLE = 64
SHARE_MIN = 0.8
SIZE_MAX = 1.3

WHERE_THE_TIME_GOES = """\
**The default.** A type whose fields have every option and no index made is saved as one without options: no index row is made. The words of a text are
kept too once a query has searched for one: in one row beside the save, until they are packed."""


def ask(bench):
    path = bench.path("records.txt")
    with open(path, "w") as file:
        for number in range(THINGS):
            file.write(json.dumps(fields(number), separators=(",", ":")) + "\n")
    servers = {name: bench.nacre(name=name) for name in ("none", "default", "words")}
    servers["none"].define("Thing", fields(0), {})
    save(servers["words"], "searched")
    servers["words"].make_indexes("Thing", "body", ["queryable", "sortable", "searchable"])
    servers["words"].wait_for_indexes()

    def run(name, connections, batch):
        server = servers[name]
        return Runs(bench, connections, batch)(
            server, RANDOM, server.token, path=server.path("records/modify"), zone=nacre.ZONE, batch=batch, things=path)

    singles = bench.take_turns({name: lambda name=name: run(name, CONNECTIONS_SINGLE, 1) for name in servers})
    batches = bench.take_turns({name: lambda name=name: run(name, CONNECTIONS_BATCH, BATCH) for name in servers})
    if servers["default"].schema()["indexed"]:
        raise RuntimeError("an index was made that nobody asked for")
    lines = []
    for samples, what in ((singles, f"single creates, {CONNECTIONS_SINGLE} connections"), (batches, f"batches of {BATCH}")):
        for name, text in TEXTS.items():
            line = report.Line.of_samples(f"{what}, {text}", "records/s", {"nacre": samples[name]})
            if name == "default":
                line.targets = [report.Target(
                    f"≥ {SHARE_MIN}× the rate without", median(samples[name]) >= SHARE_MIN * median(samples["none"]))]
            lines.append(line)
    sizes = {name: server.megabytes() * 1e6 / server.record_count() for name, server in servers.items()}
    for name, text in TEXTS.items():
        targets = [report.Target(f"≤ {SIZE_MAX}× the size without", sizes[name] <= SIZE_MAX * sizes["none"])] if name == "default" else []
        lines.append(report.Line(f"disk for each record, {text}", "bytes", sizes[name], targets=targets))
    return report.Answer(lines)


def fields(number):
    return json.loads(records.NACRE_FIELDS) | {"body": long_text(number)["text"]}


def save(server, name):
    server.ask("records/modify", {"zoneID": {"zoneName": nacre.ZONE}, "operations": [
        {"operationType": "create", "record": {"recordName": name, "recordType": "Thing", "fields": fields(0)}}]})


TEXTS = {
    "none": "a text of 45 words and no options",
    "default": "a text of 45 words and the default options",
    "words": "a text of 45 words that was searched",
}
