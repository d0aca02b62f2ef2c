/** Tests of docs/sync-engine.md, Turns to Fetching, where the table has no words. The numbers are that page's. */

import assert from "node:assert/strict";
import { before, test } from "node:test";

import CloudKit, { SyncEngine } from "../src/module.js";
import { refusal, startCloud } from "./support/cloud.mjs";
import { NoteApp, nameOf } from "./support/notes.mjs";
import { faults, pair } from "./support/sync.mjs";

let cloud;
before(async () => { cloud = await startCloud(); });

const save = (app, name, zoneID) => ({ type: "saveRecord", recordID: app.recordID(name, zoneID) });
const pendingOf = ({ engine }) => engine.state.pendingRecordZoneChanges.map(({ recordID }) => recordID.recordName);

test("the delegate's calls never overlap, and one fetch or send follows the other in the order of the calls (1, 2, 3)", async () => {
    const { a } = await pair(cloud);
    let [inside, most, first] = [0, 0];
    a.app.hook = async ({ type }) => {
        inside += 1;
        most = Math.max(most, inside);
        for (let turn = 0; turn < 20; turn += 1) await null;
        if (type === "willSendChanges" && !first) first = a.engine.fetchChanges();
        inside -= 1;
    };
    a.write("one", "bread");
    await a.engine.sendChanges();
    await first;
    const events = a.app.events.filter((line) => ["willSend", "didSend", "willFetch", "didFetch"].includes(line));
    assert.deepEqual([events, inside, most], [["willSend", "didSend", "willFetch", "didFetch"], 0, 1]);
});

test("a delegate's call that begins with a fetch or a send is refused it (3)", async () => {
    const { a } = await pair(cloud);
    const errors = [];
    const { handleEvent } = a.app;
    a.app.handleEvent = (event, engine) => {
        if (event.type === "willFetchChanges") for (const ask of ["fetchChanges", "sendChanges"]) errors.push(refusal(engine[ask]()));
        return handleEvent.call(a.app, event, engine);
    };
    assert.equal(await a.fetch(), "ok");
    assert.deepEqual((await Promise.all(errors)).map(nameOf), ["invalidArguments", "invalidArguments"]);
});

test("nothing is asked of the server that the app did not ask for (4)", async () => {
    const { a } = await pair(cloud);
    a.write("one", "bread");
    await a.told();
    assert.deepEqual([a.app.log, a.network.paths, pendingOf(a)], [["signIn", "state"], ["users/caller"], ["one"]]);
});

test("cancelling ends what runs and what waits, and loses nothing pending (5)", async () => {
    const { a } = await pair(cloud);
    a.write("one", "bread");
    a.network.failNext("records/modify", faults.hangs);
    const hangs = a.network.hang("records/modify");
    const running = a.send();
    await hangs;
    // A call that is cancelled itself does not wait for the run before it, which hangs.
    const impatient = new AbortController();
    const left = refusal(a.engine.fetchChanges({ signal: impatient.signal }));
    impatient.abort();
    assert.equal((await left).name, "AbortError");
    const waiting = a.fetch();
    await null;
    a.engine.cancelOperations();
    assert.deepEqual(await Promise.all([running, waiting]), ["operationCancelled", "operationCancelled"]);
    assert.deepEqual(a.app.events, ["signIn", "willSend", "sentZones +Notes", "sent !one operationCancelled", "didSend"]);
    assert.deepEqual(pendingOf(a), ["one"]);
    assert.equal(await a.send(), "ok");
    assert.deepEqual(await a.served(), { one: ["bread"] });
});

test("an engine that is stopped does nothing more, and its calls are refused (6)", async () => {
    const { a } = await pair(cloud);
    a.write("one", "bread");
    await a.told();
    const asked = a.network.paths.length;
    await a.engine.stop();
    a.write("two", "bread");
    assert.deepEqual([await a.send(), await a.fetch()], ["operationCancelled", "operationCancelled"]);
    assert.equal(a.network.paths.length, asked);
});

