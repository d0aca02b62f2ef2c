import assert from "node:assert/strict";
import { before, test } from "node:test";

import { collected, refusal, startCloud } from "./support/cloud.mjs";
import { deviceOf, fetched, saved, secret } from "./support/secrets.mjs";

let cloud;
before(async () => { cloud = await startCloud(); });

/** A device of a new user. */
async function newDevice(email) {
    await cloud.makeUser(email);
    return deviceOf(cloud, email);
}

const values = ({ fields }) => Object.fromEntries(Object.entries(fields).map(([name, { value }]) => [name, value]));

test("values of each type are sealed on their way and opened in every answer", async () => {
    const device = await newDevice("types@example.com");
    const zoneID = { zoneName: "Types" };
    await device.database.saveRecordZones(zoneID);
    const at = new Date(1_700_000_000_123);
    const invalid = { verticalAccuracy: -1, course: -1, speed: -1 };
    const place = { latitude: 52.5, longitude: 13.25, altitude: 0, horizontalAccuracy: 5, ...invalid, timestamp: 7000 };
    const record = await saved(device, {
        fields: {
            title: "plain", diagnosis: secret("flu"), count: secret(4, "INT64"), tags: secret(["a", "b"]), at: secret(at),
            data: secret(Uint8Array.of(1, 2)), place: secret(place),
        },
    }, { zoneID });
    const expected = { title: "plain", diagnosis: "flu", count: 4, tags: ["a", "b"], at: at.getTime(), data: "AQI=", place };
    assert.deepEqual(values(record), expected);
    assert.deepEqual(record.fields.tags, { value: ["a", "b"], type: "STRING_LIST", isEncrypted: true });
    assert.deepEqual(values(await fetched(device, record.recordName, { zoneID })), expected);
    assert.deepEqual((await fetched(device, record.recordName, { zoneID, numbersAsStrings: true })).fields.count.value, "4");
    assert.deepEqual(values(await fetched(device, record.recordName, { zoneID, desiredKeys: ["diagnosis"] })), { diagnosis: "flu" });
    const [page] = await collected(device.database.recordZoneChanges({ zoneID }));
    assert.deepEqual(page.records.map(values), [expected]);
    for (const { endpoint, body } of device.sent) assert.doesNotMatch(body ?? "", /flu|"AQI="|52\.5/, endpoint);
    const { privateCloudDatabase } = await cloudWithout("types@example.com");
    const { records: [sealed] } = await privateCloudDatabase.fetchRecords(record.recordName, { zoneID });
    assert.ok(sealed.fields.diagnosis.isEncrypted && sealed.fields.diagnosis.value.length > 100);
});

/** The user's container without the module. */
async function cloudWithout(email) {
    const container = cloud.container();
    await container.signIn(await cloud.webAuthToken(email));
    return container;
}

test("queries answer opened values", async () => {
    const device = await newDevice("query@example.com");
    await saved(device, { recordType: "Note", fields: { text: "one", hidden: secret("x") } });
    const { records } = await device.database.performQuery({ recordType: "Note" });
    assert.deepEqual(records.map(values), [{ text: "one", hidden: "x" }]);
});

test("a save of some fields leaves the others, null clears one, and a replacement has its own alone", async () => {
    const device = await newDevice("fields@example.com");
    const record = await saved(device, { fields: { diagnosis: secret("flu"), count: secret(1, "INT64") } });
    const { recordName, recordType, manifest } = record;
    const updated = await saved(device, { ...record, fields: { count: secret(2, "INT64") } });
    assert.deepEqual(values(await fetched(device, recordName)), { diagnosis: "flu", count: 2 });
    assert.notEqual(updated.manifest, manifest);
    const cleared = await saved(device, { ...updated, fields: { diagnosis: null } });
    assert.deepEqual(values(await fetched(device, recordName)), { count: 2 });
    const { records: [replaced] } = await device.database.newRecordsBatch().replace({ ...cleared, fields: { diagnosis: secret("cold") } }).commit();
    assert.deepEqual(values(await fetched(device, recordName)), { diagnosis: "cold" });
    // Without the manifest, the library asks the server for it.
    await device.database.newRecordsBatch().forceUpdate({ recordName, recordType, fields: { count: secret(3, "INT64") } }).commit();
    assert.deepEqual(values(await fetched(device, recordName)), { diagnosis: "cold", count: 3 });
    assert.equal((await refusal(saved(device, replaced))).ckErrorCode, "CONFLICT");
    const { records: [bare] } = await device.database.newRecordsBatch().forceReplace({ recordName, recordType, fields: { title: "plain" } }).commit();
    assert.deepEqual(values(bare), { title: "plain" });
    assert.deepEqual(values(await fetched(device, recordName)), { title: "plain" });
});

