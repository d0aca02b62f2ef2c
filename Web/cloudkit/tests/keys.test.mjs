import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, test } from "node:test";

import { refusal, startCloud } from "./support/cloud.mjs";

let cloud;
before(async () => { cloud = await startCloud(); });

const withKey = (serverToServerKeyAuth, services) => cloud.container({ container: { serverToServerKeyAuth }, services }).publicCloudDatabase;

test("a server with a key saves and queries in the public database, as a user of its own", async () => {
    const database = withKey(await cloud.makeKey());
    const [saved] = (await database.saveRecords({ recordType: "Note", fields: { text: "from a server" } })).records;
    assert.match(saved.created.userRecordName, /^_/);
    const filterBy = { fieldName: "text", comparator: "EQUALS", fieldValue: "from a server" };
    const { records } = await database.performQuery({ recordType: "Note", filterBy });
    assert.deepEqual(records.map((record) => record.recordName), [saved.recordName]);
    assert.ok((await database.fetchAllRecordZones()).zones.length > 0);
});

test("a key may be given as text, and may be sealed by a passphrase", async () => {
    const sealed = await cloud.makeKey("open sesame");
    const text = { keyID: sealed.keyID, privateKey: readFileSync(sealed.privateKeyFile, "utf8"), privateKeyPassPhrase: "open sesame" };
    assert.ok(!(await withKey(text).fetchAllRecordZones()).hasErrors);
    const error = await refusal(withKey({ ...sealed, privateKeyPassPhrase: "wrong" }).fetchAllRecordZones());
    assert.equal(error.ckErrorCode, "CONFIGURATION_ERROR");
});

test("a signature with a date beyond ten minutes is refused", async () => {
    const key = await cloud.makeKey();
    const error = await refusal(withKey(key, { now: () => Date.now() - 11 * 60_000 }).fetchAllRecordZones());
    assert.deepEqual([error.ckErrorCode, error.reason], ["AUTHENTICATION_FAILED", "Authentication failed"]);
});

test("a key opens no private database", async () => {
    const container = cloud.container({ container: { serverToServerKeyAuth: await cloud.makeKey() } });
    assert.equal((await refusal(container.privateCloudDatabase.fetchAllRecordZones())).ckErrorCode, "AUTHENTICATION_FAILED");
});