test("the public database, and a state of another database, are refused at each call (7)", async () => {
    const { a } = await pair(cloud);
    a.write("one", "bread");
    await a.send();
    const { privateCloudDatabase, publicCloudDatabase, sharedCloudDatabase } = a.container;
    const asked = a.network.paths.length;
    for (const database of [publicCloudDatabase, sharedCloudDatabase]) {
        const engine = new SyncEngine({ database, stateSerialization: a.app.disk.state, delegate: a.app, automaticallySync: false });
        for (const ask of ["fetchChanges", "sendChanges"]) assert.equal(nameOf(await refusal(engine[ask]())), "invalidArguments");
        assert.deepEqual(engine.state.pendingRecordZoneChanges, []);
    }
    assert.equal(a.network.paths.length, asked);
    for (const wrong of [{}, { database: privateCloudDatabase }, { database: {}, delegate: a.app }, undefined]) {
        assert.throws(() => new SyncEngine(wrong), { ckErrorCode: "INVALID_ARGUMENTS" });
    }
});

test("several changes of the lists are one state, told before what was added is sent (8)", async () => {
    const { a } = await pair(cloud);
    await a.fetch();
    a.app.log = [];
    for (const name of ["one", "two", "three"]) a.write(name, "bread");
    assert.equal(await a.send(), "ok");
    assert.deepEqual(a.app.log, ["state", "willSend", "sentZones +Notes", "state", "sent +one +two +three", "state", "didSend"]);
});

test("an app that dies at any event of a send begins again, sends what is left, and nothing that the state knows as sent (9)", async () => {
    const { a, b } = await pair(cloud);
    let points = 0;
    let repeated = 0;
    for (let isDead = true; isDead && points < 100; points += 1) {
        const zoneID = { zoneName: `Notes-${points}` };
        const notes = new Map([["one", "bread"], ["two", "wine"]].map(([recordName, word]) => (
            [`${zoneID.zoneName}/${recordName}`, { recordName, zoneID, words: new Set([word]) }])));
        await a.engine.stop();
        a.start(new NoteApp({ ...zoneID, disk: { notes }, diesAfter: points }));
        await a.send();
        ({ isDead } = a.app);
        a.restart();
        const left = a.app.disk.state === undefined ? undefined : pendingOf(a).length;
        const asked = a.network.count("records/modify");
        await a.send();
        assert.equal(a.network.count("records/modify") > asked, left !== 0, `after ${points} events`);
        if (a.app.events.some((line) => line.includes("serverRecordChanged"))) repeated += 1;
        assert.equal(await a.send(), "ok");
        b.start(new NoteApp(zoneID));
        await b.fetch({ scope: { zoneIDs: [zoneID] } });
        assert.deepEqual(b.app.words, { one: ["bread"], two: ["wine"] }, `after ${points} events`);
        assert.deepEqual(a.app.words, b.app.words);
    }
    // signIn, state, willSend, sentZones, state, sent, state, didSend: at two of these the server has the records, and
    // the app has not kept that.
    assert.deepEqual([points, repeated], [9, 2]);
});

test("an app that dies at any event of a fetch begins again, and has everything once it has fetched (9)", async () => {
    const { a, b } = await pair(cloud);
    for (let index = 0; index < 450; index += 1) a.write(`note-${index}`, "bread");
    a.engine.state.add({ pendingDatabaseChanges: [{ type: "saveZone", zoneID: "Other" }] });
    a.write("far", "wine", "Other");
    assert.equal(await a.send(), "ok");
    let points = 0;
    for (let isDead = true; isDead && points < 100; points += 1) {
        await b.engine.stop();
        b.start(new NoteApp({ diesAfter: points }));
        await b.fetch();
        ({ isDead } = b.app);
        b.restart();
        assert.equal(await b.fetch(), "ok");
        assert.deepEqual(b.app.words, a.app.words, `after ${points} events`);
    }
    assert.ok(points > 12, "several pages and two zones are as many events");
});

