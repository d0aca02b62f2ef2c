import { test } from "node:test";
import assert from "node:assert/strict";
import { live, pause } from "../js/live.js";

/// A page that is seen or hidden, and a clock of timers that the test lets come.
function scene() {
    const page = Object.assign(new EventTarget(), { hidden: false });
    const timers = new Map();
    let number = 0;
    return {
        page, timers,
        later: (call, milliseconds) => { timers.set(++number, { call, milliseconds }); return number; },
        never: (id) => timers.delete(id),
        show(isShown) { page.hidden = !isShown; page.dispatchEvent(new Event("visibilitychange")); },
        async fire() { const [[id, timer]] = timers; timers.delete(id); timer.call(); await settle(); },
    }
}
const settle = () => new Promise((resolve) => setImmediate(resolve));

test("nothing is asked while the page is hidden, and at once when it is seen again", async () => {
    const stage = scene();
    let asked = 0;
    stage.page.hidden = true;
    const tail = live(async () => { asked++ }, { every: 500, ...stage });
    await settle();
    assert.deepEqual([asked, stage.timers.size], [0, 0]);
    stage.show(true);
    await settle();
    assert.deepEqual([asked, stage.timers.size], [1, 1]);
    stage.show(false);
    assert.equal(stage.timers.size, 0);
    stage.show(true);
    await settle();
    assert.equal(asked, 2);
    tail.stop();
});

test("a question that is under way is given up when the page is hidden", async () => {
    const stage = scene();
    let signal;
    const tail = live(given => { signal = given; return new Promise((_, fail) => given.addEventListener("abort", () => fail(new Error("aborted")))) }, stage);
    stage.show(false);
    assert.ok(signal.aborted);
    await settle();
    assert.equal(stage.timers.size, 0);
    tail.stop();
});

test("failures are told, and space the questions out until an answer comes", async () => {
    const stage = scene();
    const told = [];
    let isBroken = true;
    const tail = live(async () => { if (isBroken) throw new Error("away") }, { every: 1000, onerror: error => told.push(error.message), ...stage });
    await settle();
    assert.deepEqual([...stage.timers.values()].map(timer => timer.milliseconds), [2000]);
    await stage.fire();
    assert.deepEqual([...stage.timers.values()].map(timer => timer.milliseconds), [4000]);
    isBroken = false;
    await stage.fire();
    assert.deepEqual([...stage.timers.values()].map(timer => timer.milliseconds), [1000]);
    assert.deepEqual(told, ["away", "away"]);
    tail.stop();
});

test("nothing is asked any more once it is stopped", async () => {
    const stage = scene();
    let asked = 0;
    const tail = live(async () => { asked++ }, stage);
    await settle();
    tail.stop();
    assert.equal(stage.timers.size, 0);
    stage.show(false);
    stage.show(true);
    await settle();
    assert.equal(asked, 1);
});

test("a pause is a minute at most", () => {
    assert.deepEqual([0, 1, 2, 9].map(failures => pause(1000, failures)), [1000, 2000, 4000, 60_000]);
});
