import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import CloudKit from "../src/module.js";

const rows = readFileSync(new URL("../members.tsv", import.meta.url), "utf8").trim().split("\n").slice(1).map((line) => {
    const [member, kind, value, since, status] = line.split("\t");
    const [, owner, separator, name] = /^(\w+)([.#])(\w+)$/.exec(member);
    // A function or method has the least and the most of its arguments there, or one number for both.
    const [least, most = least] = value.split("-").map(Number);
    return { member, owner, isStatic: separator === ".", name, kind, value, least, most, since, status };
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
    SyncEngine: new CloudKit.SyncEngine({
        database: container.privateCloudDatabase, delegate: { handleEvent() {}, nextRecordZoneChangeBatch: () => null }, automaticallySync: false,
    }),
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

test("each function and method takes as many arguments as the table says", () => {
    const rowsWithCounts = built.filter(({ kind, value }) => kind === "method" || (kind === "function" && value !== ""));
    assert.deepEqual(rowsWithCounts.filter(({ value }) => !/^\d(-\d)?$/.test(value)), []);
    for (const row of rowsWithCounts) {
        // An argument with a value of its own does not count.
        const declared = row.member === "CloudKit.toRecordReference" ? 1 : row.most;
        assert.equal(holder(row)[row.name].length, declared, row.member);
    }
});

test("the declarations have each member that the table says is built, with its arguments and its value", () => {
    const declarations = fileURLToPath(new URL("../cloudkit", import.meta.url));
    const lines = built.map(({ owner, isStatic, name, kind, value, least, most }, index) => {
        const type = owner === "CloudKit" ? "typeof Namespace" : isStatic ? `(typeof Namespace)["${owner}"]` : `CloudKit.${owner}`;
        const member = `(${type})["${name}"]`;
        const counts = Array.from({ length: most - least + 1 }, (_, more) => least + more).join(" | ");
        if (kind === "value") return `export const m${index}: Same<${member}, "${value}"> = true;`;
        if (counts !== "" && value !== "") return `export const m${index}: Same<Parameters<${member}>["length"], ${counts}> = true;`;
        return `export type M${index} = ${member};`;
    });
    const folder = mkdtempSync(join(tmpdir(), "cloudkit-js-"));
    const file = join(folder, "members.ts");
    writeFileSync(file, [
        `import Namespace, * as CloudKit from ${JSON.stringify(declarations)};`,
        "type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : never;", ...lines,
    ].join("\n"));
    try {
        execFileSync("tsc", ["--strict", "--noEmit", "--target", "es2022", "--moduleResolution", "node", file], { stdio: "pipe" });
    } catch ({ stdout }) {
        assert.fail(`${stdout}\n${lines.filter((_, index) => String(stdout).includes(`(${index + 3},`)).join("\n")}`);
    } finally {
        rmSync(folder, { recursive: true });
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