test("a delegate that fails to take changes gets them again, and one that fails to take a result has it pending still (9)", async () => {
    const { a, b } = await pair(cloud);
    a.write("one", "bread");
    a.app.hook = ({ type }) => { if (type === "sentRecordZoneChanges") throw new Error("the disk is full"); };
    assert.match(await a.send(), /the disk is full/);
    assert.deepEqual([a.app.events.at(-1), pendingOf(a)], ["didSend", ["one"]]);
    a.app.hook = () => {};
    await a.send();
    await a.send();
    b.app.hook = ({ type }) => { if (type === "fetchedRecordZoneChanges") throw new Error("the disk is full"); };
    assert.match(await b.fetch(), /the disk is full/);
    assert.deepEqual(b.app.events.slice(-2), ["didFetch Notes Error: the disk is full", "didFetch"]);
    b.restart();
    assert.equal(await b.fetch(), "ok");
    assert.deepEqual(b.app.words, { one: ["bread"] });
});

test("a deletion that is added while the delegate fails to take the save stays a deletion (9, 11)", async () => {
    const { a } = await pair(cloud);
    a.write("one", "bread");
    a.app.hook = ({ type }) => {
        if (type !== "sentRecordZoneChanges") return;
        a.delete("one");
        throw new Error("the disk is full");
    };
    assert.match(await a.send(), /the disk is full/);
    assert.deepEqual(a.engine.state.pendingRecordZoneChanges.map(({ type }) => type), ["deleteRecord"]);
    a.app.hook = () => {};
    assert.equal(await a.send(), "ok");
    assert.deepEqual(await a.served(), {});
});

test("a state is a text, equal states are equal texts, and one that is foreign, damaged or newer is refused with the reason (10)", async () => {
    const { a } = await pair(cloud);
    a.write("one", "bread");
    await a.send();
    const { state } = a.app.disk;
    a.restart();
    a.write("one", "wine");
    await a.told();
    a.engine.state.remove({ pendingRecordZoneChanges: [save(a.app, "one")] });
    await a.told();
    assert.equal(a.app.disk.state, state);
    const changed = (more) => JSON.stringify({ ...JSON.parse(state), ...more });
    const wrong = [["a text", /no state/], [{}, /no state/], [changed({ format: "another" }), /no state/], [changed({ version: 2 }), /newer/],
        [changed({ state: JSON.parse(state).state.replace("Notes", "Noted") }), /damaged/], [state.slice(0, -9), /no state/]];
    for (const [stateSerialization, reason] of wrong) {
        assert.throws(() => new SyncEngine({ database: a.database, delegate: a.app, stateSerialization }), reason);
    }
});

test("the pending lists have each item once, in the order of adding, and of a save and a deletion the later one (11)", async () => {
    const { a } = await pair(cloud);
    const { state } = a.engine;
    const change = (type, name) => ({ type, recordID: { recordName: name, zoneID: "Notes" } });
    state.add({ pendingRecordZoneChanges: [change("saveRecord", "one"), change("saveRecord", "two"), change("saveRecord", "one")] });
    assert.deepEqual(pendingOf(a), ["one", "two"]);
    state.add({ pendingRecordZoneChanges: [change("deleteRecord", "one")] });
    assert.deepEqual(state.pendingRecordZoneChanges.map(({ type, recordID }) => [type, recordID.recordName]),
        [["saveRecord", "two"], ["deleteRecord", "one"]]);
    state.remove({ pendingRecordZoneChanges: [change("saveRecord", "one"), change("saveRecord", "two")] });
    assert.deepEqual(pendingOf(a), ["one"]);
    for (const wrong of [{ pendingRecordZoneChanges: [{ type: "save" }] }, { pendingRecordZoneChanges: {} },
        { pendingDatabaseChanges: [{ type: "saveZone" }] }, { pendingRecordZoneChanges: [{ type: "saveRecord", recordID: {} }] }]) {
        assert.throws(() => state.add(wrong), { ckErrorCode: "INVALID_ARGUMENTS" }, JSON.stringify(wrong));
    }
});

