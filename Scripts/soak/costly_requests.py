"""Requests of a few kilobytes that would cost the server seconds of work or hundreds of megabytes, if it let them."""

from harness import nacre

# How many at once, each on its own connection.
CLIENTS = 4
NUMBERS = 100_000
FILTERS = 49
VALUES = 250
# Values of one record may take a megabyte.
RECORD_BYTES = 990_000


def save(server, names, fields, record_type="Note", zone=nacre.ZONE, kind="forceReplace"):
    for name in names:
        server.ask("records/modify", {"zoneID": {"zoneName": zone}, "operations": [
            {"operationType": kind, "record": {"recordName": name, "recordType": record_type, "fields": fields}}]})


def texts(server, count, zone=nacre.ZONE):
    """So many records of a megabyte, named `big0` and on."""
    save(server, [f"big{number}" for number in range(count)], {"text": {"value": "x" * RECORD_BYTES}}, zone=zone)


def query_of_lists(first=0):
    """49 filters, each of which asks for 250 numbers that no list holds."""
    values = {"value": [-1 - number for number in range(first, first + VALUES)], "type": "INT64_LIST"}
    return {"zoneID": {"zoneName": nacre.ZONE}, "query": {"recordType": "Lists", "filterBy": [
        {"comparator": "NOT_LIST_CONTAINS_ANY", "fieldName": "numbers", "fieldValue": values}] * FILTERS}}


def lists(server):
    server.define("Lists", {"numbers": {"value": [1], "type": "INT64_LIST"}}, {"numbers": ["queryable"]})
    save(server, ["a", "b", "c"], {"numbers": {"value": list(range(NUMBERS)), "type": "INT64_LIST"}}, record_type="Lists")


def same_zone(count=200):
    return {"zones": [{"zoneID": {"zoneName": nacre.ZONE}}] * count}


def lookup(names):
    return {"zoneID": {"zoneName": nacre.ZONE}, "records": [{"recordName": name} for name in names]}


def stale_updates(names):
    """Each of them conflicts, and a conflict carries the server's record where details are wanted."""
    return {"zoneID": {"zoneName": nacre.ZONE}, "atomic": False, "nacre": {"details": True}, "operations": [
        {"operationType": "update", "record": {
            "recordName": name, "recordType": "Note", "recordChangeTag": "stale", "fields": {"note": {"value": "x"}}}} for name in names]}


def updates(names):
    """Each of them is done: of a record of a megabyte a small field is set."""
    return {"zoneID": {"zoneName": nacre.ZONE}, "atomic": False, "operations": [
        {"operationType": "forceUpdate", "record": {"recordName": name, "recordType": "Note", "fields": {"note": {"value": "x"}}}} for name in names]}


def deletions_that_fall(names, other):
    """All or nothing, and one of them conflicts."""
    deletions = [{"operationType": "forceDelete", "record": {"recordName": name}} for name in names]
    return {"zoneID": {"zoneName": nacre.ZONE}, "operations": deletions + stale_updates([other])["operations"]}


def zone_wide():
    """Of a hundred zones' records of a megabyte, one small field."""
    return {"zoneWide": True, "desiredKeys": ["number"], "resultsLimit": 200, "query": {"recordType": "Wide", "filterBy": [
        {"comparator": "GREATER_THAN_OR_EQUALS", "fieldName": "number", "fieldValue": {"value": 0}}]}}


def zones(server, count):
    """So many zones of ten records of a megabyte."""
    server.define("Wide", {"number": {"value": 1}, "text": {"value": "x"}}, {"number": ["queryable"]})
    for zone in range(count):
        name = f"zone{zone}"
        server.ask("zones/modify", {"operations": [{"operationType": "create", "zone": {"zoneID": {"zoneName": name}}}]})
        save(server, [f"r{number}" for number in range(10)], {"number": {"value": 1}, "text": {"value": "x" * RECORD_BYTES}}, "Wide", name)
