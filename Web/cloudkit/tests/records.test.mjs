import assert from "node:assert/strict";
import { before, test } from "node:test";

import { CKError, QueryResponse, RecordsResponse, toRecordReference } from "../src/module.js";
import { collected, refusal, startCloud } from "./support/cloud.mjs";

let cloud, database;
before(async () => {
    cloud = await startCloud();
    database = (await cloud.signedIn("ada@example.com")).privateCloudDatabase;
    await database.saveRecordZones(["Notes", "Pages", "Batch"]);
});

const note = (fields, more = {}) => ({ recordType: "Note", fields, ...more });

test("a record is saved, fetched by its name, changed by its tag and deleted", async () => {
    const saved = await database.saveRecords(note({ text: { value: "bread" }, stars: { value: 4 } }), { zoneID: "Notes" });
    assert.ok(saved instanceof RecordsResponse && saved.isRecordsResponse && !saved.hasErrors);
    const [record] = saved.records;
    assert.deepEqual(record.fields.stars, { value: 4, type: "INT64" });
    record.fields.text.value = "wine";
    const [changed] = (await database.saveRecords(record)).records;
    assert.notEqual(changed.recordChangeTag, record.recordChangeTag);
    const [found] = (await database.fetchRecords(record.recordName, { zoneID: "Notes" })).records;
    assert.deepEqual([found.fields.text.value, found.fields.stars.value, found.zoneID.zoneName], ["wine", 4, "Notes"]);
    assert.equal((await database.deleteRecords(found)).records[0].deleted, true);
    const gone = await database.fetchRecords([record.recordName], { zoneID: "Notes" });
    assert.ok(gone.hasErrors && gone.records.length === 0);
    assert.deepEqual([gone.errors[0].ckErrorCode, gone.errors[0].recordName], [CKError.NOT_FOUND, record.recordName]);
});

test("a save over another version is a conflict, which brings the server's record", async () => {
    const [mine] = (await database.saveRecords(note({ text: "first" }))).records;
    await database.saveRecords({ ...mine, fields: { text: "theirs" } });
    const { errors: [error], records } = await database.saveRecords({ ...mine, fields: { text: "mine" } });
    assert.equal(records.length, 0);
    assert.ok(error instanceof CKError && error instanceof Error && error.isCKError && error.isServerError);
    assert.equal(error.ckErrorCode, "CONFLICT");
    assert.equal(error.serverRecord.fields.text.value, "theirs");
    const merged = await database.saveRecords({ ...error.serverRecord, fields: { text: "both" } });
    assert.equal(merged.records[0].fields.text.value, "both");
});

test("a deletion by a tag that is old is a conflict, and a name alone deletes any version", async () => {
    const [old] = (await database.saveRecords(note({ text: "a" }))).records;
    await database.saveRecords({ ...old, fields: { text: "b" } });
    assert.equal((await database.deleteRecords(old)).errors[0].ckErrorCode, "CONFLICT");
    assert.equal((await database.deleteRecords(old.recordName)).records[0].deleted, true);
});

test("an item that fails is among the errors, and the others are saved", async () => {
    const answer = await database.saveRecords([note({ text: "good" }), note({ text: { value: 3, type: "INT64" } }, { recordName: "bad" })]);
    assert.deepEqual(answer.records.map((record) => record.fields.text.value), ["good"]);
    assert.deepEqual(answer.errors.map((error) => [error.ckErrorCode, error.recordName]), [["BAD_REQUEST", "bad"]]);
});

test("an atomic batch is saved whole or not at all", async () => {
    const batch = database.newRecordsBatch({ zoneID: "Batch", atomic: true })
        .create(note({ text: "a" }, { recordName: "kept" })).create(note({ text: 3 }, { recordName: "refused" }));
    const codes = await batch.commit().then((answer) => answer.errors.map((error) => error.ckErrorCode), (error) => [error.ckErrorCode]);
    assert.ok(codes.includes("ATOMIC_ERROR"), `${codes}`);
    assert.equal((await database.fetchRecords("kept", { zoneID: "Batch" })).errors[0].ckErrorCode, "NOT_FOUND");
});