test("what is added again while it is being sent is sent once more (12)", async () => {
    const { a } = await pair(cloud);
    a.write("one", "bread");
    a.app.batch = async (context, engine) => {
        const batch = await a.app.ownBatch(context, engine);
        // The user writes on between the read of the record and the answer of the server.
        if (!a.app.words.one.includes("wine")) a.write("one", "wine");
        return batch;
    };
    assert.equal(await a.send(), "ok");
    assert.equal(a.app.events.filter((line) => line === "sent +one").length, 2);
    assert.deepEqual([pendingOf(a), await a.served()], [[], { one: ["bread", "wine"] }]);
});

test("untracked changes are asked for, and the app says when there are none (13)", async () => {
    const { a } = await pair(cloud);
    a.engine.state.hasPendingUntrackedChanges = true;
    let asked = 0;
    a.app.batch = () => {
        asked += 1;
        const name = `n${asked}`;
        return asked < 3 ? { recordsToSave: [{ recordType: "Note", ...a.app.recordID(name), fields: {} }] } : null;
    };
    assert.equal(await a.send(), "ok");
    assert.deepEqual([a.app.events, asked], [["signIn", "willSend", "sentZones +Notes", "sent +n1", "sent +n2", "didSend"], 3]);
    a.restart();
    assert.equal(a.engine.state.hasPendingUntrackedChanges, true);
    a.engine.state.hasPendingUntrackedChanges = false;
    await a.told();
    a.restart();
    assert.equal(a.engine.state.hasPendingUntrackedChanges, false);
});

test("zones that are added between two batches go before the second (15, 16, 17)", async () => {
    const { a } = await pair(cloud);
    a.write("one", "bread");
    a.app.hook = ({ type, savedRecords }) => {
        if (type !== "sentRecordZoneChanges" || savedRecords[0]?.recordName !== "one") return;
        a.engine.state.add({ pendingDatabaseChanges: [{ type: "saveZone", zoneID: "Other" }] });
        a.write("two", "wine", "Other");
    };
    assert.equal(await a.send(), "ok");
    assert.deepEqual(a.app.events, ["signIn", "willSend", "sentZones +Notes", "sent +one", "sentZones +Other", "sent +two", "didSend"]);
});

test("an empty batch is none, and one that has failed records alone ends the send when it comes again (16, 26)", async () => {
    const { a } = await pair(cloud);
    for (const name of ["one", "two"]) a.write(name, "bread");
    a.app.mends = false;
    const given = ["one", "one", "two", "one", "zero"];
    a.app.batch = () => {
        const record = a.app.record(a.app.recordID(given.shift()));
        return record ? { recordsToSave: [record] } : null;
    };
    a.network.failNext("records/modify", faults.items({ names: ["one"], code: "quotaExceeded", word: "QUOTA_EXCEEDED" }));
    assert.equal(await a.send(), "partialFailure");
    assert.deepEqual(a.app.events.slice(-3), ["sent !one quotaExceeded", "sent +two", "didSend"]);
    assert.deepEqual(given, ["zero"], "the batch that came twice ends the send");
    a.app.batch = () => ({});
    a.app.log = [];
    assert.equal(await a.send(), "ok");
    assert.deepEqual(a.app.events, ["willSend", "didSend"]);
});

test("many records go in as many batches as it takes, and come zone by zone, the prioritized first (23, 27, 29)", async () => {
    const { a, b } = await pair(cloud);
    const zones = ["Blue", "Green", "Red"];
    a.engine.state.add({ pendingDatabaseChanges: zones.map((zoneID) => ({ type: "saveZone", zoneID })) });
    for (let index = 0; index < 450; index += 1) a.write(`note-${index}`, "bread");
    for (const zone of zones) a.write("one", "bread", zone);
    assert.equal(await a.send(), "ok");
    const batches = a.app.events.filter((line) => line.startsWith("sent +")).map((line) => line.split(" ").length - 1);
    assert.deepEqual(batches, [200, 200, 53]);
    b.app.nextFetchChangesOptions = ({ options }) => ({ ...options, prioritizedZoneIDs: ["Missing", "Red", "Blue"] });
    assert.equal(await b.fetch({ scope: { allExcluding: "Green" } }), "ok");
    assert.deepEqual(b.app.events.filter((line) => line.startsWith("willFetch ")), ["willFetch Red", "willFetch Blue", "willFetch Notes"]);
    assert.equal(Object.keys(b.app.words).length, 451);
    assert.deepEqual(b.engine.state.zoneIDsWithUnfetchedServerChanges, [{ zoneName: "Green" }]);
});

