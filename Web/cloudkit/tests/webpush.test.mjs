import assert from "node:assert/strict";
import { createECDH, randomBytes } from "node:crypto";
import { before, beforeEach, test } from "node:test";

import { containerIdentifier, refusal, startCloud } from "./support/cloud.mjs";
import { settled, telling } from "./support/eventserver.mjs";

const curve = createECDH("prime256v1");
curve.generateKeys();
const keys = { p256dh: curve.getPublicKey("base64url"), auth: randomBytes(16).toString("base64url") };

/** A browser's service worker and push service. */
function makeBrowser() {
    const browser = { permission: "granted", endpoint: "https://updates.push.services.mozilla.com/wpush/v2/one", subscription: null, shown: [], ended: 0 };
    const pushManager = {
        async subscribe({ applicationServerKey }) {
            if (browser.subscription && browser.key !== applicationServerKey) throw new DOMException("another key", "InvalidStateError");
            browser.key = applicationServerKey;
            browser.subscription ??= {
                endpoint: browser.endpoint, options: { applicationServerKey: new Uint8Array(Buffer.from(applicationServerKey, "base64url")).buffer },
                toJSON: () => ({ endpoint: browser.endpoint, expirationTime: null, keys }),
                async unsubscribe() {
                    browser.ended += 1;
                    browser.subscription = null;
                },
            };
            return browser.subscription;
        },
        getSubscription: async () => browser.subscription,
    };
    const registration = { scope: "https://app.example/", active: {}, pushManager, getNotifications: async () => browser.shown };
    const messages = new EventTarget();
    const serviceWorker = {
        addEventListener: messages.addEventListener.bind(messages), startMessages() {},
        register: async (url) => { browser.worker = url; return registration; },
        getRegistration: async (scope) => (scope === registration.scope ? registration : undefined),
    };
    browser.hand = (data) => messages.dispatchEvent(new MessageEvent("message", { data }));
    const globals = { navigator: { serviceWorker }, PushManager: class {}, Notification: { requestPermission: async () => browser.permission } };
    for (const [name, value] of Object.entries(globals)) Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
    return browser;
}

let cloud, browser;
before(async () => { cloud = await startCloud(); });
beforeEach(() => { browser = makeBrowser(); });

/** A user's container, and what it sends to the endpoint of Web Push. */
async function user(email) {
    const sent = [];
    const fetch = async (url, options) => {
        const answer = await globalThis.fetch(url, options);
        if (options.method === "POST" && url.includes("/tokens/web-push")) sent.push({ ...JSON.parse(options.body), status: answer.status });
        return answer;
    };
    const container = await cloud.signedIn(email, { services: { fetch } });
    return { container, sent, name: (await container.fetchCurrentUserIdentity()).userRecordName };
}

test("a page subscribes with the server's key, and the server takes the subscription", { timeout: 60_000 }, async () => {
    const { container, sent } = await user("ada@example.com");
    assert.equal(await container.registerForWebPush(), container);
    assert.equal(browser.worker, "/cloudkit-worker.js");
    assert.equal(Buffer.from(browser.key, "base64url").length, 65);
    assert.equal(sent.length, 1);
    assert.deepEqual([sent[0].status, sent[0].subscription.endpoint], [200, browser.endpoint]);
    // Each visit of the page registers again.
    await container.registerForWebPush({ serviceWorker: "/worker.js" });
    assert.equal(browser.worker, "/worker.js");
    assert.equal(sent[1].clientId, sent[0].clientId);

    await container.unregisterForWebPush();
    assert.equal(browser.subscription, null);
    assert.deepEqual([sent[2].status, sent[2].subscription, sent[2].clientId], [200, null, sent[0].clientId]);
});

test("a subscription of the library's to an earlier key of the server gives way", { timeout: 60_000 }, async () => {
    const { container, sent } = await user("ben@example.com");
    await container.registerForWebPush();
    const { key } = browser;
    browser.key = "another key";
    browser.subscription.options.applicationServerKey = new Uint8Array([1, 2, 3]).buffer;
    await container.registerForWebPush();
    assert.deepEqual([browser.ended, browser.key], [1, key]);
    assert.deepEqual(sent.map(({ status }) => status), [200, 200]);
});

