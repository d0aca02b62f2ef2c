import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import CloudKit from "../src/module.js";

const rows = readFileSync(new URL("../members.tsv", import.meta.url), "utf8").trim().split("\n").slice(1).map((line) => {
    const [member, kind, value, since, status] = line.split("\t");
    const [, owner, separator, name] = /^(\w+)([.#])(\w+)$/.exec(member);
    return { member, owner, isStatic: separator === ".", name, kind, value, since, status };
});
const built = rows.filter(({ status }) => status === "built");

const [container] = CloudKit.configure({
    serverURL: "https://cloud.example",
    containers: [{ containerIdentifier: "iCloud.a", environment: "development", apiTokenAuth: { apiToken: "a" } }],
}).getAllContainers();
const payload = { aps: {}, ck: { nid: "n", cid: "c", qry: { sid: "s", rid: "r", fo: 1, dbs: 1 } } };
const zone = { zoneID: { zoneName: "a" }, records: [] };
/** One object of each class. */
const instances = {
    Container: container, Database: container.publicCloudDatabase, RecordsBatchBuilder: container.publicCloudDatabase.newRecordsBatch(),
    CKError: new CloudKit.CKError({ ckErrorCode: "NOT_FOUND" }), Response: new CloudKit.Response(),
    RecordsResponse: new CloudKit.RecordsResponse({ records: [] }), QueryResponse: new CloudKit.QueryResponse({ records: [] }, {}),
    RecordZonesResponse: new CloudKit.RecordZonesResponse({}), SubscriptionsResponse: new CloudKit.SubscriptionsResponse({}),
    UserIdentitiesResponse: new CloudKit.UserIdentitiesResponse({}), RecordInfosResponse: new CloudKit.RecordInfosResponse({}),
    DatabaseChangesResponse: new CloudKit.DatabaseChangesResponse({}, {}),
    RecordZoneChangesResponse: new CloudKit.RecordZoneChangesResponse({ zones: [zone] }, [zone]),
    Notification: new CloudKit.Notification(payload), QueryNotification: new CloudKit.QueryNotification(payload),
    RecordZoneNotification: new CloudKit.RecordZoneNotification({ ck: { fet: {} } }),
    RecordZoneChanges: new CloudKit.RecordZoneChangesResponse({ zones: [zone] }, [zone]).zones[0],
};

/** The place of a member: the namespace, an enumeration or a class in it, or an object of the class. */
const holder = ({ owner, isStatic }) => (isStatic ? (owner === "CloudKit" ? CloudKit : CloudKit[owner]) : instances[owner]);

test("each member that the table says is built has its kind, and its value", () => {
    for (const row of built) {
        const found = holder(row)[row.name];
        const label = `${row.member}: ${String(found)}`;
        switch (row.kind) {
            case "value": assert.equal(found, row.value, label); break;
            case "class": assert.match(Function.prototype.toString.call(found), /^class/, label); break;
            case "method": assert.ok(typeof found === "function" && !Object.hasOwn(instances[row.owner], row.name), label); break;
            case "property": assert.ok(row.name in instances[row.owner] && typeof found !== "function", label); break;
            default: assert.equal(typeof found, row.kind, label);
        }
    }
});

test("a member that the table says is absent is not there", () => {
    for (const row of rows.filter(({ status }) => status !== "built")) {
        assert.equal(row.status, "absent", row.member);
        assert.ok(!(row.name in (holder(row) ?? {})), row.member);
    }
});

test("nothing is there that the table does not have", () => {
    const known = new Set(built.map(({ member }) => member));
    const enumerations = new Set(built.filter(({ isStatic, owner }) => isStatic && owner !== "CloudKit").map(({ owner }) => owner));
    for (const name of Object.keys(CloudKit)) assert.ok(known.has(`CloudKit.${name}`) || enumerations.has(name), `CloudKit.${name}`);
    for (const name of enumerations) {
        for (const value of Object.keys(CloudKit[name])) assert.ok(known.has(`${name}.${value}`), `${name}.${value}`);
    }
    // Members that a class inherits stand in the table with the class above.
    const above = (name) => {
        if (name.endsWith("Notification")) return [name, "Notification"];
        return name.endsWith("Response") ? [name, "RecordsResponse", "Response"] : [name];
    };
    for (const [name, instance] of Object.entries(instances)) {
        const methods = Object.getOwnPropertyNames(CloudKit[name]?.prototype ?? {}).filter((method) => method !== "constructor");
        const own = Object.keys(instance).concat(methods).filter((member) => instance[member] !== undefined);
        for (const member of own) assert.ok(above(name).some((owner) => known.has(`${owner}#${member}`)), `${name}#${member}`);
    }
});

test("a batch's methods can be chained", () => {
    const batch = container.publicCloudDatabase.newRecordsBatch();
    for (const name of ["create", "createOrUpdate", "update", "forceUpdate", "replace", "forceReplace", "delete", "forceDelete"]) {
        assert.equal(batch[name]({ recordName: "a", recordType: "Note" }), batch, name);
    }
});

test("the module exports what the namespace has, but what may change", async () => {
    const { default: whole, ...named } = await import("../src/module.js");
    assert.equal(whole, CloudKit);
    assert.deepEqual(Object.keys(named).sort(), Object.keys(CloudKit).filter((name) => !["logToConsole", "Promise"].includes(name)).sort());
});
