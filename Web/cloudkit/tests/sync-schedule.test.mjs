/** Tests of docs/sync-engine.md, By itself: when. The numbers are that page's. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { CKError } from "../src/module.js";
import { endingOf, Schedule } from "../src/engine/schedule.js";

const busy = { kind: "retry", isNetwork: false };
const offline = { kind: "retry", isNetwork: true };
const send = { fetch: false, send: true };
const fetch = { fetch: true, send: false };
const at = (now, more) => ({ now, spread: 1, ...more });

test("nothing is done that nobody wants, and what is wanted is done at once, and once (38)", () => {
    const schedule = new Schedule();
    assert.equal(schedule.decide(0), undefined);
    schedule.want({ fetch: true });
    schedule.want({ send: true });
    assert.deepEqual(schedule.decide(0), { run: { fetch: true, send: true } });
    schedule.begin({ fetch: true, send: true });
    assert.equal(schedule.decide(0), undefined);
    schedule.want(send);
    schedule.end(send, { kind: "success" }, at(0));
    assert.deepEqual(schedule.decide(0), { run: send }, "what was wanted meanwhile");
});

test("pauses double from one second to five minutes, and begin again after a success (39)", () => {
    const schedule = new Schedule();
    const pauses = Array.from({ length: 11 }, () => {
        schedule.end(send, busy, at(100));
        return schedule.decide(100).wait;
    });
    assert.deepEqual(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
    schedule.end(send, { kind: "success" }, at(400));
    schedule.end(send, busy, at(400, { spread: 0 }));
    assert.deepEqual(schedule.decide(400), { wait: 0.75 });
});

test("the server's seconds count where they are more, and hold only what failed (39)", () => {
    const schedule = new Schedule();
    schedule.end(send, { ...busy, after: 30 }, at(0));
    assert.deepEqual(schedule.decide(0), { wait: 30 });
    schedule.want(fetch);
    assert.deepEqual(schedule.decide(0), { run: fetch });
    schedule.begin(fetch);
    schedule.end(fetch, { kind: "success" }, at(10));
    schedule.want(send);
    assert.deepEqual(schedule.decide(10), { wait: 20 }, "neither a fetch nor wanting more hurries what the server asked to wait for");
    schedule.retryNow();
    assert.deepEqual(schedule.decide(10), { run: send });
});

test("a pause for want of a network ends when the other direction reaches the server (39)", () => {
    const schedule = new Schedule();
    for (let count = 0; count < 6; count += 1) schedule.end({ fetch: true, send: true }, offline, at(0));
    assert.deepEqual(schedule.decide(0), { wait: 32 });
    schedule.begin(fetch);
    schedule.end(fetch, { kind: "success" }, at(1));
    assert.deepEqual(schedule.decide(1), { run: send });
    schedule.begin(send);
    schedule.end(send, offline, at(1));
    assert.deepEqual(schedule.decide(1), { wait: 64 }, "a network that comes and goes is not a success");
});

test("a call by hand that fails leaves the pause as it is, and one that succeeds ends it (39)", () => {
    const schedule = new Schedule();
    for (let count = 0; count < 3; count += 1) schedule.end(send, busy, at(0, { byHand: true }));
    assert.deepEqual(schedule.decide(0), { wait: 1 }, "it is tried again, after the first pause");
    schedule.end(send, { kind: "success" }, at(0.5, { byHand: true }));
    assert.deepEqual(schedule.decide(0.5), { run: send });
});

test("scheduled work that the app cancels is done after the first pause, and a cancelled call by hand changes nothing (5, 39)", () => {
    const schedule = new Schedule();
    schedule.end(send, { kind: "cancelled" }, at(0, { byHand: true }));
    assert.equal(schedule.decide(0), undefined);
    schedule.end(send, { kind: "cancelled" }, at(0));
    assert.deepEqual(schedule.decide(0), { wait: 1 });
});

test("changes that fail for good and are added again go at once, and then with longer pauses, until one succeeds (16, 39)", () => {
    const schedule = new Schedule();
    const added = (kind) => {
        schedule.begin(send);
        schedule.want(send);
        schedule.end(send, { kind }, at(0));
        return schedule.decide(0).wait ?? 0;
    };
    assert.deepEqual(["fruitless", "fruitless", "fruitless", "success", "fruitless"].map(added), [0, 1, 2, 0, 0]);
});

test("a failure of items says how a run ended by what may pass, and by the longest time that the server asks for (39)", () => {
    const errorOf = (ckErrorCode, more) => new CKError({ ckErrorCode, ...more });
    const partly = (...errors) => errorOf("PARTIAL_FAILURE", { errors });
    const several = [errorOf("CONFLICT"), errorOf("TRY_AGAIN_LATER", { retryAfter: 3 }), errorOf("THROTTLED", { retryAfter: 7 })];
    assert.deepEqual(endingOf(partly(...several), true), { kind: "retry", after: 7, isNetwork: false });
    assert.deepEqual(endingOf(errorOf("NETWORK_ERROR"), false), { kind: "retry", after: undefined, isNetwork: true });
    assert.deepEqual(endingOf(partly(errorOf("OPERATION_CANCELLED"), errorOf("NETWORK_ERROR")), true), { kind: "cancelled" });
    assert.deepEqual([endingOf(partly(errorOf("CONFLICT")), true), endingOf(partly(errorOf("CONFLICT")), false), endingOf(undefined, true)],
        [{ kind: "fruitless" }, { kind: "success" }, { kind: "success" }]);
    assert.equal(endingOf(new Error("of the delegate's"), false).kind, "retry");
});
