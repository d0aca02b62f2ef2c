"""What queries look for: records of ten fields of which no two are alike, the same on all sides.

Each of 1,000 shelves holds a thousandth of the things; ranks are different; one word of the text is shared by a thousandth, one by all; places
lie in a square of some 560 km, so that a circle of 10 km around one holds about a thousandth, too.
"""

import json
import random

from . import nacre, records

SHELVES = 1000
WORDS = 1000
# Degrees: about 560 km each way.
SQUARE = (5.0, 7.6)
CORNER = (47.0, 10.0)


class Thing:
    def __init__(self, number):
        chance = random.Random(number)
        self.name = records.name(number)
        self.shelf = f"shelf {number % SHELVES:04d}"
        self.rank = chance.randrange(1 << 40)
        self.price = round(chance.random() * 1000, 2)
        self.milliseconds = records.MILLISECONDS + chance.randrange(1 << 36)
        self.place = (CORNER[0] + chance.random() * SQUARE[0], CORNER[1] + chance.random() * SQUARE[1])
        self.text = f"{word(chance.randrange(WORDS))} of a kind"

    def nacre_fields(self):
        return {
            "shelf": {"value": self.shelf, "type": "STRING"},
            "rank": {"value": self.rank, "type": "INT64"},
            "price": {"value": self.price, "type": "DOUBLE"},
            "when": {"value": self.milliseconds, "type": "TIMESTAMP"},
            "place": {"value": {"latitude": self.place[0], "longitude": self.place[1]}, "type": "LOCATION"},
            "text": {"value": self.text, "type": "STRING"},
            "title": {"value": records.TITLE, "type": "STRING"},
            "body": {"value": records.BODY, "type": "STRING"},
        }

    def pocketbase_fields(self):
        return {"shelf": self.shelf, "rank": self.rank, "price": self.price, "when": "2022-09-05 14:30:16.238Z", "text": self.text,
                "place": {"lat": self.place[0], "lon": self.place[1]}, "title": records.TITLE, "body": records.BODY}


def word(number):
    """A word of its own: letters only, so that it is one token everywhere."""
    letters = []
    for _ in range(4):
        number, rest = divmod(number, 26)
        letters.append(chr(ord("a") + rest))
    return "w" + "".join(letters)


# Which indexes the queries need; all others would only cost.
INDEXED = {"shelf": ["queryable", "sortable"], "rank": ["queryable", "sortable"], "price": ["queryable", "sortable"], "when": ["queryable", "sortable"]}
PLACED = {"place": ["queryable", "sortable"]}
WORDED = {"text": ["searchable"]}


def seed_nacre(server, first, last, zone=nacre.ZONE, make=Thing):
    for start in range(first, last, nacre.BATCH):
        operations = [
            {"operationType": "create", "record": {"recordName": thing.name, "recordType": "Thing", "fields": thing.nacre_fields()}}
            for thing in map(make, range(start, min(start + nacre.BATCH, last)))]
        server.client.raw("POST", server.path("records/modify"), json.dumps({"zoneID": {"zoneName": zone}, "operations": operations}))


def seed_pocketbase(other, count, make=Thing):
    for start in range(0, count, nacre.BATCH):
        requests = [
            {"method": "POST", "url": "/api/collections/things/records", "body": {"id": thing.name} | thing.pocketbase_fields()}
            for thing in map(make, range(start, min(start + nacre.BATCH, count)))]
        other.client.raw("POST", "/api/batch", json.dumps({"requests": requests}))
