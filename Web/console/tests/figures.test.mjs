import { test } from "node:test";
import assert from "node:assert/strict";
import { change, figure, latency, limit, seconds, sentence, size, span } from "../js/figures.js";

test("a size is read with its unit of 1024, and nothing else is", () => {
    const table = [["0", 0], ["250M", 250 * 2 ** 20], ["1.5G", 1.5 * 2 ** 30], [" 20 kb ", 20 * 1024], ["7B", 7], ["much", undefined],
        ["", undefined], ["-1M", undefined], ["1 M M", undefined]];
    for (const [text, value] of table) assert.equal(size(text), value, text);
});

test("a time is read with its unit", () => {
    for (const [text, value] of [["30d", 2_592_000], ["48h", 172_800], ["5m", 300], ["0s", 0], ["10", 10], ["1.5h", 5400], ["soon", undefined],
        ["5 min", undefined]]) assert.equal(seconds(text), value, text);
    for (const [value, text] of [[0, "0 s"], [45, "45 s"], [300, "5 min"], [5400, "1.5 h"], [172_800, "2 d"]]) assert.equal(span(value), text);
});

test("the limit of an alert is read in the unit of its kind", () => {
    const table = [["10%", "percent", 10], ["7.5", "percent", 7.5], ["5G", "bytes", 5 * 2 ** 30], ["48h", "seconds", 172_800],
        ["250ms", "milliseconds", 250], ["1.5s", "milliseconds", 1500], ["1000", "perMinute", 1000],
        ["10%", "count", undefined], ["5G", "percent", undefined], ["", "count", undefined]];
    for (const [text, unit, value] of table) assert.equal(limit(text, unit), value, `${text} ${unit}`);
});

test("a figure is written in the unit of its kind", () => {
    const table = [[56.912, "percent", "56.9 %"], [5 * 2 ** 30, "bytes", "5.0 GB"], [172_800, "seconds", "2 d"], [8, "count", "8"],
        [90, "perMinute", "90 a minute"], [12.34, "milliseconds", "12.3 ms"], [undefined, "count", "–"]];
    for (const [value, unit, text] of table) assert.equal(figure(value, unit), text);
});

test("a change against the period before is a part, or new, or nothing", () => {
    assert.equal(change(undefined, 5), undefined);
    assert.equal(change(0, 0), undefined);
    assert.deepEqual(change(0, 5), { text: "new", tone: "up" });
    assert.deepEqual(change(100, 100.2), { text: "same", tone: "" });
    assert.deepEqual(change(100, 162), { text: "↑ 62 %", tone: "up" });
    assert.deepEqual(change(100, 25), { text: "↓ 75 %", tone: "down" });
    assert.deepEqual(change(1, 21), { text: "↑ 21 ×", tone: "up" });
});

test("a change is told with what it comes from", () => {
    const told = sentence({ figure: "requests", before: 835, after: 1351,
        causes: [{ property: "operation", name: "records/modify", share: 0.512, before: 1, after: 2 },
            { property: "index", name: "none", share: 1.4, before: 1, after: 2 }] });
    assert.deepEqual(told, { head: "Requests went up from 835 to 1,351.",
        because: ["operation records/modify (51.2 %)", "index none (more than all)"] });
    assert.equal(sentence({ figure: "latency", before: 5.6, after: 3.9, causes: [] }).head, "The latency went down from 5.6 ms to 3.9 ms.");
    assert.equal(sentence({ figure: "errorRate", before: 0.01, after: 0.25, causes: [] }).head, "The error rate went up from 1 % to 25 %.");
    assert.equal(latency(1234), "1.2 s");
});