test("a parent is bound to the record's values, and can change with and without them", async () => {
    const device = await newDevice("parent@example.com");
    await device.database.saveRecordZones({ zoneName: "Tree" });
    const inZone = { zoneID: { zoneName: "Tree" } };
    for (const recordName of ["one", "two"]) await saved(device, { recordName, recordType: "Note", fields: {} }, inZone);
    const child = await saved(device, { parent: { recordName: "one" }, fields: { diagnosis: secret("flu") } }, inZone);
    assert.equal(child.parent.recordName, "one");
    const moved = await saved(device, { ...child, parent: { recordName: "two" }, fields: {} }, inZone);
    assert.deepEqual(values(await fetched(device, child.recordName, inZone)), { diagnosis: "flu" });
    const { parent, manifest, ...unknown } = moved;
    const back = await saved(device, { ...unknown, parent: { recordName: "one" }, fields: {} }, inZone);
    assert.equal(back.parent.recordName, "one");
    device.change = (endpoint, answer) => {
        for (const record of answer.records ?? []) record.parent = { recordName: "two" };
        return answer;
    };
    assert.match((await refusal(fetched(device, child.recordName, inZone))).reason, /not those that were saved together/);
});

test("a conflict brings the other version opened, and the save over it succeeds", async () => {
    const device = await newDevice("conflict@example.com");
    const record = await saved(device, { fields: { diagnosis: secret("flu") } });
    await saved(device, { ...record, fields: { diagnosis: secret("cold") } });
    const error = await refusal(saved(device, { ...record, fields: { diagnosis: secret("angina") } }));
    assert.deepEqual([error.ckErrorCode, error.serverRecord.fields.diagnosis.value], ["CONFLICT", "cold"]);
    await saved(device, { ...error.serverRecord, fields: { diagnosis: secret("angina") } });
    assert.equal((await fetched(device, record.recordName)).fields.diagnosis.value, "angina");
});

test("a batch seals and deletes records of one zone together, also atomically", async () => {
    const device = await newDevice("batch@example.com");
    await device.database.saveRecordZones({ zoneName: "Batch" });
    const options = { zoneID: "Batch", atomic: true };
    const create = (recordName) => ({ recordName, recordType: "Secret", fields: { diagnosis: secret(recordName) } });
    const first = await device.database.newRecordsBatch(options).create([create("a"), create("b")]).commit();
    assert.deepEqual(first.records.map(values), [{ diagnosis: "a" }, { diagnosis: "b" }]);
    const changed = { ...first.records[0], fields: { diagnosis: secret("c") } };
    const second = await device.database.newRecordsBatch(options).update(changed).forceDelete("b").commit();
    assert.deepEqual(second.records.map((record) => [record.recordName, record.deleted]), [["a", false], ["b", true]]);
    // The record is made again, and owes nothing to the one before.
    assert.deepEqual(values(await saved(device, create("b"), { zoneID: "Batch" })), { diagnosis: "b" });
    await device.database.deleteRecordZones("Batch");
    await device.database.saveRecordZones({ zoneName: "Batch" });
    assert.deepEqual(values(await saved(device, create("a"), { zoneID: "Batch" })), { diagnosis: "a" });
});

test("encrypted values in the public database, and in a zone of nobody's or of another user's, are refused before anything is sent", async () => {
    const device = await newDevice("places@example.com");
    const { publicCloudDatabase, sharedCloudDatabase, privateCloudDatabase } = device.container;
    const before = device.sent.length;
    const record = { recordType: "Secret", fields: { diagnosis: secret("flu") } };
    for (const database of [publicCloudDatabase, sharedCloudDatabase]) {
        assert.equal((await refusal(database.saveRecords(record))).ckErrorCode, "INVALID_ARGUMENTS");
    }
    const other = { zoneName: "Notes", ownerRecordName: "_other" };
    assert.equal((await refusal(privateCloudDatabase.saveRecords(record, { zoneID: other }))).ckErrorCode, "INVALID_ARGUMENTS");
    const untyped = { ...record, fields: { count: secret(1) } };
    assert.match((await refusal(privateCloudDatabase.saveRecords(untyped))).reason, /needs a type, such as INT64/);
    assert.ok(!device.sent.slice(before).some(({ endpoint }) => endpoint === "records/modify"));
});

// A hostile server

