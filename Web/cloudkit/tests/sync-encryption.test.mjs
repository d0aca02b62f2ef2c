/** SyncEngine with encrypted fields and files. */

import assert from "node:assert/strict";
import { before, test } from "node:test";

import { SyncEngine } from "../src/module.js";
import { containerIdentifier, refusal, startCloud } from "./support/cloud.mjs";
import { commands } from "./support/commands.mjs";
import { deviceOf, enrolled, fetched, invited, saved, secret, shared, zoneShare } from "./support/secrets.mjs";

let cloud;
before(async () => { cloud = await startCloud(); });

const zoneID = { zoneName: "Notes" };
const inZone = { zoneID };

/** Gives a device an engine, whose app keeps the records that it is told, and mends nothing. */
function withEngine(device, { atomicByZone = false, owner } = {}) {
    const zoneID = owner ? { ...inZone.zoneID, ownerRecordName: owner } : inZone.zoneID;
    const app = { records: new Map(), toSend: new Map(), events: [], state: undefined };
    const delegate = {
        handleEvent(event) {
            app.events.push(event);
            if (event.type === "stateUpdate") app.state = event.stateSerialization;
            for (const { record } of event.type === "fetchedRecordZoneChanges" ? event.modifications : []) app.records.set(record.recordName, record);
            for (const record of event.savedRecords ?? []) app.records.set(record.recordName, record);
        },
        async nextRecordZoneChangeBatch({ options: { scope } }, { state }) {
            const pending = state.pendingRecordZoneChanges.filter((change) => scope.contains(change));
            const batch = await SyncEngine.batch(pending, ({ recordName }) => app.toSend.get(recordName));
            return batch && { ...batch, atomicByZone };
        },
    };
    const engine = new SyncEngine({ database: device.database, delegate, automaticallySync: false });
    const write = (recordName, fields) => {
        app.toSend.set(recordName, { recordType: "Secret", ...app.records.get(recordName), recordName, zoneID, fields });
        engine.state.add({ pendingRecordZoneChanges: [{ type: "saveRecord", recordID: { recordName, zoneID } }] });
    };
    const failed = () => app.events.flatMap(({ failedRecordSaves = [] }) => failedRecordSaves);
    const failures = () => failed().map(({ record, error }) => [record.recordName, error]);
    const pending = () => engine.state.pendingRecordZoneChanges.map(({ recordID }) => recordID.recordName);
    return Object.assign(device, { app, engine, write, failures, pending });
}

/** A first device of a new user with a zone, and an engine. */
async function firstDevice(email, options) {
    await cloud.makeUser(email);
    const device = withEngine(await deviceOf(cloud, email, { now: options?.now }), options);
    await device.database.saveRecordZones(zoneID);
    return device;
}

const codes = (failures) => failures.map(([name, { ckErrorCode }]) => [name, ckErrorCode]);

test("what one engine sends is sealed, another device's engine gets it opened, and neither the network nor the state has it", async () => {
    const a = await firstDevice("ada@example.com");
    a.write("one", { title: "plain", diagnosis: secret("influenza"), scan: new Blob(["a picture"]) });
    await a.engine.sendChanges();
    assert.deepEqual([a.failures(), a.pending()], [[], []]);
    assert.equal(a.app.records.get("one").fields.diagnosis.value, "influenza");
    const b = withEngine(await deviceOf(cloud, "ada@example.com"));
    await enrolled(b, a);
    await b.engine.fetchChanges();
    const { fields } = b.app.records.get("one");
    assert.deepEqual([fields.title.value, fields.diagnosis.value], ["plain", "influenza"]);
    assert.equal(await (await b.database.fetchFile(fields.scan.value, inZone)).text(), "a picture");
    for (const { body } of a.sent) assert.doesNotMatch(typeof body === "string" ? body : await body?.text() ?? "", /influenza|a picture/);
    for (const { app } of [a, b]) assert.doesNotMatch(app.state, /influenza|a picture/);
    b.write("one", { diagnosis: secret("a cold") });
    await b.engine.sendChanges();
    await a.engine.fetchChanges();
    assert.equal(a.app.records.get("one").fields.diagnosis.value, "a cold");
});

