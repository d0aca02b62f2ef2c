import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";

import { refusal } from "./support/cloud.mjs";
import { EventServer, settled, telling, until } from "./support/eventserver.mjs";
import { makeLocks } from "./support/locks.mjs";
import { openPage } from "./support/page.mjs";

let locks, server;
before(() => { Object.defineProperty(globalThis, "navigator", { value: {}, configurable: true, writable: true }); });
beforeEach(() => {
    // Another browser each time: without storage, and without locks.
    openPage("https://app.example/");
    locks = makeLocks();
    globalThis.navigator.locks = locks;
    server = new EventServer();
});

/** A tab of the origin, which is signed in with `persist` if it or another tab has signed in. */
async function openTab({ user, persist = true } = {}) {
    const tab = { isClosed: false };
    const services = server.services();
    const { fetch } = services;
    // A tab that was closed asks nothing, and hears nothing.
    services.fetch = (...asked) => (tab.isClosed ? new Promise(() => {}) : fetch(...asked));
    tab.container = server.container({ persist, services });
    if (user) await tab.container.signIn(user);
    tab.told = telling(tab.container);
    return tab;
}

/** Closes the tab that has the connection: its lock is free, and nothing of its clean-up runs. */
function close(tab) {
    tab.isClosed = true;
    locks.free();
}

const register = async (...tabs) => { for (const { container } of tabs) await container.registerForNotifications(); };
const unregister = (...tabs) => { for (const { container } of tabs) container.unregisterForNotifications(); };
const streams = () => server.devices.reduce((sum, device) => sum + device.streams, 0);

test("the tabs of a session have one connection, and all are told", { timeout: 10_000 }, async () => {
    const first = await openTab({ user: "ada" });
    const second = await openTab();
    await register(first, second);
    server.push("a");
    server.push("b");
    await Promise.all([first.told.count(2), second.told.count(2)]);
    await settled();
    assert.deepEqual([first.told.all, second.told.all], [["a", "b"], ["a", "b"]]);
    assert.deepEqual([server.devices.length, streams()], [1, 1]);
    unregister(first, second);
});

test("another tab takes the connection over when the one with it is closed, and nothing is lost or told twice", { timeout: 10_000 }, async () => {
    const first = await openTab({ user: "ada" });
    const second = await openTab();
    const third = await openTab();
    await register(first, second, third);
    server.push("a");
    await Promise.all([second.told.count(1), third.told.count(1)]);
    close(first);
    server.push("b");
    server.push("c");
    await Promise.all([second.told.count(3), third.told.count(3)]);
    close(second);
    server.push("d");
    await third.told.count(4);
    await settled();
    assert.deepEqual(third.told.all, ["a", "b", "c", "d"]);
    assert.deepEqual(server.devices.length, 1);
    unregister(first, second, third);
});

test("a tab that unregisters leaves the connection to another one", { timeout: 10_000 }, async () => {
    const first = await openTab({ user: "ada" });
    const second = await openTab();
    await register(first, second);
    unregister(first);
    server.push("a");
    await second.told.count(1);
    assert.deepEqual(first.told.all, []);
    assert.deepEqual([first, second].map(({ container }) => container.isRegisteredForNotifications), [false, true]);
    unregister(second);
});

test("a tab of another user hears nothing, and has its own connection", { timeout: 10_000 }, async () => {
    const ada = await openTab({ user: "ada" });
    const ben = await openTab({ user: "ben", persist: false });
    await register(ada, ben);
    server.push("a", "ada");
    server.push("b", "ben");
    await Promise.all([ada.told.count(1), ben.told.count(1)]);
    await settled();
    assert.deepEqual([ada.told.all, ben.told.all], [["a"], ["b"]]);
    assert.equal(server.devices.length, 2);
    unregister(ada, ben);
});

test("a sign-out ends the notifications of all tabs", { timeout: 10_000 }, async () => {
    const [first, second, third] = [await openTab({ user: "ada" }), await openTab(), await openTab()];
    await register(first, second);
    // This tab has heard nothing itself.
    await third.container.signOut();
    await until(() => !first.container.isRegisteredForNotifications && !second.container.isRegisteredForNotifications);
    server.push("a");
    await settled();
    assert.deepEqual([first.told.all, second.told.all], [[], []]);
});

test("a user who signs in in place of another one is told nothing of the other's, in no tab", { timeout: 10_000 }, async () => {
    const first = await openTab({ user: "ada" });
    const second = await openTab();
    await register(first, second);
    await second.container.signIn("ben");
    server.push("a", "ada");
    await until(() => !first.container.isRegisteredForNotifications);
    assert.equal(second.container.isRegisteredForNotifications, false);
    await register(first, second);
    server.push("b", "ben");
    await Promise.all([first.told.count(1), second.told.count(1)]);
    await settled();
    assert.deepEqual([first.told.all, second.told.all], [["b"], ["b"]]);
    unregister(first, second);
});

