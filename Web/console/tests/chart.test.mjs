import { test } from "node:test";
import assert from "node:assert/strict";
import { labelled, moved, period, short, slotAt, slotWords, steps, summary } from "../js/chart.js";

test("an axis begins at 0, has few round steps, and reaches the largest value", () => {
    assert.deepEqual(steps(0), [0, 1]);
    assert.deepEqual(steps(NaN), [0, 1]);
    assert.deepEqual(steps(1), [0, 1]);
    assert.deepEqual(steps(7), [0, 2, 4, 6, 8]);
    assert.deepEqual(steps(100), [0, 50, 100]);
    assert.deepEqual(steps(0.3, 4, false), [0, 0.1, 0.2, 0.3]);
    for (const most of [1, 3, 9, 10, 11, 99, 101, 12_345, 9e9]) {
        const found = steps(most);
        assert.ok(found.at(-1) >= most && found.length <= 6, `${most}: ${found}`);
        assert.ok(found.every(Number.isInteger));
    }
});

test("a pointer means the slot under it, and at the edges the outermost", () => {
    assert.equal(slotAt(-5, 600, 60), 0);
    assert.equal(slotAt(0, 600, 60), 0);
    assert.equal(slotAt(305, 600, 60), 30);
    assert.equal(slotAt(900, 600, 60), 59);
    assert.equal(slotAt(10, 0, 60), 0);
    assert.equal(slotAt(10, 100, 0), 0);
});

test("labels are as many as fit", () => {
    assert.deepEqual(labelled(60, 6), [0, 10, 20, 30, 40, 50]);
    assert.deepEqual(labelled(3, 10), [0, 1, 2]);
    assert.deepEqual(labelled(0, 10), []);
    assert.deepEqual(labelled(5, 0), []);
});

test("a large number is written in few characters", () => {
    const table = [[0, "0"], [7, "7"], [950, "950"], [1000, "1k"], [1234, "1.2k"], [34_400, "34k"], [999_600, "1M"], [5_600_000, "5.6M"], [2e9, "2G"], [0.25, "0.25"]];
    for (const [value, text] of table) assert.equal(short(value), text);
});

test("a slot has the words that its length needs", () => {
    const noon = Date.UTC(2026, 4, 9, 12, 0, 10);
    assert.equal(slotWords(noon, 60_000, 3_600_000, "UTC"), "12:00");
    assert.equal(slotWords(noon, 10_000, 600_000, "UTC"), "12:00:10");
    assert.equal(slotWords(noon, 86_400_000, 30 * 86_400_000, "UTC"), "9 May");
    assert.equal(slotWords(noon, 6 * 3_600_000, 7 * 86_400_000, "UTC"), "9 May, 12:00");
});

test("a summary says totals and peaks, and that there is nothing", () => {
    const starts = [Date.UTC(2026, 0, 1, 9), Date.UTC(2026, 0, 1, 10)];
    const spec = { title: "Requests", starts, slot: 3_600_000, timeZone: "UTC", series: [{ name: "requests", values: [3, 8] }, { name: "errors", values: [0, 0] }] };
    assert.equal(summary(spec), "Requests. requests: 11 in all, at most 8 at 10:00; errors: none.");
    assert.equal(summary({ ...spec, starts: [] }), "Requests: no data.");
});

test("keys move the cursor, and with shift they select", () => {
    assert.deepEqual(moved({ at: 5, anchor: null }, "ArrowLeft", false, 10), { at: 4, anchor: null });
    assert.deepEqual(moved({ at: 5, anchor: null }, "ArrowRight", true, 10), { at: 6, anchor: 5 });
    assert.deepEqual(moved({ at: 6, anchor: 5 }, "ArrowRight", true, 10), { at: 7, anchor: 5 });
    assert.deepEqual(moved({ at: 7, anchor: 5 }, "Home", false, 10), { at: 0, anchor: null });
    assert.deepEqual(moved({ at: 9, anchor: null }, "PageDown", false, 10), { at: 9, anchor: null });
    assert.equal(moved({ at: 5, anchor: null }, "x", false, 10), null);
    assert.equal(moved({ at: -1, anchor: null }, "Home", false, 0), null);
});

test("a chosen period has both of its slots whole, in either direction", () => {
    assert.deepEqual(period([100, 110, 120], 10, 2, 0), { from: 100, to: 130 });
    assert.deepEqual(period([100, 110, 120], 10, 1, 1), { from: 110, to: 120 });
});