test("a batch has every operation, in order", async () => {
    const zoneID = "Batch";
    const [one, two, three, four] = (await database.newRecordsBatch({ zoneID }).create(["1", "2", "3", "4"].map((recordName) => (
        note({ text: recordName, stars: 1 }, { recordName })))).commit()).records;
    const text = (record, value) => ({ ...record, fields: { text: { value } } });
    const answer = await database.newRecordsBatch({ zoneID, desiredKeys: ["text", "stars"] })
        .update(text(one, "updated")).replace(text(two, "replaced")).delete(three).forceDelete(four.recordName)
        .forceUpdate(note({ text: "made" }, { recordName: "5" })).forceReplace(note({ text: "made too" }, { recordName: "6" }))
        .createOrUpdate(note({ text: "new" }, { recordName: "7" }), { desiredKeys: [] }).commit();
    assert.deepEqual(answer.errors, []);
    assert.deepEqual(answer.records.map((record) => [record.fields?.text?.value, record.fields?.stars?.value, record.deleted]), [
        ["updated", 1, false], ["replaced", undefined, false], [undefined, undefined, true], [undefined, undefined, true],
        ["made", undefined, false], ["made too", undefined, false], [undefined, undefined, false],
    ]);
});

test("dates, bytes, places, references and lists come back as they were saved", async () => {
    const at = new Date("2026-03-04T05:06:07.089Z");
    const friend = (await database.saveRecords(note({ text: "friend" }))).records[0];
    const [saved] = (await database.saveRecords(note({
        at, moments: [at, new Date(0)], data: new Uint8Array([1, 2, 255]), place: { latitude: 52.5, longitude: 13.4 },
        price: { value: 2, type: "DOUBLE" }, tags: ["a", "b"], friend: toRecordReference(friend.recordName), text: { value: "x" }, stars: null,
    }))).records;
    const { fields } = (await database.fetchRecords(saved)).records[0];
    assert.deepEqual(fields.at, { value: at.getTime(), type: "TIMESTAMP" });
    assert.deepEqual(fields.moments, { value: [at.getTime(), 0], type: "TIMESTAMP_LIST" });
    assert.deepEqual(fields.data, { value: "AQL/", type: "BYTES" });
    assert.deepEqual([fields.place.value.latitude, fields.place.value.longitude], [52.5, 13.4]);
    assert.deepEqual(fields.price, { value: 2, type: "DOUBLE" });
    assert.deepEqual(fields.tags.value, ["a", "b"]);
    assert.deepEqual([fields.friend.value.recordName, fields.friend.value.action], [friend.recordName, "NONE"]);
    assert.equal(fields.stars, undefined);
});

test("a date that a page changes in a record of an answer is the one that is saved", async () => {
    const [saved] = (await database.saveRecords(note({ at: new Date(1000) }))).records;
    saved.fields.at.value = 2000;
    assert.equal((await database.saveRecords(saved)).records[0].fields.at.value, 2000);
});

test("numbers beyond 2^53 are exact as texts", async () => {
    const stars = { value: "9007199254740993", type: "INT64" };
    const saved = await database.saveRecords(note({ stars }), { numbersAsStrings: true });
    assert.equal(saved.numbersAsStrings, true);
    assert.equal(saved.records[0].fields.stars.value, stars.value);
    assert.equal((await database.fetchRecords(saved.records[0], { numbersAsStrings: true })).records[0].fields.stars.value, stars.value);
});

