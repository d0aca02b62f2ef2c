import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Scope } from "../src/engine/batch.js";
import { refusal, startCloud } from "./support/cloud.mjs";
import { settled } from "./support/eventserver.mjs";
import { makeLocks } from "./support/locks.mjs";
import { nameOf, NoteApp } from "./support/notes.mjs";
import { Clock, Device } from "./support/sync.mjs";
import { MemoryStore, sharedToken } from "./support/tabs.mjs";

let cloud;
let users = 0;
before(async () => { cloud = await startCloud(); });
// A message to another tab does not keep Node alive.
const alive = setInterval(() => {}, 1000);
after(() => clearInterval(alive));

/** What the tabs of one browser share: the app's notes, the store and the locks. */
async function browser() {
    users += 1;
    const email = `ada-${users}@example.com`;
    await cloud.makeUser(email);
    return { email, notes: new Map(), store: new MemoryStore(), locks: makeLocks(), authTokenStore: sharedToken() };
}

/** A tab. Its app has the browser's notes, and leaves the state to the store. */
async function tab({ email, notes, store, locks, authTokenStore }) {
    const device = await Device.signedIn(cloud, email, { authTokenStore, clock: new Clock() });
    await device.engine.stop();
    const app = new NoteApp();
    app.notes = notes;
    device.start(app, false, { store, locks });
    return device;
}

/** A device of the user's with nothing that the browser has. */
const other = ({ email }) => Device.signedIn(cloud, email);

test("a store keeps the state, and the engine of the next visit goes on from it", async () => {
    const shared = await browser();
    const first = await tab(shared);
    first.write("one", "bread");
    assert.equal(await first.send(), "ok");
    first.write("two", "wine");
    await first.told();
    await first.engine.stop();
    const second = await tab(shared);
    await second.told();
    assert.deepEqual(second.engine.state.pendingRecordZoneChanges.map(({ recordID }) => recordID.recordName), ["two"]);
    assert.equal(await second.send(), "ok");
    assert.deepEqual(second.app.events, ["willSend", "sent +two", "didSend"]);
    assert.deepEqual(await second.served(), { one: ["bread"], two: ["wine"] });
    await second.engine.stop();
});

test("of two tabs one runs: it sends what the other adds, and makes its calls", async () => {
    const shared = await browser();
    const [first, second] = [await tab(shared), await tab(shared)];
    await first.told();
    second.write("one", "bread");
    assert.equal(await second.send(), "ok");
    assert.ok(first.app.events.includes("sent +one"));
    assert.deepEqual([second.app.log, second.network.paths], [[], []], "the second tab's engine asks nothing of the server");
    const device = await other(shared);
    assert.equal(await device.fetch(), "ok");
    assert.deepEqual(device.app.words, { one: ["bread"] });
    device.write("one", "wine");
    await device.send();
    assert.equal(await second.fetch(), "ok");
    assert.deepEqual(Object.fromEntries([...shared.notes.values()].map(({ recordName, words }) => [recordName, [...words]])), { one: ["bread", "wine"] });
    await Promise.all([first, second].map(({ engine }) => engine.stop()));
});

test("the errors of a call that another tab makes are its own, with those of the items", async () => {
    const shared = await browser();
    const [first, second] = [await tab(shared), await tab(shared)];
    await first.told();
    second.engine.state.add({ pendingDatabaseChanges: [{ type: "deleteZone", zoneID: "Gone" }] });
    const error = await refusal(second.engine.sendChanges());
    assert.deepEqual([nameOf(error), error.errors.map(nameOf), error.isCKError], ["partialFailure", ["zoneNotFound"], true]);
    await first.engine.stop();
    await second.engine.stop();
});

test("when the tab that runs is closed, the next one goes on, and has what both have added", async () => {
    const shared = await browser();
    const [first, second, third] = [await tab(shared), await tab(shared), await tab(shared)];
    await first.fetch();
    first.write("one", "bread");
    await first.told();
    second.write("two", "wine");
    third.write("three", "olives");
    const left = third.send();
    first.app.isDead = true;
    await first.engine.stop();
    assert.equal(await left, "ok");
    assert.equal(await second.send(), "ok");
    const device = await other(shared);
    await device.fetch();
    assert.deepEqual(device.app.words, { one: ["bread"], three: ["olives"], two: ["wine"] });
    await second.engine.stop();
    await third.engine.stop();
});

test("a tab that is closed while it waits leaves what it has added, and its calls are refused", async () => {
    const shared = await browser();
    const first = await tab(shared);
    await first.fetch();
    // Nobody hears the second tab's call: the first one's work does not end.
    let release;
    first.app.hook = () => new Promise((resolve) => { release = resolve; });
    const busy = first.fetch();
    const second = await tab(shared);
    second.write("one", "bread");
    const call = second.send();
    await new Promise((resolve) => { setTimeout(resolve); });
    await second.engine.stop();
    assert.equal(await call, "operationCancelled");
    first.app.hook = () => {};
    release();
    await busy;
    await first.engine.stop();
    const third = await tab(shared);
    assert.equal(await third.send(), "ok");
    assert.deepEqual(await third.served(), { one: ["bread"] });
    await third.engine.stop();
});

test("a store that fails, or has a state that is damaged, refuses each call and sends nothing", async () => {
    const shared = await browser();
    for (const load of [() => Promise.reject(new Error("no disk")), async () => ({ state: "damaged", edits: [] })]) {
        shared.store = new MemoryStore();
        shared.store.load = load;
        const device = await tab(shared);
        device.write("one", "bread");
        for (const ask of ["send", "fetch"]) assert.match(await device[ask](), /UNKNOWN_ERROR|invalidArguments/);
        assert.deepEqual(device.network.paths, []);
        await device.engine.stop();
    }
});