test("a call that has begun is not finished for another user who signs in meanwhile, here or in another tab", { timeout: 10_000 }, async () => {
    for (const isElsewhere of [true, false]) {
        const asked = [];
        let other;
        const answers = {
            upload: async () => {
                await other.signIn("ben");
                return { tokens: [{ url: "https://cloud.example/file" }] };
            },
            file: async () => ({ singleFile: { fileChecksum: "sum" } }),
            caller: async () => ({ userRecordName: "_b" }),
        };
        const fetch = async (url) => {
            const last = new URL(url).pathname.split("/").at(-1);
            asked.push(last);
            return Response.json(await answers[last]?.() ?? { records: [] });
        };
        const container = server.container({ persist: true, services: { fetch } });
        await container.signIn("ada");
        other = isElsewhere ? server.container({ persist: true, services: { fetch } }) : container;
        asked.length = 0;
        const saving = container.privateCloudDatabase.saveRecords({ recordType: "Note", fields: { picture: { value: new Blob(["picture"]) } } });
        assert.equal((await refusal(saving)).ckErrorCode, "AUTHENTICATION_REQUIRED");
        assert.deepEqual(asked.filter((path) => path === "modify"), []);
        await container.signOut();
    }
});

test("a tab takes the connection from one that the browser has put to sleep", { timeout: 10_000 }, async () => {
    const first = await openTab({ user: "ada" });
    await register(first);
    unregister(first);
    await settled();
    const { device } = JSON.parse(localStorage.getItem("cloudkit.device.iCloud.com.example.Notes.development"));
    let taken;
    locks.request(`cloudkit.notifications.${device}`, {}, () => new Promise(() => {})).catch((error) => { taken = error.name; });
    const second = await openTab();
    server.over.add("answer");
    await register(second);
    await until(() => taken);
    assert.equal(taken, "AbortError");
    server.push("a");
    await second.told.count(1);
    unregister(second);
});

test("a tab from which the connection was taken is told by the one that took it", { timeout: 10_000 }, async () => {
    const first = await openTab({ user: "ada" });
    const second = await openTab();
    await register(first, second);
    const { device } = JSON.parse(localStorage.getItem("cloudkit.device.iCloud.com.example.Notes.development"));
    let release;
    const taking = locks.request(`cloudkit.notifications.${device}`, { steal: true }, () => new Promise((resolve) => { release = resolve; }));
    await settled();
    server.push("a");
    await settled();
    assert.deepEqual([first.told.all, second.told.all], [[], []]);
    release();
    await taking;
    await Promise.all([first.told.count(1), second.told.count(1)]);
    await settled();
    assert.deepEqual([first.told.all, second.told.all], [["a"], ["a"]]);
    unregister(first, second);
});

const notesKey = "cloudkit.device.iCloud.com.example.Notes.development";

test("two tabs that register at the same moment make one name for the device", { timeout: 10_000 }, async () => {
    const first = await openTab({ user: "ada" });
    const second = await openTab();
    // Neither tab sees what the other one writes before it asks for the lock.
    const free = locks.request(notesKey, {}, () => settled());
    const registering = Promise.all([first, second].map(({ container }) => container.registerForNotifications()));
    assert.equal(localStorage.getItem(notesKey), null);
    await Promise.all([free, registering]);
    server.push("a");
    await Promise.all([first.told.count(1), second.told.count(1)]);
    assert.equal(server.devices.length, 1);
    unregister(first, second);
});

test("a tab whose name was replaced in the same session goes on under the new one", { timeout: 10_000 }, async () => {
    const first = await openTab({ user: "ada" });
    await register(first);
    localStorage.setItem(notesKey, JSON.stringify({ device: "another tab's" }));
    server.push("a");
    await first.told.count(1);
    // It may have missed something, and says so.
    assert.deepEqual([first.told.all, first.container.isRegisteredForNotifications], [[undefined], true]);
    server.push("b");
    await first.told.count(2);
    assert.equal(first.told.all[1], "b");
    unregister(first);
});

test("a browser without locks has a connection in each tab", { timeout: 10_000 }, async () => {
    delete globalThis.navigator.locks;
    const first = await openTab({ user: "ada" });
    const second = await openTab();
    await register(first, second);
    server.push("a");
    await Promise.all([first.told.count(1), second.told.count(1)]);
    assert.equal(server.devices.length, 2);
    unregister(first, second);
});
