/** Tests of docs/sync-engine.md: accounts, and what the engine does by itself. The numbers are that page's. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { startCloud } from "./support/cloud.mjs";
import { NoteApp } from "./support/notes.mjs";
import { Clock, Device, faults, pair } from "./support/sync.mjs";

let cloud;
const engines = [];
before(async () => { cloud = await startCloud(); });
after(() => Promise.all(engines.map((device) => device.engine.stop())));

let users = 0;
async function newUser() {
    users += 1;
    const email = `ada-${users}@example.com`;
    await cloud.makeUser(email);
    return email;
}

/** A device that syncs by itself, with a clock that stands still. */
async function automatic(email, app = new NoteApp()) {
    const device = await Device.signedIn(cloud, email, { app, automatically: true, clock: new Clock() });
    engines.push(device);
    return device;
}

/** A device that syncs by itself and has nothing to do. */
async function settled() {
    const device = await Device.signedIn(cloud, await newUser(), { clock: new Clock() });
    engines.push(device);
    for (const ask of ["fetch", "send", "fetch"]) assert.equal(await device[ask](), "ok");
    device.restart({ automatically: true });
    await device.app.heard("didFetch");
    return device;
}

// Accounts

test("signing out and another user forget all that was one user's, and nothing of one goes to the other (35, 37)", async () => {
    const [ada, ben] = [await newUser(), await newUser()];
    const device = await Device.signedIn(cloud, ada);
    const { app, engine, container } = device;
    device.write("one", "bread");
    await device.send();
    await device.fetch();
    device.write("two", "wine");
    await device.told();
    app.log = [];
    let pending;
    app.hook = ({ type }) => { if (type === "accountChange") pending = engine.state.pendingRecordZoneChanges; };
    await container.signOut();
    assert.equal(await device.send(), "notAuthenticated");
    assert.deepEqual([app.events, app.words, pending], [["signOut"], {}, []]);
    assert.equal(await device.fetch(), "notAuthenticated");
    assert.deepEqual(app.events, ["signOut"], "told once, and without a will");
    await container.signIn(await cloud.webAuthToken(ben));
    assert.equal(await device.fetch(), "ok");
    assert.deepEqual([app.events.slice(1), app.words], [["signIn", "willFetch", "didFetch"], {}], "nothing of Ada's is Ben's");
    // While nothing runs, Ben goes and Ada comes: one change.
    await container.signIn(await cloud.webAuthToken(ada));
    device.restart();
    assert.equal(await device.fetch(), "ok");
    assert.deepEqual([device.app.events[0], device.app.words], ["switchAccounts", { one: ["bread"] }]);
});

test("another user who signs in during a send ends it before anything more is sent (35)", async () => {
    const [ada, ben] = [await newUser(), await newUser()];
    const device = await Device.signedIn(cloud, ada);
    device.write("one", "bread");
    const token = await cloud.webAuthToken(ben);
    device.app.hook = ({ type }) => type === "sentDatabaseChanges" && device.container.signIn(token);
    assert.equal(await device.send(), "notAuthenticated");
    assert.ok(device.app.events.includes("switchAccounts"));
    assert.equal(device.network.count("records/modify"), 0);
    const zones = (await device.database.fetchAllRecordZones()).zones.map(({ zoneID }) => zoneID.zoneName);
    assert.deepEqual(zones.filter((name) => name === "Notes"), [], "Ben has no zone of Ada's");
});

test("an account that cannot be used for now is no sign-out, and everything goes on when it can (36, 37)", async () => {
    for (const state of ["restricted", "temporarilyUnavailable", "couldNotDetermine", "noAccount"]) {
        const { a, email } = await pair(cloud);
        a.write("one", "bread");
        await a.send();
        a.write("two", "wine");
        await a.told();
        a.app.log = [];
        await cloud.administer("users/state", { email, state });
        for (let turn = 0; turn < 2; turn += 1) {
            assert.equal(await a.send(), "notAuthenticated", state);
        }
        assert.ok(!a.app.events.includes("signOut"), state);
        assert.deepEqual(a.engine.state.pendingRecordZoneChanges.map(({ recordID }) => recordID.recordName), ["two"]);
        await cloud.administer("users/state", { email, state: "available" });
        assert.equal(await a.send(), "ok");
        assert.deepEqual(a.app.events.slice(-2), ["sent +two", "didSend"]);
    }
});