test("a state that is not kept is not told, and the next one has what it had", async () => {
    const shared = await browser();
    const device = await tab(shared);
    await device.fetch();
    device.app.log = [];
    const { keep } = shared.store;
    shared.store.keep = () => Promise.reject(new Error("the disk is full"));
    device.write("one", "bread");
    await device.told();
    assert.deepEqual(device.app.log, []);
    shared.store.keep = keep;
    assert.equal(await device.send(), "ok");
    assert.equal(device.app.log[0], "willSend");
    await device.engine.stop();
    const next = await tab(shared);
    await next.told();
    assert.deepEqual(next.engine.state.pendingRecordZoneChanges, []);
    await next.engine.stop();
});

test("a store that fails to read loses nothing: the state stays as it is, and the engine goes on when it can be read", async () => {
    const shared = await browser();
    const first = await tab(shared);
    await first.fetch();
    first.write("one", "bread");
    await first.told();
    await first.engine.stop();
    const { load, kept } = shared.store;
    shared.store.load = () => Promise.reject(new Error("no disk"));
    const second = await tab(shared);
    const pausing = second.clock.sleeper(1);
    second.write("two", "wine");
    assert.equal(await second.send(), "UNKNOWN_ERROR");
    await pausing;
    assert.equal(shared.store.kept, kept);
    shared.store.load = load;
    second.clock.advance(1);
    await settled();
    await second.told();
    assert.equal(await second.send(), "ok");
    assert.deepEqual(await second.served(), { one: ["bread"], two: ["wine"] });
    await second.engine.stop();
});

test("a change that the store refused is kept with the next one, or at the tab's turn", async () => {
    const shared = await browser();
    const [first, second] = [await tab(shared), await tab(shared)];
    await first.fetch();
    const { add } = shared.store;
    const full = () => Promise.reject(new Error("the disk is full"));
    shared.store.add = full;
    second.write("one", "bread");
    await settled();
    shared.store.add = add;
    second.write("two", "wine");
    assert.equal(await second.send(), "ok");
    assert.deepEqual(await first.served(), { one: ["bread"], two: ["wine"] });
    shared.store.add = full;
    second.write("three", "olives");
    await settled();
    await first.engine.stop();
    assert.equal(await second.send(), "ok");
    assert.deepEqual(await second.served(), { one: ["bread"], three: ["olives"], two: ["wine"] });
    await second.engine.stop();
});

test("a tab takes the turn from one that does not answer for three seconds, which keeps and sends nothing more", async () => {
    const shared = await browser();
    const first = await tab(shared);
    first.write("one", "bread");
    await first.told();
    const name = `cloudkit-sync.${first.container.containerIdentifier}.development.private`;
    // Another tab takes the turn, and then hears nothing.
    shared.locks.request(name, { steal: true }, () => new Promise(() => {})).catch(() => {});
    await settled();
    const { kept } = shared.store;
    first.write("three", "olives");
    await settled();
    assert.equal(shared.store.kept, kept);
    const second = await tab(shared);
    second.write("two", "wine");
    const asking = second.clock.sleeper(3);
    const sending = second.send();
    await asking;
    await settled();
    second.clock.advance(3);
    assert.equal(await sending, "ok");
    assert.deepEqual(await second.served(), { one: ["bread"], three: ["olives"], two: ["wine"] });
    assert.deepEqual(first.network.paths.filter((path) => path === "records/modify"), []);
    await Promise.all([first.engine.stop(), second.engine.stop()]);
});

test("after the page has deleted the store, what other tabs add is taken as before", async () => {
    const shared = await browser();
    const [first, second] = [await tab(shared), await tab(shared)];
    await first.fetch();
    for (const name of ["one", "two"]) second.write(name, "bread");
    assert.equal(await second.send(), "ok");
    shared.store.delete();
    second.write("three", "wine");
    assert.equal(await second.send(), "ok");
    assert.deepEqual(await first.served(), { one: ["bread"], three: ["wine"], two: ["bread"] });
    await Promise.all([first, second].map(({ engine }) => engine.stop()));
});

test("a tab with a session of its own hands nothing to another one's engine, and goes on at its turn", async () => {
    const shared = await browser();
    const first = await tab({ ...shared, authTokenStore: undefined });
    await first.fetch();
    const second = await tab({ ...shared, authTokenStore: undefined });
    second.write("one", "bread");
    assert.equal((await refusal(second.engine.sendChanges())).ckErrorCode, "CONFIGURATION_ERROR");
    assert.equal(await first.send(), "ok");
    assert.deepEqual(first.network.paths.filter((path) => path === "records/modify"), []);
    await first.engine.stop();
    await second.told();
    assert.equal(await second.send(), "ok");
    assert.deepEqual(await second.served(), { one: ["bread"] });
    await second.engine.stop();
});

test("the scope of a call that another tab makes is the call's", async () => {
    const shared = await browser();
    const [first, second] = [await tab(shared), await tab(shared)];
    await first.told();
    for (const name of ["one", "two"]) second.write(name, "bread");
    const scope = new Scope("PRIVATE", { recordIDs: [second.app.recordID("two")] });
    assert.equal(await second.send({ scope }), "ok");
    assert.ok(first.app.events.includes("sent +two"), `${first.app.events}`);
    await Promise.all([first, second].map(({ engine }) => engine.stop()));
});