test("a subscription of the app's own stays, and the registration is refused", { timeout: 60_000 }, async () => {
    const { container, sent } = await user("gina@example.com");
    const own = browser.subscription = {
        endpoint: "https://push.example/own", options: { applicationServerKey: new Uint8Array([1, 2, 3]).buffer },
        async unsubscribe() { browser.ended += 1; },
    };
    assert.equal((await refusal(container.registerForWebPush())).ckErrorCode, "CONFIGURATION_ERROR");
    assert.deepEqual(sent, []);
    browser.subscription = null;
    await container.registerForWebPush();
    browser.subscription = own;
    await container.signOut();
    await settled();
    assert.deepEqual([browser.subscription, browser.ended], [own, 0]);
});

test("a subscription ends when another user signs in, also if its session had no sign-out", { timeout: 60_000 }, async () => {
    const { container } = await user("hans@example.com");
    await container.registerForWebPush();
    const closed = [];
    browser.shown = [{ data: { cloudKit: {} }, close: () => closed.push("ours") }];
    // The tab is closed: its session lives on at the server, and nothing of it in the next page.
    const again = cloud.container();
    await again.signIn(await cloud.webAuthToken("hans@example.com"));
    assert.equal(browser.ended, 0);
    await user("ida@example.com");
    assert.deepEqual([browser.subscription, browser.ended, closed], [null, 1, ["ours"]]);
});

test("a subscription of an unknown user is replaced before the server is told of one", { timeout: 60_000 }, async () => {
    const { container, sent } = await user("jan@example.com");
    await container.registerForWebPush();
    const { subscription } = browser;
    await container.unregisterForWebPush();
    browser.subscription = subscription;
    await container.registerForWebPush();
    assert.deepEqual([browser.ended, browser.subscription === subscription, sent.at(-1).status], [2, false, 200]);
});

test("a sign-out ends the subscription, and takes away what was shown", { timeout: 60_000 }, async () => {
    const { container } = await user("cleo@example.com");
    await container.registerForWebPush();
    const closed = [];
    browser.shown = [{ data: { cloudKit: {} }, close: () => closed.push("ours") }, { close: () => closed.push("the app's") }];
    await container.signOut();
    await settled();
    assert.deepEqual([browser.subscription, browser.ended, closed], [null, 1, ["ours"]]);
});

test("a page is told of what its service worker hands over, once, if it is its user's and its container's", { timeout: 60_000 }, async () => {
    const { container, name } = await user("dora@example.com");
    await container.registerForWebPush();
    const told = telling(container);
    const payload = (nid, more) => ({ cloudKit: { aps: {}, ck: { nid, cid: containerIdentifier, ckuserid: name, met: { sid: nid, dbs: 2 }, ...more } } });
    for (const data of [payload("a"), payload("b", { ckuserid: "_other" }), payload("c", { cid: "iCloud.other" }), payload("a"), "text", payload("d")]) {
        browser.hand(data);
    }
    assert.deepEqual(told.all, ["a", "d"]);
    await container.unregisterForWebPush();
    browser.hand(payload("e"));
    assert.deepEqual(told.all, ["a", "d"]);
});

test("nothing stays subscribed that the server does not take", { timeout: 60_000 }, async () => {
    const { container } = await user("emil@example.com");
    browser.endpoint = "https://push.example/one";
    assert.equal((await refusal(container.registerForWebPush())).ckErrorCode, "BAD_REQUEST");
    assert.equal(browser.subscription, null);
});

test("a user who allows no notifications, and a browser without Web Push, are refused before the server is asked", { timeout: 60_000 }, async () => {
    const { container, sent } = await user("fred@example.com");
    browser.permission = "denied";
    assert.equal((await refusal(container.registerForWebPush())).ckErrorCode, "ACCESS_DENIED");
    assert.equal((await refusal(container.registerForWebPush({ serviceWorker: 1 }))).ckErrorCode, "INVALID_ARGUMENTS");
    delete globalThis.PushManager;
    assert.equal((await refusal(container.registerForWebPush())).ckErrorCode, "CONFIGURATION_ERROR");
    assert.deepEqual(sent, []);
});

test("nobody is registered for Web Push without a user", { timeout: 60_000 }, async () => {
    const container = cloud.container();
    assert.equal((await refusal(container.registerForWebPush())).ckErrorCode, "AUTHENTICATION_REQUIRED");
    assert.equal(browser.subscription, null);
});
