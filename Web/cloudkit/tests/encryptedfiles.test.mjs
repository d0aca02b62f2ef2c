import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { before, test } from "node:test";

import { refusal, startCloud } from "./support/cloud.mjs";
import { deviceOf, enrolled, fetched, saved, secret } from "./support/secrets.mjs";

let cloud;
/** A device with keys, and one of the same user without. */
let device;
let other;
const parts = [];
/** Says which requests of files break. */
let breaks = () => false;
before(async () => {
    cloud = await startCloud();
    await cloud.makeUser("ada@example.com");
    device = await deviceOf(cloud, "ada@example.com");
    await device.database.saveRecordZones(["Photos", "Other"]);
    await saved(device, { fields: { diagnosis: secret("flu") } }, inZone);
    device.request = (url, { method, body }) => {
        if (!url.includes("/assets/") || url.includes("/database/") || method === "GET") return;
        parts.push({ method, body });
        if (breaks(method)) throw new TypeError("the connection broke");
    };
    other = await deviceOf(cloud, "ada@example.com");
});

const inZone = { zoneID: { zoneName: "Photos" } };
const bytesOf = async (blob) => Buffer.from(await blob.arrayBuffer());
const rawBytes = async ({ downloadURL }) => bytesOf(await (await fetch(downloadURL.replace("${f}", "a"))).blob());
const opened = async (by, asset) => bytesOf(await by.database.fetchFile(asset, inZone));

test("a file in a zone with keys is sent sealed, and comes back opened", async () => {
    for (const content of ["", "a short file", randomBytes(300_000), randomBytes(1 << 20)]) {
        const record = await saved(device, { fields: { scan: new Blob([content]) } }, inZone);
        const { fields: { scan: { value } } } = await fetched(device, record.recordName, inZone);
        assert.match(value.encryptionRoot, /^[0-9a-f]{64}$/);
        assert.ok((await opened(device, value)).equals(Buffer.from(content)), `${content.length} bytes`);
        const raw = await rawBytes(value);
        assert.equal(raw.length, value.size);
        assert.ok(content.length === 0 || !raw.includes(content));
    }
});

test("a large file goes sealed in parts, tells its progress in bytes of the page's file, and goes on after a broken connection", async () => {
    const bytes = randomBytes(3 * 1_048_576 + 5);
    const told = [];
    let count = 0;
    parts.length = 0;
    breaks = (method) => method === "PATCH" && (count += 1) === 2;
    const record = await saved(device, { fields: { scan: new Blob([bytes]) } }, { ...inZone, onProgress: (progress) => told.push(progress) });
    breaks = () => false;
    assert.deepEqual(parts.map(({ body }) => body.size), [1_048_678, 1_048_678, 1_048_678, 1_048_678, 118]);
    assert.ok(told.every(({ total, loaded }) => total === bytes.length && loaded <= total));
    assert.equal(told.at(-1).loaded, bytes.length);
    assert.ok((await opened(device, record.fields.scan.value)).equals(bytes));
    parts.length = 0;
    await saved(device, { fields: { scan: new Blob([bytes.subarray(0, 2 * 1_048_576), "another end"]) } }, inZone);
    assert.deepEqual(parts.map(({ body }) => body.size), [118], "chunks that the server has are not sent");
});

test("a list is sealed as a whole: its files keep their order and their seals, and plain ones are sealed beside a new one", async () => {
    const first = await saved(device, { fields: { scans: [new Blob(["red"]), new Blob(["green"])] } }, inZone);
    const [red, green] = first.fields.scans.value;
    const second = await saved(device, { ...first, fields: { scans: { value: [green, new Blob(["blue"]), red] } } }, inZone);
    const { fields: { scans: { value } } } = await fetched(device, second.recordName, inZone);
    assert.deepEqual(await Promise.all(value.map(async (asset) => String(await opened(device, asset)))), ["green", "blue", "red"]);
    assert.deepEqual([value[0].encryptionRoot, value[2].encryptionRoot], [green.encryptionRoot, red.encryptionRoot]);
    const plain = cloud.container();
    await plain.signIn(await cloud.webAuthToken("ada@example.com"));
    const given = { recordType: "Secret", recordName: "plain", fields: { scans: [new Blob(["plain"])] } };
    assert.deepEqual((await plain.privateCloudDatabase.saveRecords(given, inZone)).errors, []);
    const record = await fetched(device, "plain", inZone);
    assert.equal(record.fields.scans.value[0].encryptionRoot, undefined);
    assert.equal(String(await opened(device, record.fields.scans.value[0])), "plain");
    const mixed = await saved(device, { ...record, fields: { scans: [record.fields.scans.value[0], new Blob(["new"])] } }, inZone);
    assert.ok(mixed.fields.scans.value.every(({ encryptionRoot }) => encryptionRoot));
    assert.deepEqual(await Promise.all(mixed.fields.scans.value.map(async (asset) => String(await opened(device, asset)))), ["plain", "new"]);
});

test("a file stays with its record when other fields are saved, when it goes back as it came, and until it is cleared", async () => {
    const first = await saved(device, { fields: { title: "a", diagnosis: secret("flu"), scan: new Blob(["red"]) } }, inZone);
    const second = await saved(device, { ...first, fields: { diagnosis: secret("cold") } }, inZone);
    const third = await saved(device, { ...await fetched(device, second.recordName, inZone) }, inZone);
    assert.equal(String(await opened(device, third.fields.scan.value)), "red");
    const cleared = await saved(device, { ...third, fields: { scan: null } }, inZone);
    assert.equal(cleared.fields.scan, undefined);
    assert.equal((await fetched(device, first.recordName, inZone)).fields.diagnosis.value, "cold");
});