test("a session that the server has ended, or whose token is gone, is no sign-out: what is pending goes with the next sign-in (35, 36)", async () => {
    const { a, email } = await pair(cloud);
    let search;
    a.network.draw = (path, options, url) => { search = new URL(url).search; };
    a.write("one", "bread");
    await a.send();
    a.write("two", "wine");
    await a.told();
    a.app.log = [];
    assert.ok((await fetch(`${cloud.url}/account/1/sign-out${search}`, { method: "POST" })).ok);
    assert.equal(await a.send(), "notAuthenticated");
    assert.deepEqual(a.app.events, ["willSend", "sent !two notAuthenticated", "didSend"]);
    assert.deepEqual(a.engine.state.pendingRecordZoneChanges.map(({ recordID }) => recordID.recordName), ["two"]);
    // A tab without `persist` was closed: the next visit has no token.
    const next = Object.assign(new Device(), { container: cloud.container() });
    next.start(a.app);
    assert.equal(await next.send(), "notAuthenticated");
    await next.container.signIn(await cloud.webAuthToken(email));
    a.app.log = [];
    assert.equal(await next.send(), "ok");
    assert.deepEqual([a.app.events, await next.served()], [["willSend", "sent +two", "didSend"], { one: ["bread"], two: ["wine"] }]);
});

test("a user who signs out after the session's end has signed out (35)", async () => {
    const { a } = await pair(cloud);
    a.write("one", "bread");
    await a.send();
    a.network.failNext("users/caller", faults.whole({ word: "AUTHENTICATION_REQUIRED", code: "notAuthenticated", status: 421 }));
    a.restart();
    assert.equal(await a.send(), "notAuthenticated");
    await a.container.signOut();
    assert.equal(await a.send(), "notAuthenticated");
    assert.deepEqual(a.app.events, ["signOut"]);
});

test("a delegate that fails to take a sign-out is told again, and no state goes before it (35)", async () => {
    const device = await Device.signedIn(cloud, await newUser());
    device.write("one", "bread");
    await device.send();
    device.app.log = [];
    device.app.hook = ({ type }) => { if (type === "accountChange") throw new Error("the disk is full"); };
    await device.container.signOut();
    assert.match(await device.fetch(), /the disk is full/);
    device.app.hook = () => {};
    assert.equal(await device.fetch(), "notAuthenticated");
    assert.deepEqual(device.app.log, ["signOut", "signOut", "state"]);
});

// By itself

test("an engine fetches when it is made, sends what is added, and hears of others' changes without asking (38, 40)", async () => {
    const email = await newUser();
    const a = await automatic(email);
    await a.app.heard("didFetch");
    a.write("one", "bread");
    await a.app.heard("sent +one");
    assert.equal(a.app.events[0], "signIn");
    const b = await automatic(email);
    await b.app.heard("fetched +one");
    a.write("two", "wine");
    await b.app.heard("fetched +two");
    b.write("three", "olives");
    await a.app.heard("fetched +three");
    assert.deepEqual(a.app.words, b.app.words);
});

test("it fetches before it sends where both are due (38)", async () => {
    const device = await Device.signedIn(cloud, await newUser(), { clock: new Clock() });
    engines.push(device);
    device.write("one", "bread");
    await device.told();
    device.restart({ automatically: true });
    await device.app.heard("sent +one");
    assert.deepEqual(device.app.events.filter((line) => ["willFetch", "willSend"].includes(line)), ["willFetch", "willSend"]);
});

test("what may pass is tried again when the server asked for it, and not before (39)", async () => {
    const device = await settled();
    const busy = faults.items({ names: ["one"], code: "zoneBusy", word: "TRY_AGAIN_LATER", retryAfter: 7 });
    device.network.failNext("records/modify", busy, faults.notSent);
    device.write("one", "bread");
    await device.app.heard("sent !one zoneBusy");
    await device.clock.sleeper(7);
    assert.equal(device.network.count("records/modify"), 1);
    device.clock.advance(7);
    await device.app.heard("sent !one networkUnavailable");
    await device.clock.sleeper(1);
    device.clock.advance(1);
    await device.app.heard("sent +one");
});