test("an engine of the shared database seals what it sends, and gets opened what others of the zone save", async () => {
    const a = await firstDevice("owner@example.com");
    await saved(a, { recordName: "one", fields: { diagnosis: secret("flu"), scan: new Blob(["a picture"]) } }, inZone);
    await cloud.makeUser("ben@example.com");
    const b = await deviceOf(cloud, "ben@example.com");
    await b.keys.begin();
    const userOf = async ({ container }) => (await container.fetchCurrentUserIdentity()).userRecordName;
    await b.container.acceptShares((await shared(a, { participants: [invited(await userOf(b))] }, zoneID)).shortGUID);
    b.database = b.container.sharedCloudDatabase;
    const owner = await userOf(a);
    withEngine(b, { owner });
    await b.engine.fetchChanges();
    const { fields } = b.app.records.get("one");
    assert.equal(fields.diagnosis.value, "flu");
    assert.equal(await (await b.database.fetchFile(fields.scan.value, { zoneID: { ...zoneID, ownerRecordName: owner } })).text(), "a picture");
    b.write("one", { diagnosis: secret("a cold") });
    b.write("two", { diagnosis: secret("angina"), scan: new Blob(["another picture"]) });
    await b.engine.sendChanges();
    assert.deepEqual([b.failures(), b.pending()], [[], []]);
    for (const { body } of b.sent) assert.doesNotMatch(typeof body === "string" ? body : await body?.text() ?? "", /a cold|angina|picture/);
    await a.engine.fetchChanges();
    assert.deepEqual(["one", "two"].map((name) => a.app.records.get(name).fields.diagnosis.value), ["a cold", "angina"]);
    assert.equal(await (await a.database.fetchFile(a.app.records.get("two").fields.scan.value, inZone)).text(), "another picture");
});

test("a conflict brings the server's record opened, and the save that is made from it succeeds", async () => {
    const a = await firstDevice("conflict@example.com");
    a.write("one", { diagnosis: secret("flu") });
    await a.engine.sendChanges();
    await saved(a, { ...a.app.records.get("one"), fields: { diagnosis: secret("cold") } });
    a.write("one", { diagnosis: secret("angina") });
    await a.engine.sendChanges().catch(() => {});
    const [[name, { ckErrorCode, serverRecord }]] = a.failures();
    assert.deepEqual([name, ckErrorCode, serverRecord.fields.diagnosis.value], ["one", "CONFLICT", "cold"]);
    a.app.records.set("one", serverRecord);
    a.write("one", { diagnosis: secret("angina") });
    await a.engine.sendChanges();
    assert.equal((await fetched(a, "one", inZone)).fields.diagnosis.value, "angina");
});

test("a batch whose answer was lost is sent again as it was sealed, under its operation ID, and is no conflict", async () => {
    let time = Date.now();
    const a = await firstDevice("lost@example.com", { now: () => time });
    const bodies = [];
    let isLost = true;
    a.change = (endpoint, answer, body) => {
        if (endpoint !== "records/modify") return answer;
        bodies.push(body);
        if (isLost) throw new TypeError("the answer is lost");
        return answer;
    };
    a.write("one", { diagnosis: secret("flu") });
    assert.equal((await refusal(a.engine.sendChanges())).ckErrorCode, "NETWORK_ERROR");
    assert.deepEqual(a.pending(), ["one"]);
    isLost = false;
    time += 1000;
    await a.engine.sendChanges();
    assert.equal(bodies.length, 2);
    assert.deepEqual(bodies[0], bodies[1]);
    assert.deepEqual([a.app.records.get("one").fields.diagnosis.value, a.pending()], ["flu", []]);
});

test("a share whose answer was lost is sent again with the same participant, who gets the zone's keys", async () => {
    let time = Date.now();
    const a = await firstDevice("invites@example.com", { now: () => time });
    await saved(a, { recordName: "one", fields: { diagnosis: secret("flu") } }, inZone);
    await cloud.makeUser("cara@example.com");
    const cara = await deviceOf(cloud, "cara@example.com");
    await cara.keys.begin();
    const bodies = [];
    a.change = (endpoint, answer, body) => {
        if (endpoint === "records/modify" && bodies.push(body) === 1) throw new TypeError("the answer is lost");
        return answer;
    };
    const address = { type: "USER", permission: "READ_ONLY", userIdentity: { lookupInfo: { emailAddress: "cara@example.com" } } };
    a.app.toSend.set(zoneShare, { recordType: "cloudkit.share", recordName: zoneShare, zoneID, publicPermission: "NONE", participants: [address] });
    a.engine.state.add({ pendingRecordZoneChanges: [{ type: "saveRecord", recordID: { recordName: zoneShare, zoneID } }] });
    await refusal(a.engine.sendChanges());
    time += 1000;
    await a.engine.sendChanges();
    assert.deepEqual(bodies[0], bodies[1]);
    assert.deepEqual(a.pending(), []);
    await cara.container.acceptShares(a.app.records.get(zoneShare).shortGUID);
    await fetched(a, zoneShare, inZone);
    cara.database = cara.container.sharedCloudDatabase;
    const { userRecordName: ownerRecordName } = await a.container.fetchCurrentUserIdentity();
    assert.equal((await fetched(cara, "one", { zoneID: { ...zoneID, ownerRecordName } })).fields.diagnosis.value, "flu");
});