test("a file of an account without keys is plain, and one of a zone with keys is not sent by a device without", async () => {
    await cloud.makeUser("ben@example.com");
    const ben = await deviceOf(cloud, "ben@example.com");
    const { fields: { scan: { value } } } = await saved(ben, { fields: { scan: new Blob(["plain"]) } });
    assert.equal(value.encryptionRoot, undefined);
    assert.equal(String(await rawBytes(value)), "plain");
    assert.equal((await ben.keys.status()).keys, "none");
    const error = await refusal(saved(other, { recordName: "never", fields: { scan: new Blob(["x"]) } }, inZone));
    assert.deepEqual([error.ckErrorCode, error.errors[0].recordName], ["ENCRYPTION_KEYS_REQUIRED", "never"]);
    assert.match(error.remedy, /Enrol this device/);
    assert.ok(!other.sent.some(({ endpoint }) => endpoint === "assets/upload"));
});

test("a device without keys is shown a sealed file without its address, keeps it, and opens it once it is enrolled", async () => {
    const { recordName } = await saved(device, { fields: { title: "a", scan: new Blob(["red"]) } }, inZone);
    const record = await fetched(other, recordName, inZone);
    const { fileChecksum, downloadURL, encryptionRoot } = record.fields.scan.value;
    assert.deepEqual([typeof fileChecksum, downloadURL, encryptionRoot], ["string", undefined, undefined]);
    await saved(other, { ...record, fields: { ...record.fields, title: "b" } }, inZone);
    await enrolled(other, device);
    const { fields } = await fetched(other, recordName, inZone);
    assert.deepEqual([fields.title.value, String(await opened(other, fields.scan.value))], ["b", "red"]);
    await other.database.saveRecords({ ...record, recordChangeTag: undefined, recordName: "mine", fields: { scan: new Blob(["other's"]) } }, inZone);
    assert.equal(String(await opened(device, (await fetched(device, "mine", inZone)).fields.scan.value)), "other's");
});

test("a list that was read without keys is not saved shorter or in another order, and stays sealed", async () => {
    const { recordName } = await saved(device, { fields: { scans: ["red", "green", "blue"].map((text) => new Blob([text])) } }, inZone);
    const late = await deviceOf(cloud, "ada@example.com");
    const record = await fetched(late, recordName, inZone);
    const files = record.fields.scans.value;
    await enrolled(late, device);
    for (const value of [files.slice(1), [...files].reverse()]) {
        const changed = { ...record, fields: { scans: { ...record.fields.scans, value }, diagnosis: secret("flu") } };
        const error = await refusal(saved(late, changed, inZone));
        assert.deepEqual([error.ckErrorCode, /fetch the record anew/.test(error.reason)], ["INVALID_ARGUMENTS", true]);
    }
    const { fields: { scans }, ...fresh } = await fetched(late, recordName, inZone);
    const kept = await saved(late, { ...fresh, fields: { scans: { ...scans, value: scans.value.slice(1) } } }, inZone);
    assert.deepEqual(await Promise.all(kept.fields.scans.value.map(async (asset) => String(await opened(device, asset)))), ["green", "blue"]);
});

test("another file, a chunk less, a changed byte, another count and a root of the server's are refused", async () => {
    const long = randomBytes(1_048_576 + 3);
    const { recordName, fields } = await saved(device, { fields: { scan: new Blob([long]), scans: [new Blob(["a"]), new Blob(["b"])] } }, inZone);
    const { value } = fields.scan;
    const [a, b] = fields.scans.value;
    const raw = await rawBytes(value);
    const served = (content) => { device.answer = (url) => (url.includes("/assets/") ? new Response(content) : undefined); };
    const changed = Buffer.from(raw);
    changed[200] ^= 1;
    for (const content of [changed, raw.subarray(0, -1), raw.subarray(0, 1_048_678), Buffer.concat([raw, raw]), randomBytes(raw.length), ""]) {
        served(content);
        assert.equal((await refusal(device.database.fetchFile(value, inZone))).ckErrorCode, "ENCRYPTION_REFUSED", `${content.length} bytes`);
    }
    device.answer = undefined;
    const { encryptionRoot } = a;
    assert.match((await refusal(device.database.fetchFile({ ...b, encryptionRoot }, inZone))).reason, /not the one that was saved/);
    assert.equal((await refusal(device.database.fetchFile(value, { zoneID: "Other" }))).ckErrorCode, "ENCRYPTION_KEYS_REQUIRED");
    device.change = (endpoint, answer) => {
        for (const record of endpoint === "records/lookup" ? answer.records : []) record.fields.scans.value.pop();
        return answer;
    };
    assert.match((await refusal(fetched(device, recordName, inZone))).reason, /not those that were saved together/);
    device.change = (endpoint, answer) => {
        for (const record of endpoint === "records/lookup" ? answer.records : []) record.fields.scan.value.encryptionRoot = encryptionRoot;
        return answer;
    };
    assert.equal((await fetched(device, recordName, inZone)).fields.scan.value.encryptionRoot, value.encryptionRoot);
    device.change = undefined;
});
