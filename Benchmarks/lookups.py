"""How many records can 64 clients look up by name, one a request?"""

from harness import load, nacre, records, report

CONNECTIONS = 64
RECORDS = 20_000

NACRE = """
function request()
    return request_text("POST", "@PATH@", string.format('{"zoneID":{"zoneName":"@ZONE@"},"records":[{"recordName":"r%014d"}]}', math.random(0, @LAST@)))
end
"""

POCKETBASE = """
function request() return get_text(string.format("/api/collections/notes/records/r%014d", math.random(0, @LAST@))) end
"""


WHERE_THE_TIME_GOES = """\
**Lookups.** Two thirds of a lookup's CPU are on the HTTP loop and one third on readers; SQLite takes 15 %. A request is one `recv` and one `send`, and its share of waking a reader and the loop. One
loop serves all connections and is full while a seventh of two cores idles. With `loopCount` 2 a quiet machine answered 41,400 lookups a second instead of 38,600 and 25 %
more feed pages, but 12 % fewer batches: threads of the server then wait for each other's cores. What would help everywhere is an answer that does not change
threads: a reader on the loop itself for what lies in memory, which would save the wake-ups."""


def ask(bench):
    server, other = bench.nacre(RECORDS), bench.pocketbase(RECORDS)
    raw = bench.ceiling(server)
    known = server.ask("records/lookup", {"zoneID": {"zoneName": nacre.ZONE}, "records": [{"recordName": records.name(RECORDS - 1)}]})
    if known["records"][0]["fields"]["title"]["value"] != records.TITLE:
        raise RuntimeError(f"not the record that was saved: {known}")

    def run(side, text, token, **values):
        sample = load.run(side, load.script(text, bench.path("load.lua"), token, last=RECORDS - 1, **values), CONNECTIONS, bench.seconds)
        # A body that short would be an error inside a good answer.
        if sample.response_bytes < len(records.BODY):
            raise RuntimeError(f"{side.name} answered {sample.response_bytes} bytes")
        return sample

    samples = bench.take_turns({
        "nacre": lambda: run(server, NACRE, server.token, path=server.path("records/lookup"), zone=nacre.ZONE),
        "pocketbase": lambda: run(other, POCKETBASE, None),
        "raw": lambda: raw.run("lookups", bench.seconds, 1),
    })
    line = report.Line.of_samples(f"lookups by name, {CONNECTIONS} connections", "records/s", samples, times_pocketbase=3)
    return report.Answer([line], [bench.memory(each) | {"what": line.what} for each in (server, other)])
