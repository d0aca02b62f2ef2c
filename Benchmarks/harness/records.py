"""The record that everybody saves: eight fields, about 500 bytes as JSON, the same values on all sides."""

import json

TITLE = "The quick brown fox jumps over the lazy dog"
BODY = "lorem ipsum " * 20
LINK = "https://example.com/notes"
MILLISECONDS = 1662388216238

NACRE_FIELDS = json.dumps({
    "title": {"value": TITLE, "type": "STRING"},
    "body": {"value": BODY, "type": "STRING"},
    "count": {"value": 42, "type": "INT64"},
    "price": {"value": 3.25, "type": "DOUBLE"},
    "when": {"value": MILLISECONDS, "type": "TIMESTAMP"},
    "tags": {"value": ["a", "b"], "type": "STRING_LIST"},
    "done": {"value": 1, "type": "INT64"},
    "link": {"value": LINK, "type": "STRING"},
}, separators=(",", ":"))

# Without the braces: a caller may put an id before them.
POCKETBASE_FIELDS = json.dumps({
    "title": TITLE, "body": BODY, "count": 42, "price": 3.25, "when": "2022-09-05 14:30:16.238Z", "tags": ["a", "b"], "done": True, "link": LINK,
}, separators=(",", ":"))[1:-1]


def name(number):
    """A record name that both servers take; PocketBase wants 15 of a-z and 0-9."""
    return f"r{number:014d}"