test("a batch is full by bytes too, and a record that the provider does not have is left out (23)", async () => {
    const records = [1, 2, 3].map((index) => ({ recordName: `${index}`, recordType: "Note", fields: { text: "ä".repeat(600_000) } }));
    const pending = ["1", "none", "2", "3"].map((recordName) => ({ type: "saveRecord", recordID: { recordName } }));
    const provider = async ({ recordName }) => records.find((record) => record.recordName === recordName);
    const namesOf = (batch) => batch.recordsToSave.map(({ recordName }) => recordName);
    assert.deepEqual(namesOf(await SyncEngine.batch(pending, provider)), ["1"]);
    assert.deepEqual(namesOf(await SyncEngine.batch(pending.slice(2), provider)), ["2"]);
    assert.equal(await SyncEngine.batch([pending[1]], provider), null);
});

test("what is too much for a request goes in parts, and a zone that is to be whole does not (24, 25)", async () => {
    const { a } = await pair(cloud);
    const names = Array.from({ length: 250 }, (_, index) => `n${index}`);
    for (const name of names) a.write(name, "bread");
    a.app.batch = (context, engine) => {
        const recordsToSave = engine.state.pendingRecordZoneChanges.map(({ recordID }) => a.app.record(recordID));
        return recordsToSave.length > 0 ? { recordsToSave, atomicByZone: a.app.isAtomic } : null;
    };
    a.app.isAtomic = true;
    a.app.mends = false;
    assert.equal(await a.send(), "partialFailure");
    assert.equal(a.app.events.at(-2), `sent${names.map((name) => ` !${name} limitExceeded`).join("")}`);
    a.app.isAtomic = false;
    a.engine.state.add({ pendingRecordZoneChanges: names.map((name) => save(a.app, name)) });
    assert.equal(await a.send(), "ok");
    assert.equal(a.app.events.at(-2), `sent${names.map((name) => ` +${name}`).join("")}`);
});

test("a record that cannot be written down fails alone, and with atomicByZone with the others of its zone (17, 25)", async () => {
    const { a } = await pair(cloud);
    await a.send();
    const batch = (atomicByZone) => ({ atomicByZone, recordsToSave: [["one", { at: new Date(NaN) }], ["two", {}]].map(([name, fields]) => (
        { recordType: "Note", ...a.app.recordID(name), fields })) });
    for (const [isAtomic, line] of [[true, "sent !one invalidArguments !two batchRequestFailed"], [false, "sent +two !one invalidArguments"]]) {
        const batches = [batch(isAtomic)];
        a.app.batch = () => batches.shift();
        a.app.log = [];
        assert.equal(await a.send(), "partialFailure");
        assert.equal(a.app.events.at(-2), line);
    }
});

test("an answer that is lost is no change made twice, and no conflict, also where the app dies before it sends again (19)", async () => {
    const { a } = await pair(cloud);
    a.write("one", "bread");
    a.network.failNext("records/modify", faults.answerLost);
    assert.equal(await a.send(), "networkUnavailable");
    assert.deepEqual(pendingOf(a), ["one"]);
    a.app.log = [];
    assert.equal(await a.send(), "ok");
    assert.deepEqual(a.app.events, ["willSend", "sent +one", "didSend"]);
    a.write("one", "wine");
    a.network.failNext("records/modify", faults.answerLost);
    assert.equal(await a.send(), "networkUnavailable");
    a.restart();
    // The server has it: the repeated send is a conflict, merged from the same words.
    assert.equal(await a.send(), "partialFailure");
    assert.equal(await a.send(), "ok");
    assert.deepEqual(await a.served(), { one: ["bread", "wine"] });
});