test("a device without keys sends the plain records, keeps the others pending, and sends them once it is enrolled", async () => {
    const a = await firstDevice("without@example.com");
    await saved(a, { recordName: "old", fields: { title: "plain", diagnosis: secret("flu") } }, inZone);
    const b = withEngine(await deviceOf(cloud, "without@example.com"));
    b.write("secret", { diagnosis: secret("cold") });
    b.write("picture", { scan: new Blob(["x"]) });
    b.write("plain", { title: "b" });
    await refusal(b.engine.sendChanges());
    assert.deepEqual(codes(b.failures()).sort(), [["picture", "ENCRYPTION_KEYS_REQUIRED"], ["secret", "ENCRYPTION_KEYS_REQUIRED"]]);
    assert.match(b.failures()[0][1].remedy, /Enrol this device/);
    assert.deepEqual([b.pending().sort(), b.app.records.get("plain").fields.title.value], [["picture", "secret"], "b"]);
    await b.engine.fetchChanges();
    assert.deepEqual(Object.keys(b.app.records.get("old").fields), ["title"]);
    await enrolled(b, a);
    await b.engine.sendChanges();
    assert.deepEqual(b.pending(), []);
    assert.equal((await fetched(a, "secret", inZone)).fields.diagnosis.value, "cold");
});

test("a record that cannot be sealed fails alone, or keeps the others of its zone back", async () => {
    const a = await firstDevice("alone@example.com");
    a.write("bad", { count: secret(1) });
    a.write("good", { diagnosis: secret("flu") });
    await a.engine.sendChanges().catch(() => {});
    assert.deepEqual([codes(a.failures()), [...a.app.records.keys()]], [[["bad", "INVALID_ARGUMENTS"]], ["good"]]);
    const b = withEngine(await deviceOf(cloud, "alone@example.com"), { atomicByZone: true });
    await enrolled(b, a);
    b.write("bad", { count: secret(1) });
    b.write("better", { title: "plain" });
    await b.engine.sendChanges().catch(() => {});
    assert.deepEqual(codes(b.failures()).sort(), [["bad", "INVALID_ARGUMENTS"], ["better", "ATOMIC_ERROR"]]);
});

test("a record that is not what its manifest says is an error of the fetch, and the others are told", async () => {
    const a = await firstDevice("hostile@example.com");
    for (const name of ["one", "two"]) await saved(a, { recordName: name, fields: { diagnosis: secret(name) } }, inZone);
    a.change = (endpoint, answer) => {
        for (const record of endpoint === "changes/zone" ? answer.zones[0].records : []) if (record.recordName === "one") record.fields = {};
        return answer;
    };
    const { errors: [error] } = await refusal(a.engine.fetchChanges());
    assert.deepEqual([error.ckErrorCode, error.recordName], ["ENCRYPTION_REFUSED", "one"]);
    assert.match(error.remedy, /Fetch the record again/);
    assert.deepEqual([...a.app.records.keys()], ["two"]);
});

test("a reset that nobody signed is held back, and a signed one is the event encryptedDataReset", async () => {
    const a = await firstDevice("reset@example.com");
    a.write("one", { diagnosis: secret("flu") });
    await a.engine.sendChanges();
    await a.engine.fetchChanges();
    a.change = (endpoint, answer) => (endpoint === "changes/database"
        ? { ...answer, zones: [{ zoneID, deleted: true, nacre: { reason: "ENCRYPTED_DATA_RESET" } }] } : answer);
    const error = await refusal(a.engine.fetchChanges());
    assert.equal(error.ckErrorCode, "ENCRYPTION_REFUSED");
    const deletions = () => a.app.events.flatMap((event) => (event.type === "fetchedDatabaseChanges" ? event.deletions : []));
    assert.deepEqual(deletions(), []);
    a.change = undefined;
    const { words } = await a.keys.recoveryWords();
    const resetting = (await commands(cloud, "reset@example.com", "reset"))("reset", "--recovery");
    resetting.type(words.join(" "));
    resetting.type(containerIdentifier);
    const { status, text } = await resetting.done;
    assert.equal(status, 0, text);
    await a.engine.fetchChanges();
    assert.deepEqual(deletions(), [{ zoneID, reason: "encryptedDataReset" }]);
    await a.database.saveRecordZones(zoneID);
    a.app.records.clear();
    a.write("one", { diagnosis: secret("flu") });
    await refusal(a.engine.sendChanges());
    assert.deepEqual(codes(a.failures()), [["one", "ENCRYPTION_KEYS_REQUIRED"]]);
    assert.deepEqual(a.pending(), ["one"]);
});
