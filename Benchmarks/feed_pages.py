"""How fast do 64 clients read the changes of a zone, in pages of 200 from different places?

PocketBase has no feed; what an app would do instead is to page through the collection. Both ways are tried, and the faster one counts.
"""

from harness import load, nacre, records, report
from harness.bench import median

CONNECTIONS = 64
PAGE = 200
RECORDS = 20_000

NACRE = """
local tokens = lines_of("@TOKENS@")
function request()
    return request_text("POST", "@PATH@", '{"zones":[{"zoneID":{"zoneName":"@ZONE@"},"resultsLimit":@PAGE@,"syncToken":"' .. tokens[math.random(#tokens)] .. '"}]}')
end
"""

BY_OFFSET = """
function request()
    return get_text("/api/collections/notes/records?perPage=@PAGE@&skipTotal=1&page=" .. math.random(1, @PAGES@))
end
"""

BY_KEY = """
function request()
    return get_text(string.format("/api/collections/notes/records?perPage=@PAGE@&skipTotal=1&sort=id&filter=(id%%3E'r%014d')", math.random(0, @LAST@)))
end
"""


def ask(bench):
    server, other = bench.nacre(RECORDS), bench.pocketbase(RECORDS)
    raw = bench.ceiling(server)
    with open(bench.path("tokens.txt"), "w") as file:
        file.write("\n".join(tokens(server)) + "\n")

    def run(side, text, token, **values):
        values |= {"page": PAGE, "pages": RECORDS // PAGE, "last": RECORDS - PAGE - 1}
        sample = load.run(side, load.script(text, bench.path("load.lua"), token, **values), CONNECTIONS, bench.seconds, PAGE)
        if sample.response_bytes < PAGE * len(records.BODY):
            raise RuntimeError(f"{side.name} answered {sample.response_bytes} bytes")
        return sample

    samples = bench.take_turns({
        "nacre": lambda: run(
            server, NACRE, server.token, path=server.path("changes/zone"), zone=nacre.ZONE, tokens=bench.path("tokens.txt")),
        "offset": lambda: run(other, BY_OFFSET, None),
        "key": lambda: run(other, BY_KEY, None),
        "raw": lambda: page_rows(raw, bench.seconds),
    })
    by_offset, by_key = samples.pop("offset"), samples.pop("key")
    samples["pocketbase"] = max(by_offset, by_key, key=median)
    line = report.Line.of_samples(f"feed pages of {PAGE}, {CONNECTIONS} connections", "records/s", samples, times_pocketbase=2)
    remark = (f"PocketBase reads pages of {PAGE} at {report.figure(median(by_offset))} records/s by offset and "
              f"{report.figure(median(by_key))} by key; the table has the better.")
    return report.Answer([line], [bench.memory(each) | {"what": line.what} for each in (server, other)], [remark])


def page_rows(raw, seconds):
    """The ceiling counts pages; a line counts records."""
    sample = raw.run("pages", seconds, PAGE)
    return load.Sample(sample.per_second * PAGE, sample.cpu_microseconds / PAGE, sample.foreign_share)


def tokens(server):
    """Walks the feed once. Behind each token lies a whole page."""
    found = []
    asked = {"zoneID": {"zoneName": nacre.ZONE}, "resultsLimit": PAGE}
    while True:
        page = server.ask("changes/zone", {"zones": [asked]})["zones"][0]
        if len(page["records"]) != PAGE:
            raise RuntimeError(f"a page of {len(page['records'])} records")
        if not page["moreComing"]:
            return found
        asked["syncToken"] = page["syncToken"]
        found.append(page["syncToken"])