test("a batch that differs from the one whose answer was lost is sent as another one (19)", async () => {
    const { a } = await pair(cloud);
    a.write("one", "bread");
    a.network.failNext("records/modify", faults.answerLost);
    await a.send();
    a.write("one", "wine");
    assert.equal(await a.send(), "partialFailure");
    assert.equal(await a.send(), "ok");
    assert.deepEqual(await a.served(), { one: ["bread", "wine"] });
});

test("what a zone was deleted for is told (27)", async () => {
    const { a, b, email } = await pair(cloud);
    await a.send();
    a.engine.state.add({ pendingDatabaseChanges: [{ type: "saveZone", zoneID: "Old" }] });
    await a.send();
    await b.fetch();
    const { deletions } = await new Promise((resolve, reject) => {
        b.app.hook = (event) => { if (event.type === "fetchedDatabaseChanges") resolve(event); };
        a.database.deleteRecordZones("Old").then(() => b.fetch()).catch(reject);
    });
    assert.deepEqual(deletions, [{ zoneID: { zoneName: "Old" }, reason: "deleted" }], email);
});

test("a user who has no database subscription gets one, and one that there is is used (41)", async () => {
    const { a, b } = await pair(cloud);
    const ids = async ({ database }) => (await database.fetchAllSubscriptions()).subscriptions.map(({ subscriptionID }) => subscriptionID);
    await a.fetch();
    assert.deepEqual(await ids(a), ["CKSyncEngine-private"]);
    await b.engine.stop();
    b.start(b.app, false, { subscriptionID: "mine" });
    await b.fetch();
    assert.deepEqual(await ids(b), ["CKSyncEngine-private"]);
    const asked = b.network.count("subscriptions/list");
    await b.fetch();
    assert.equal(b.network.count("subscriptions/list"), asked, "once, and not at each fetch");
});

test("files of records are sent with them", async () => {
    const { a, b } = await pair(cloud);
    const batches = [{ recordsToSave: [{ recordType: "Note", ...a.app.recordID("one"), fields: { picture: new Blob(["a picture"]) } }] }];
    a.app.batch = () => batches.shift();
    assert.equal(await a.send(), "ok");
    const [record] = (await b.database.fetchRecords("one", { zoneID: "Notes" })).records;
    assert.equal(await (await fetch(record.fields.picture.value.downloadURL)).text(), "a picture");
});

test("errors of items have the server's own code, and a partial failure has them all", async () => {
    const { a } = await pair(cloud);
    const error = await refusal((async () => {
        await a.engine.state.add({ pendingDatabaseChanges: [{ type: "deleteZone", zoneID: "Gone" }] });
        await a.engine.sendChanges();
    })());
    assert.ok(error instanceof CloudKit.CKError && error.ckErrorCode === CloudKit.CKError.PARTIAL_FAILURE);
    assert.deepEqual(error.errors.map((one) => [one.ckErrorCode, one.nativeCode]), [["ZONE_NOT_FOUND", 26]]);
});

test("without the module for encryption a record with encrypted fields is refused before it is sent, and the others of its batch are sent", async () => {
    const { a } = await pair(cloud);
    a.write("one", "bread");
    a.write("two", "milk");
    const { nextRecordZoneChangeBatch } = a.app;
    a.app.nextRecordZoneChangeBatch = async (...given) => {
        const batch = await nextRecordZoneChangeBatch.apply(a.app, given);
        for (const record of batch?.recordsToSave ?? []) {
            if (record.recordName === "one") record.fields = { ...record.fields, secret: { value: "plain", isEncrypted: true } };
        }
        return batch;
    };
    const [saved, refused] = [[], []];
    a.app.hook = async ({ type, savedRecords, failedRecordSaves }) => {
        if (type !== "sentRecordZoneChanges") return;
        saved.push(...savedRecords.map(({ recordName }) => recordName));
        refused.push(...failedRecordSaves.map(({ record, error }) => [record.recordName, error.ckErrorCode]));
    };
    await a.send();
    assert.deepEqual([saved, refused], [["two"], [["one", "INVALID_ARGUMENTS"]]]);
});