/** A device with two records of three versions, and the answers to their fetches. */
async function withHistory(email) {
    const device = await newDevice(email);
    const answers = [];
    device.change = (endpoint, answer) => {
        if (endpoint === "records/lookup") answers.push(structuredClone(answer));
        return answer;
    };
    let record = await saved(device, { recordName: "note", fields: { title: "a", diagnosis: secret("first"), count: secret(1, "INT64") } });
    await fetched(device, "note");
    record = await saved(device, { ...record, fields: { diagnosis: secret("second") } });
    await fetched(device, "note");
    const other = await saved(device, { recordName: "other", fields: { diagnosis: secret("other"), count: secret(9, "INT64") } });
    await fetched(device, "other");
    device.change = undefined;
    return { device, answers, record, other };
}

test("values that were moved, mixed, dropped or made plain by the server are refused, and the device says which record", async () => {
    const { device, answers } = await withHistory("hostile@example.com");
    const [first, second, other] = answers;
    const attacks = {
        "the value of another field": (shown) => { shown.fields.diagnosis.value = shown.fields.count.value; },
        "the value of another record": (shown) => { shown.fields.diagnosis = other.records[0].fields.diagnosis; },
        "an older value": (shown) => { shown.fields.diagnosis = first.records[0].fields.diagnosis; },
        "a value less": (shown) => { delete shown.fields.count; },
        "a manifest of another record": (shown) => { shown.nacre.manifest = other.records[0].nacre.manifest; },
        "no manifest": (shown) => { delete shown.nacre.manifest; },
        "another type": (shown) => { shown.recordType = "Note"; },
        "another name for the type": (shown) => { shown.fields.diagnosis.type = "BYTES"; },
        "a plain field": (shown) => { shown.fields.diagnosis = { value: "forged", type: "STRING" }; },
        "a bit": (shown) => { shown.fields.diagnosis.value = shown.fields.diagnosis.value.replace(/.$/, (sign) => (sign === "A" ? "B" : "A")); },
    };
    for (const [attack, change] of Object.entries(attacks)) {
        device.change = (endpoint, answer) => {
            if (endpoint !== "records/lookup") return answer;
            const shown = structuredClone(second);
            change(shown.records[0]);
            return shown;
        };
        const error = await refusal(fetched(device, "note"));
        assert.deepEqual([error.ckErrorCode, error.recordName], ["ENCRYPTION_REFUSED", "note"], attack);
    }
    device.change = (endpoint, answer) => (endpoint === "records/lookup" ? structuredClone(second) : answer);
    assert.equal((await fetched(device, "note")).fields.diagnosis.value, "second");
});

test("a record is not rolled back behind what the page has seen, and a save does not build on it", async () => {
    const { device, answers } = await withHistory("rollback@example.com");
    device.change = (endpoint, answer) => (endpoint === "records/lookup" ? structuredClone(answers[0]) : answer);
    assert.match((await refusal(fetched(device, "note"))).reason, /older version than this page has seen/);
    const batch = device.database.newRecordsBatch().forceUpdate({ recordName: "note", recordType: "Secret", fields: { count: secret(3, "INT64") } });
    assert.match((await refusal(batch.commit())).reason, /older version than this page has seen/);
    // A deletion is the server's word, and ends what was seen.
    device.change = undefined;
    await device.database.deleteRecords("note");
    device.change = (endpoint, answer) => (endpoint === "records/lookup" ? structuredClone(answers[1]) : answer);
    assert.equal((await fetched(device, "note")).fields.diagnosis.value, "second");
});

test("keys that the server takes away, replaces or rolls back are refused", async () => {
    const device = await newDevice("keys@example.com");
    await saved(device, { recordName: "note", fields: { diagnosis: secret("flu") } });
    const eve = await newDevice("eve@example.com");
    await saved(eve, { recordName: "note", fields: { diagnosis: secret("eve") } });
    const shown = {};
    eve.change = (endpoint, answer) => { shown[endpoint] = structuredClone(answer); return answer; };
    await eve.keys.status();
    const answerWith = (change) => (endpoint, answer) => (endpoint === "keys/log" ? change(answer) : answer);
    const attacks = {
        "no log": (answer) => ({ ...answer, statements: [], wraps: [] }),
        "another user's log": () => shown["keys/log"],
        "a key of another": (answer) => ({ ...answer, wraps: shown["keys/log"].wraps }),
        "no key": (answer) => ({ ...answer, wraps: [] }),
    };
    for (const [attack, change] of Object.entries(attacks)) {
        device.change = answerWith(change);
        assert.equal((await refusal(device.keys.status())).ckErrorCode, "ENCRYPTION_REFUSED", attack);
    }
    device.change = undefined;
    assert.equal((await device.keys.status()).keys, "here");
});
