import assert from "node:assert/strict";
import { test } from "node:test";

import { readSchema } from "../js/ckdb.js";
import { filters, parse, print, PredicateError, request } from "../js/predicate.js";

const fields = { stars: { type: "INT64" }, title: { type: "STRING" }, tags: { type: "STRING", isList: true }, due: { type: "TIMESTAMP" }, folder: { type: "REFERENCE" } };

test("a predicate is written again as it was read", () => {
    for (const text of ["stars > 3", "NOT title BEGINSWITH \"a \\\"b\\\"\" AND stars IN {1, -2.5}", "place NEAR {45.4, 12.3, 500}", "tags CONTAINS \"AND\"", ""]) assert.equal(print(parse(text)), text);
});

test("other spellings mean the same", () => {
    const tags = [{ field: "tags", operator: "CONTAINS", value: "food", isNot: false }];
    assert.deepEqual(parse("'food' IN tags"), tags);
    assert.deepEqual(parse("ANY tags == 'food'"), tags);
    assert.deepEqual(parse("NOT (NOT tags contains 'food')"), tags);
    assert.deepEqual(parse("TRUEPREDICATE"), []);
    assert.deepEqual(parse("done = YES && stars <> 2").map((one) => [one.operator, one.value]), [["=", 1], ["!=", 2]]);
});

test("what CloudKit cannot ask is refused with the place of the fault", () => {
    for (const [text, at] of [["stars > 3 OR stars < 1", 10], ["stars >", 7], ["stars 3", 6], ["title = bread", 8], ["a = 1 b = 2", 6], ["a IN {1", 7]]) {
        assert.throws(() => parse(text), (error) => error instanceof PredicateError && error.at === at, text);
    }
});

test("filters have the comparator and the type of the field", () => {
    const of = (text) => filters(parse(text), fields)[0];
    assert.deepEqual(of("stars > 3"), { fieldName: "stars", comparator: "GREATER_THAN", fieldValue: { value: 3, type: "INT64" } });
    assert.deepEqual(of("NOT stars > 3").comparator, "LESS_THAN_OR_EQUALS");
    assert.deepEqual(of("tags CONTAINS 'a'"), { fieldName: "tags", comparator: "LIST_CONTAINS", fieldValue: { value: "a", type: "STRING" } });
    assert.deepEqual(of("NOT tags CONTAINS {'a', 'b'}"), { fieldName: "tags", comparator: "NOT_LIST_CONTAINS_ALL", fieldValue: { value: ["a", "b"], type: "STRING_LIST" } });
    assert.deepEqual(of("title IN {'a'}"), { fieldName: "title", comparator: "IN", fieldValue: { value: ["a"], type: "STRING_LIST" } });
    assert.deepEqual(of("due >= '2026-01-31T00:00:00Z'").fieldValue, { value: 1769817600000, type: "TIMESTAMP" });
    assert.deepEqual(of("folder = 'home'").fieldValue, { value: { recordName: "home" }, type: "REFERENCE" });
    assert.deepEqual(of("recordName = 'a'").fieldName, "___recordID");
    assert.deepEqual(of("self CONTAINS 'sea'"), { comparator: "CONTAINS_ALL_TOKENS", fieldValue: { value: "sea", type: "STRING" } });
    assert.throws(() => of("due > 'soon'"), PredicateError);
    assert.throws(() => of("stars > 'many'"), PredicateError);
});

test("a request names its zone only where it is not the default one", () => {
    assert.deepEqual(request({ type: "Note", zone: "*", sort: "-stars", limit: 10 }), { zoneWide: true, query: { recordType: "Note", sortBy: [{ fieldName: "stars", ascending: false }] }, resultsLimit: 10 });
    assert.deepEqual(request({ type: "Note", zone: "_defaultZone" }), { query: { recordType: "Note" }, resultsLimit: 200 });
    assert.deepEqual(request({ type: "Note", zone: "Work", marker: "m" }).zoneID, { zoneName: "Work" });
});

test("a schema is read with its types, lists, options, grants and roles", () => {
    const schema = readSchema("DEFINE SCHEMA\nCREATE ROLE Editor;\nRECORD TYPE \"my note\" ( -- a note\n\"___recordID\" REFERENCE QUERYABLE, tags LIST<STRING> QUERYABLE SORTABLE, secret ENCRYPTED LIST<INT64>,"
        + " GRANT READ, WRITE TO \"_creator\", GRANT CREATE TO Editor);");
    assert.deepEqual(schema.roles, ["Editor"]);
    assert.equal(schema.types[0].name, "my note");
    assert.deepEqual(schema.types[0].fields.map((field) => [field.name, field.type, field.isList, field.isEncrypted, field.options.join()]),
        [["___recordID", "REFERENCE", false, false, "QUERYABLE"], ["tags", "STRING", true, false, "QUERYABLE,SORTABLE"], ["secret", "INT64", true, true, ""]]);
    assert.deepEqual(schema.types[0].grants, [{ permissions: ["READ", "WRITE"], role: "_creator" }, { permissions: ["CREATE"], role: "Editor" }]);
});
