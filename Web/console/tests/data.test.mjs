import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

globalThis.document = { baseURI: "http://127.0.0.1:4000/console/" };

const { lookup, modify, query } = await import("../js/data.js");
const { text } = await import("../js/values.js");

test("a record knows the zone that it was asked of, which the answer does not name", async () => {
    globalThis.fetch = async (url, { body }) => {
        const { zoneID } = JSON.parse(JSON.parse(body).request);
        const records = [{ recordName: "a", recordType: zoneID?.zoneName ?? "none" }];
        return new Response(JSON.stringify({ answer: JSON.stringify({ records }) }), { headers: { "Content-Type": "application/json" } });
    };
    const of = { container: "iCloud.com.example", environment: "development", database: "private", user: "ada@example.com" };
    const [saved] = await modify(of, [], "Work");
    const found = await lookup({ ...of, database: "shared", owner: "_bob" }, "a", "Work");
    const [first] = await modify(of, [], undefined);
    assert.deepEqual([saved, found, first].map(({ zoneID, recordType }) => [zoneID.zoneName, zoneID.ownerRecordName, recordType]),
        [["Work", undefined, "Work"], ["Work", "_bob", "Work"], ["_defaultZone", undefined, "none"]]);
});

test("a file that the record's manifest lists is sealed, and another one of the record is a file", async () => {
    const vectors = JSON.parse(await readFile(new URL("../../../Scripts/encryption/vectors.json", import.meta.url)));
    const file = (size) => ({ value: { size, fileChecksum: "x" }, type: "ASSETID" });
    const asked = [];
    globalThis.fetch = async (url, { body }) => {
        asked.push(JSON.parse(JSON.parse(body).request).nacre);
        const record = { recordName: "note", recordType: "Note", fields: { scan: file(5), photo: file(6), title: { value: "x", type: "STRING" } },
            nacre: { manifest: Buffer.from(vectors.records.manifest, "hex").toString("base64") } };
        const plain = { ...record, fields: { scan: file(5) }, nacre: {} };
        return new Response(JSON.stringify({ answer: JSON.stringify({ records: [record, plain] }), lines: [] }), {
            headers: { "Content-Type": "application/json" } });
    };
    const of = { container: "iCloud.com.example", environment: "development", database: "private", user: "ada@example.com" };
    const shown = ({ fields }) => Object.values(fields).map(text);
    assert.deepEqual(shown(await lookup(of, "note", "Work")), ["sealed", "6 B file", "x"]);
    assert.deepEqual((await query(of, {})).records.map(shown), [["sealed", "6 B file", "x"], ["5 B file"]]);
    assert.deepEqual((await modify(of, [], "Work")).map(shown), [["sealed", "6 B file", "x"], ["5 B file"]]);
    assert.deepEqual(asked, Array(3).fill({ details: true }));
});