test("a change that is added again whenever it fails goes at once with the next run, and then with longer pauses (16, 39)", async () => {
    const device = await settled();
    Object.assign(device.app, { mends: false, readds: true });
    const refusal = faults.items({ names: ["one"], code: "quotaExceeded", word: "QUOTA_EXCEEDED" });
    device.network.failNext("records/modify", refusal, refusal, refusal);
    device.write("one", "bread");
    for (const [count, pause] of [[2, 1], [3, 2]]) {
        await device.app.heard("sent !one quotaExceeded", count);
        await device.clock.sleeper(pause);
        assert.equal(device.network.count("records/modify"), count);
        device.clock.advance(pause);
    }
    await device.app.heard("sent +one");
});

test("a send that the app asked for and that failed does not make the pause longer, and a fetch that succeeds ends it (39)", async () => {
    const device = await settled();
    device.network.failNext("records/modify", faults.notSent, faults.notSent);
    device.write("one", "bread");
    await device.clock.sleeper(1);
    assert.equal(await device.send(), "networkUnavailable");
    await device.clock.sleeper(1);
    assert.equal(await device.fetch(), "ok");
    await device.app.heard("sent +one");
});

test("a browser that has a network again ends the pause (39)", async () => {
    const listeners = new Set();
    globalThis.addEventListener = (type, listener) => type === "online" && listeners.add(listener);
    globalThis.removeEventListener = (type, listener) => listeners.delete(listener);
    const device = await settled();
    device.network.failNext("records/modify", faults.notSent);
    device.write("one", "bread");
    await device.clock.sleeper(1);
    for (const listener of [...listeners]) listener();
    await device.app.heard("sent +one");
    await device.engine.stop();
    assert.equal(listeners.size, 0);
    delete globalThis.addEventListener;
    delete globalThis.removeEventListener;
});

test("what the app cancels while the engine does it by itself is done after a pause (5, 39)", async () => {
    const device = await settled();
    device.network.failNext("records/modify", faults.hangs);
    const hangs = device.network.hang("records/modify");
    device.write("one", "bread");
    await hangs;
    device.engine.cancelOperations();
    await device.app.heard("sent !one operationCancelled");
    await device.clock.sleeper(1);
    device.clock.advance(1);
    await device.app.heard("sent +one");
});

test("an empty page that is not the last one tells an engine that waits of changes (40)", async () => {
    const device = await Device.signedIn(cloud, await newUser(), { clock: new Clock() });
    engines.push(device);
    let asked = 0;
    device.network.draw = (path) => {
        asked += path === "changes/database";
        if (path !== "changes/database" || asked !== 2) return undefined;
        return { kind: "answer", status: 200, body: JSON.stringify({ zones: [], syncToken: "next", moreComing: true }) };
    };
    device.start(device.app, true);
    await device.app.heard("didFetch", 2);
});

test("a notification begins a fetch (40)", async () => {
    const device = await Device.signedIn(cloud, await newUser(), { clock: new Clock() });
    engines.push(device);
    // The request that the engine holds open hangs: it does not hear of the zone by itself.
    device.network.draw = (path, { body }) => (path === "changes/database" && body.includes("waitSeconds") ? faults.hangs : undefined);
    device.start(device.app, true);
    await device.app.heard("didFetch");
    await device.container.registerForNotifications();
    const other = cloud.container();
    await other.signIn(await cloud.webAuthToken(device.email));
    await other.privateCloudDatabase.saveRecordZones("More");
    await device.app.heard("willFetch More");
    device.container.unregisterForNotifications();
});

test("when a user signs in, the engine goes on by itself (42)", async () => {
    const device = await settled();
    await device.container.signOut();
    await device.app.heard("signOut");
    device.write("one", "bread");
    await device.container.signIn(await cloud.webAuthToken(device.email));
    await device.app.heard("sent +one");
    assert.ok(device.app.events.includes("signIn"));
});
