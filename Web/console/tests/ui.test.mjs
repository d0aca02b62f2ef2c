import assert from "node:assert/strict";
import { test } from "node:test";

import { absolute, ago, number, worded } from "../js/ui.js";

test("a number has its thousands apart, and three decimals at most", () => {
    assert.deepEqual([0, 999, 1000, 1234567, -45678, 1234.56789, 0.0001, undefined].map(number),
        ["0", "999", "1,000", "1,234,567", "-45,678", "1,234.568", "0", "–"]);
});

test("a time is told in its largest unit, before now and after", () => {
    const told = (seconds) => ago(Date.now() + seconds * 1000);
    assert.deepEqual([0, -20, -180, 7200, -86400, 3 * 86400, -40 * 86400, -800 * 86400].map(told),
        ["now", "20 sec. ago", "3 min. ago", "in 2 hr.", "1 day ago", "in 3 days", "1 mo. ago", "2 yr. ago"]);
});

test("a refusal keeps the server's words, and a fault of the page has others than the script's", () => {
    const refused = { reason: "The name is taken.", remedy: "Take another." };
    assert.equal(worded(refused), refused);
    for (const fault of [new TypeError("Cannot read properties of undefined (reading 'map')"), "text", undefined, null]) {
        const { reason, remedy } = worded(fault);
        assert.ok(reason && remedy && !/undefined|null/.test(reason + remedy));
    }
});

test("a time is that of the clock on the wall, also where summer time begins and ends, or UTC", () => {
    process.env.TZ = "Europe/Berlin";
    const times = [["2026-03-29T00:59:59Z", "2026-03-29 01:59:59"], ["2026-03-29T01:00:00Z", "2026-03-29 03:00:00"],
        ["2026-10-25T00:30:00Z", "2026-10-25 02:30:00"], ["2026-10-25T01:30:00Z", "2026-10-25 02:30:00"]];
    for (const [value, text] of times) assert.equal(absolute(value, false), text);
    assert.equal(absolute("2026-10-25T00:30:00.5Z", true), "2026-10-25 00:30:00 UTC");
    assert.equal(absolute("soon", false), "no date");
});
