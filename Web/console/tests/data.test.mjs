import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.document = { baseURI: "http://127.0.0.1:4000/console/" };

const { lookup, modify } = await import("../js/data.js");

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