test("a query's page is followed by the next one, with the same query and options", async () => {
    await database.saveRecords([1, 2, 3, 4, 5].map((stars) => note({ text: `page ${stars}`, stars, price: 0.5 })), { zoneID: "Pages" });
    const query = { recordType: "Note", filterBy: { fieldName: "stars", comparator: "GREATER_THAN", fieldValue: 1 }, sortBy: { fieldName: "stars" } };
    const options = { zoneID: "Pages", resultsLimit: 2, desiredKeys: ["stars"] };
    const first = await database.performQuery(query, options);
    assert.ok(first instanceof QueryResponse && first.isQueryResponse && first.moreComing && typeof first.continuationMarker === "string");
    assert.deepEqual([first.query, first.zoneID, first.resultsLimit, first.desiredKeys], [query, { zoneName: "Pages" }, 2, ["stars"]]);
    const second = await database.performQuery(first, { resultsLimit: 1 });
    const third = await database.performQuery(second);
    const shown = [first, second, third].map((page) => page.records.map((record) => record.fields.stars.value));
    assert.deepEqual(shown, [[2, 3], [4], [5]]);
    assert.ok([first, second, third].every((page) => page.records.every((record) => record.fields.text === undefined)));
    const stars = (await collected(database.queryRecords(query, options))).map((record) => record.fields.stars.value);
    assert.deepEqual(stars, [2, 3, 4, 5]);
    assert.ok((await collected(database.queryPages(query, options))).length >= 2);
});

test("a page without a next one is not asked for one", async () => {
    const page = await database.performQuery({ recordType: "Note" }, { zoneID: "Notes" });
    assert.equal((await refusal(database.performQuery(page))).ckErrorCode, "INVALID_ARGUMENTS");
});

test("a query by a date compares with the date", async () => {
    await database.saveRecords(note({ at: new Date(5000), text: "then" }), { zoneID: "Pages" });
    const { records } = await database.performQuery({
        recordType: "Note", filterBy: [{ fieldName: "at", comparator: "EQUALS", fieldValue: { value: new Date(5000) } }],
    }, { zoneID: "Pages" });
    assert.deepEqual(records.map((record) => record.fields.text.value), ["then"]);
});

test("a request that fails as a whole rejects, with the server's words and what to do", async () => {
    const query = { recordType: "Note", filterBy: [{ fieldName: "price", comparator: "EQUALS", fieldValue: { value: 1.5 } }] };
    const error = await refusal(database.performQuery(query));
    assert.ok(error instanceof CKError);
    assert.deepEqual([error.ckErrorCode, error.serverErrorCode], ["BAD_REQUEST", "BAD_REQUEST"]);
    assert.equal(error.reason, "Field 'price' is not marked queryable");
    assert.ok(error.uuid && error.remedy);
    assert.equal(JSON.parse(JSON.stringify(error)).reason, error.reason);
});

test("a request ends when its signal says so", async () => {
    const abort = new AbortController();
    abort.abort(new Error("enough"));
    assert.equal((await refusal(database.fetchRecords("a", { signal: abort.signal }))).message, "enough");
});

test("arguments that are not valid reject, and nothing is sent", async () => {
    let count = 0;
    const { publicCloudDatabase } = cloud.container({ services: { fetch: () => { count += 1; } } });
    const wrong = [
        () => publicCloudDatabase.fetchRecords({}), () => publicCloudDatabase.saveRecords(7), () => publicCloudDatabase.saveRecordZones({}),
        () => publicCloudDatabase.performQuery("Note"), () => publicCloudDatabase.deleteSubscriptions([null]),
        () => publicCloudDatabase.saveRecords(note({ at: new Date(NaN) })), () => publicCloudDatabase.saveRecords(note({ price: NaN })),
        () => publicCloudDatabase.fetchRecordZoneChanges({}), () => publicCloudDatabase.fetchAllRecordZones("all"),
    ];
    for (const call of wrong) assert.equal((await refusal(call())).ckErrorCode, "INVALID_ARGUMENTS", `${call}`);
    assert.equal(count, 0);
});
