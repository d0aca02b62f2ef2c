import assert from "node:assert/strict";
import { before, test } from "node:test";

import { DatabaseChangesResponse, RecordZoneChangesResponse, RecordZonesResponse, SubscriptionType } from "../src/module.js";
import { collected, startCloud } from "./support/cloud.mjs";

let database, container;
before(async () => {
    container = await (await startCloud()).signedIn("ada@example.com");
    database = container.privateCloudDatabase;
});

const notes = (names) => names.map((recordName) => ({ recordType: "Note", recordName, fields: { text: { value: recordName } } }));
const namesOf = (zones) => zones.map((zone) => zone.zoneID.zoneName).sort();

test("zones are saved, fetched, listed and deleted, by name, ID or zone", async () => {
    const saved = await database.saveRecordZones(["One", { zoneName: "Two" }, { zoneID: { zoneName: "Three" } }]);
    assert.ok(saved instanceof RecordZonesResponse && saved.isRecordZonesResponse && !saved.hasErrors);
    assert.deepEqual(namesOf(saved.zones), ["One", "Three", "Two"]);
    const found = await database.fetchRecordZones(["One", "None"]);
    assert.deepEqual(namesOf(found.zones), ["One"]);
    assert.deepEqual(found.errors.map((error) => [error.ckErrorCode, error.zoneID.zoneName]), [["ZONE_NOT_FOUND", "None"]]);
    await database.deleteRecordZones(saved.zones.filter((zone) => zone.zoneID.zoneName !== "One"));
    assert.deepEqual(namesOf((await database.fetchAllRecordZones()).zones), ["One", "_defaultZone"]);
});

test("the changes of a zone come in pages, and go on from a kept token", async () => {
    await database.saveRecordZones("Changes");
    await database.saveRecords(notes(["a", "b", "c"]), { zoneID: "Changes" });
    const first = await database.fetchRecordZoneChanges({ zoneID: "Changes", resultsLimit: 2, desiredKeys: [] });
    assert.ok(first instanceof RecordZoneChangesResponse && first.isRecordZoneChangesResponse);
    const [page] = first.zones;
    assert.deepEqual([page.moreComing, page.resultsLimit, page.desiredKeys, page.records.length], [true, 2, [], 2]);
    const [next] = (await database.fetchRecordZoneChanges(first.zones)).zones;
    assert.deepEqual([next.moreComing, next.records.length], [false, 1]);
    await database.deleteRecords("a", { zoneID: "Changes" });
    const pages = await collected(database.recordZoneChanges({ zoneID: "Changes", syncToken: next.syncToken }));
    assert.deepEqual(pages.flatMap((one) => one.records.map((record) => [record.recordName, record.deleted])), [["a", true]]);
    const all = await collected(database.recordZoneChanges({ zoneID: "Changes", resultsLimit: 1 }));
    assert.ok(all.length >= 2 && all.at(-1).moreComing === false);
});

test("a zone that does not exist is among the errors of a request for changes, and ends an iteration", async () => {
    const answer = await database.fetchRecordZoneChanges([{ zoneID: "Changes" }, { zoneID: "None" }]);
    assert.deepEqual([answer.zones.length, answer.errors[0].ckErrorCode], [1, "ZONE_NOT_FOUND"]);
    await assert.rejects(collected(database.recordZoneChanges({ zoneID: "None" })), { ckErrorCode: "ZONE_NOT_FOUND" });
});

test("the changes of the database name the zones that have changed", async () => {
    const pages = await collected(database.databaseChanges({ resultsLimit: 1 }));
    const { syncToken } = pages.at(-1);
    assert.ok(pages[0] instanceof DatabaseChangesResponse && pages[0].isDatabaseChangesResponse && pages[0].resultsLimit === 1);
    assert.ok(namesOf(pages.flatMap((page) => page.zones)).includes("Changes"));
    await database.saveRecordZones("Late");
    const late = await database.fetchDatabaseChanges({ syncToken });
    assert.deepEqual([namesOf(late.zones), late.moreComing], [["Late"], false]);
});

test("subscriptions are saved, fetched, listed and deleted", async () => {
    const saved = await database.saveSubscriptions([
        { subscriptionType: SubscriptionType.QUERY, query: { recordType: "Note" }, firesOn: ["create"], subscriptionID: "red" },
        { subscriptionType: SubscriptionType.RECORD_ZONE, zoneID: "Changes", notificationInfo: { shouldSendContentAvailable: true } },
    ]);
    assert.ok(saved.isSubscriptionsResponse && !saved.hasErrors, `${saved.errors}`);
    const [, zones] = saved.subscriptions;
    assert.match(zones.subscriptionID, /^[0-9A-F]{8}-[0-9A-F]{4}-4/);
    const found = await database.fetchSubscriptions(["red", "blue"]);
    assert.deepEqual(found.subscriptions[0].firesOn, ["create"]);
    assert.deepEqual([found.errors[0].ckErrorCode, found.errors[0].subscriptionID], ["NOT_FOUND", "blue"]);
    assert.equal((await database.fetchAllSubscriptions()).subscriptions.length, 2);
    await database.deleteSubscriptions(["red", zones]);
    assert.deepEqual((await database.fetchAllSubscriptions()).subscriptions, []);
});

test("every database has its scope", () => {
    for (const [scope, name] of [["PUBLIC", "publicCloudDatabase"], ["PRIVATE", "privateCloudDatabase"], ["SHARED", "sharedCloudDatabase"]]) {
        assert.equal(container.getDatabaseWithDatabaseScope(scope), container[name]);
        assert.equal(container[name].databaseScope, scope);
    }
    assert.throws(() => container.getDatabaseWithDatabaseScope("OTHER"), { ckErrorCode: "INVALID_ARGUMENTS" });
});
