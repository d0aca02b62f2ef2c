import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { before, test } from "node:test";

import { refusal, startCloud } from "./support/cloud.mjs";

/** Requests of the library: method, path and bytes of the body. `breaks` says which of them fail. */
const sent = [];
let breaks = () => false;
/** Answers in the server's place, if it answers something. */
let answers = () => undefined;
const pauses = [];
let database;
before(async () => {
    const cloud = await startCloud();
    const fetch = async (url, options) => {
        const request = { method: options.method, path: new URL(url).pathname, bytes: options.body?.size ?? 0 };
        sent.push(request);
        if (breaks(request)) throw new TypeError("the connection broke");
        return answers(request) ?? globalThis.fetch(url, options);
    };
    const pause = async (milliseconds) => { pauses.push(milliseconds); };
    const container = await cloud.signedIn("ada@example.com", { services: { fetch, pause } });
    database = container.privateCloudDatabase;
    await database.saveRecordZones("Photos");
});

const megabytes = (count) => randomBytes(count * 1_048_576);

async function downloaded(asset) {
    const answer = await fetch(asset.downloadURL.replace("${f}", "photo.jpg"));
    assert.equal(answer.status, 200);
    return Buffer.from(await answer.arrayBuffer());
}

async function saved(fields, options = {}) {
    const answer = await database.saveRecords({ recordType: "Note", fields, ...options.record }, { zoneID: "Photos", ...options });
    assert.deepEqual(answer.errors, []);
    return (await database.fetchRecords(answer.records[0])).records[0];
}

test("a file in a field is sent, and comes back under its URL", async () => {
    const record = await saved({ picture: { value: new Blob(["blue"]) }, text: { value: "sea" } });
    assert.deepEqual([record.fields.picture.type, record.fields.picture.value.size, record.fields.text.value], ["ASSETID", 4, "sea"]);
    assert.equal((await downloaded(record.fields.picture.value)).toString(), "blue");
});

test("a list takes files, and assets that are there", async () => {
    const first = await saved({ pictures: [new Blob(["red"]), new Blob(["green"])] });
    const [red] = first.fields.pictures.value;
    const { records, errors } = await database.saveRecords({ ...first, fields: { pictures: { value: [red, new Blob(["blue"])] } } });
    assert.deepEqual(errors, []);
    const [record] = (await database.fetchRecords(records[0], { zoneID: "Photos" })).records;
    const contents = await Promise.all(record.fields.pictures.value.map(downloaded));
    assert.deepEqual(contents.map(String), ["red", "blue"]);
});

test("a field that is left undefined beside a file keeps its value", async () => {
    const first = await saved({ text: "sea" });
    const { errors } = await database.saveRecords({ ...first, fields: { picture: new Blob(["blue"]), text: undefined } });
    assert.deepEqual(errors, []);
    assert.equal((await database.fetchRecords(first)).records[0].fields.text.value, "sea");
});

test("a page's record keeps its file: the record that is saved is another one", async () => {
    const given = { recordType: "Note", fields: { picture: { value: new Blob(["x"]) } } };
    await database.saveRecords(given, { zoneID: "Photos" });
    assert.ok(given.fields.picture.value instanceof Blob && given.recordName === undefined);
});

test("a large file goes in parts, and tells its progress", async () => {
    const bytes = megabytes(3);
    const file = new Blob([bytes]);
    const told = [];
    sent.length = 0;
    const record = await saved({ picture: file }, { onProgress: (progress) => told.push(progress) });
    assert.ok((await downloaded(record.fields.picture.value)).equals(bytes));
    assert.deepEqual(sent.filter(({ method }) => method === "PATCH").map((part) => part.bytes), [1_048_576, 1_048_576, 1_048_576]);
    assert.deepEqual(told.map(({ loaded }) => loaded / 1_048_576), [0, 1, 2, 3]);
    assert.ok(told.every(({ total, file: one, fieldName, recordName }) => (
        total === bytes.length && one === file && fieldName === "picture" && recordName === record.recordName)));
});

test("chunks that the server has are not sent", async () => {
    const bytes = megabytes(2);
    await saved({ picture: new Blob([bytes]) });
    sent.length = 0;
    const record = await saved({ picture: new Blob([bytes, "and more"]) });
    assert.deepEqual(sent.filter(({ method }) => method === "PATCH").map((part) => part.bytes), [8]);
    assert.equal(record.fields.picture.value.size, bytes.length + 8);
});

