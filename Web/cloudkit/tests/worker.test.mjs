import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { beforeEach, test } from "node:test";
import { runInNewContext } from "node:vm";

const source = readFileSync(new URL("../src/worker.js", import.meta.url), "utf8");

/** The global object of a service worker that runs the script; `dispatch` gives it an event and waits for what it does. */
let worker, shown, handed, badges, tabs, opened;
beforeEach(() => {
    [shown, handed, badges, opened] = [[], [], [], []];
    tabs = [{ url: "https://app.example/notes", postMessage: (data) => handed.push(data), focus: async () => opened.push("the tab") }];
    const listeners = {};
    worker = {
        addEventListener: (type, listener) => { listeners[type] = listener; },
        clients: { matchAll: async () => tabs, openWindow: async (url) => opened.push(url) },
        navigator: { setAppBadge: async (badge) => badges.push(badge) },
        registration: { scope: "https://app.example/", showNotification: async (title, options) => shown.push([title, options.body, options]) },
    };
    runInNewContext(source, worker);
    worker.dispatch = async (type, event) => {
        const waits = [];
        listeners[type]({ waitUntil: (promise) => waits.push(promise), ...event });
        await Promise.all(waits);
        return waits.length > 0;
    };
});

const push = (payload) => worker.dispatch("push", { data: { json: () => structuredClone(payload) } });
const ck = { nid: "n", cid: "iCloud.a", qry: { sid: "s", rid: "r", fo: 1 } };

test("a push is shown as the subscription says, and handed to the open tabs", async () => {
    await push({ aps: { alert: { title: "Notes", subtitle: "Bread", body: "A note came" }, sound: "default", badge: 3 }, ck });
    const [title, body, { tag, silent, data }] = shown[0];
    assert.deepEqual([title, body, tag, silent, badges], ["Notes", "Bread\nA note came", "n s", false, [3]]);
    assert.equal(data.cloudKit.ck.qry.rid, "r");
    assert.equal(handed.length, 1);
    assert.equal(handed[0].cloudKit.ck.nid, "n");
});

test("the first text that is there is the title, and without a sound the notification is silent", async () => {
    for (const alert of ["A note came", { body: "A note came" }]) await push({ aps: { alert }, ck });
    await push({ aps: { alert: { "title-loc-key": "TITLE", "loc-key": "CAME" } }, ck });
    assert.deepEqual(shown.map(([title, body]) => [title, body]), [["A note came", ""], ["A note came", ""], ["TITLE", "CAME"]]);
    assert.ok(shown.every(([, , { silent }]) => silent));
});

test("a push that shows nothing is handed over alone", async () => {
    await push({ aps: { "content-available": 1 }, ck });
    assert.deepEqual([shown.length, badges.length, handed.length], [0, 0, 1]);
});

test("the app's worker may change what is shown, or have nothing shown", async () => {
    worker.cloudKitNotification = (said, { ck: { nid } }) => (nid === "n" ? { ...said, title: "Brot", icon: "/icon.png" } : null);
    await push({ aps: { alert: "BREAD" }, ck });
    await push({ aps: { alert: "BREAD" }, ck: { ...ck, nid: "other" } });
    assert.deepEqual(shown.map(([title, , { icon }]) => [title, icon]), [["Brot", "/icon.png"]]);
    assert.equal(handed.length, 2);
});

test("pushes of others and clicks on their notifications are left alone", async () => {
    assert.equal(await push({ text: "the app's own" }), false);
    assert.equal(await worker.dispatch("push", { data: null }), false);
    assert.equal(await worker.dispatch("push", { data: { json() { throw new SyntaxError("text"); } } }), false);
    assert.equal(await worker.dispatch("notificationclick", { notification: {} }), false);
    assert.deepEqual([shown.length, handed.length], [0, 0]);
});

test("a click goes to a tab of the app, or opens one", async () => {
    let closed = 0;
    const notification = { data: { cloudKit: {} }, close: () => { closed += 1; } };
    await worker.dispatch("notificationclick", { notification });
    tabs = [];
    await worker.dispatch("notificationclick", { notification });
    assert.deepEqual([opened, closed], [["the tab", "https://app.example/"], 2]);
});