test("after a broken connection a file goes on where it stood", async () => {
    const bytes = megabytes(3);
    let count = 0;
    breaks = ({ method }) => method === "PATCH" && (count += 1) === 2;
    sent.length = 0;
    const record = await saved({ picture: new Blob([bytes]) });
    breaks = () => false;
    assert.equal(sent.filter(({ method }) => method === "PATCH").length, 4);
    assert.ok((await downloaded(record.fields.picture.value)).equals(bytes));
});

test("a file goes on when the server is away for a moment, as soon as the server says", async () => {
    const busy = [
        new Response("<html>", { status: 502 }), new Response("<html>", { status: 503, headers: { "Retry-After": "7" } }),
        new Response(JSON.stringify({ serverErrorCode: "THROTTLED" }), { status: 429 }),
    ];
    answers = ({ method }) => (method === "PATCH" ? busy.shift() : undefined);
    pauses.length = 0;
    const bytes = megabytes(1);
    const record = await saved({ picture: new Blob([bytes]) });
    answers = () => undefined;
    assert.ok((await downloaded(record.fields.picture.value)).equals(bytes));
    assert.deepEqual(pauses, [1000, 7000, 4000]);
});

test("a small file is sent again, to a new URL, when the connection breaks and when the server is busy", async () => {
    const busy = () => new Response(JSON.stringify({ serverErrorCode: "TRY_AGAIN_LATER", retryAfter: 9 }), { status: 503 });
    let [tries, tokens] = [0, 0];
    breaks = ({ bytes }) => bytes === 4 && (tries += 1) === 1;
    answers = ({ bytes, path }) => {
        if (path.endsWith("/assets/upload")) return (tokens += 1) === 1 ? busy() : undefined;
        return bytes === 4 && tries === 2 ? busy() : undefined;
    };
    pauses.length = 0;
    const record = await saved({ picture: new Blob(["blue"]) });
    [breaks, answers] = [() => false, () => undefined];
    assert.equal((await downloaded(record.fields.picture.value)).toString(), "blue");
    assert.deepEqual([tries, tokens, pauses], [3, 4, [9000, 1000, 9000]]);
});

test("a small file whose connection keeps breaking ends the save", async () => {
    let tries = 0;
    breaks = ({ bytes }) => bytes === 4 && (tries += 1) > 0;
    const error = await refusal(database.saveRecords({ recordType: "Note", fields: { picture: new Blob(["blue"]) } }, { zoneID: "Photos" }));
    breaks = () => false;
    assert.deepEqual([error.ckErrorCode, tries], ["NETWORK_ERROR", 4]);
});

test("small files go before large ones, whose sending may outlast the URLs", async () => {
    sent.length = 0;
    await saved({ pictures: [new Blob([megabytes(1)]), new Blob([megabytes(1)]), new Blob(["small"])] });
    assert.equal(sent.find(({ bytes }) => bytes > 0).bytes, 5);
});

test("a file whose URL has expired behind other files is sent to a new one", async () => {
    const reason = "the URL of the upload has expired";
    let count = 0;
    answers = ({ bytes }) => (bytes === 4 && (count += 1) === 1
        ? new Response(JSON.stringify({ serverErrorCode: "BAD_REQUEST", reason }), { status: 400 }) : undefined);
    const record = await saved({ picture: new Blob(["blue"]) });
    answers = () => undefined;
    assert.deepEqual([count, (await downloaded(record.fields.picture.value)).toString()], [2, "blue"]);
});

test("a connection that keeps breaking ends the save, and nothing is saved", async () => {
    breaks = ({ method }) => method === "PATCH";
    const never = { recordType: "Note", recordName: "never", fields: { picture: new Blob([megabytes(1)]) } };
    const error = await refusal(database.saveRecords(never, { zoneID: "Photos" }));
    breaks = () => false;
    assert.equal(error.ckErrorCode, "NETWORK_ERROR");
    assert.equal((await database.fetchRecords("never", { zoneID: "Photos" })).errors[0].ckErrorCode, "NOT_FOUND");
});

test("a file whose record has no type is refused before it is sent", async () => {
    sent.length = 0;
    const error = await refusal(database.saveRecords({ fields: { picture: new Blob(["x"]) } }));
    assert.deepEqual([error.ckErrorCode, sent.length], ["INVALID_ARGUMENTS", 0]);
});
