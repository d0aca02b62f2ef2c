import assert from "node:assert/strict";
import { before, test } from "node:test";

import CloudKit, { Notification, QueryNotification, RecordZoneNotification } from "../src/module.js";
import { containerIdentifier, refusal, startCloud } from "./support/cloud.mjs";

let cloud, ada, device;
before(async () => {
    cloud = await startCloud();
    ada = await cloud.signedIn("ada@example.com");
    // A sign-in is not told of its own changes.
    device = cloud.container();
    await device.signIn(await cloud.webAuthToken("ada@example.com"));
    await device.privateCloudDatabase.saveRecordZones("Watched");
});

/** The next notification that a container's listeners are told of. */
function next(container) {
    return new Promise((resolve) => {
        container.addNotificationListener(function listener(notification) {
            container.removeNotificationListener(listener);
            resolve(notification);
        });
    });
}

const note = (text, more) => ({ recordType: "Note", fields: { text }, ...more });

test("a device is told of what another device of the user changes, until it unregisters", { timeout: 60_000 }, async () => {
    await ada.privateCloudDatabase.saveSubscriptions({
        subscriptionID: "red", subscriptionType: "query", query: { recordType: "Note" }, firesOn: ["create"],
        notificationInfo: { alertBody: "A note", additionalFields: ["text"] },
    });
    assert.equal(ada.isRegisteredForNotifications, false);
    assert.equal(await ada.registerForNotifications(), ada);
    assert.equal(ada.isRegisteredForNotifications, true);
    const told = next(ada);
    const [saved] = (await device.privateCloudDatabase.saveRecords(note("bread"))).records;
    const notification = await told;
    assert.ok(notification instanceof QueryNotification && notification instanceof Notification && notification.isQueryNotification);
    assert.deepEqual([notification.subscriptionID, notification.recordName, notification.queryNotificationReason, notification.alertBody], [
        "red", saved.recordName, "QUERY_NOTIFICATION_REASON_RECORD_CREATED", "A note",
    ]);
    assert.deepEqual([notification.recordFields, notification.isPublicDatabase, notification.containerIdentifier], [
        { text: "bread" }, false, containerIdentifier,
    ]);
    assert.equal(notification.notificationType, "NOTIFICATION_TYPE_QUERY");

    await ada.privateCloudDatabase.deleteSubscriptions("red");
    await ada.privateCloudDatabase.saveSubscriptions({ subscriptionType: "zone", zoneID: "Watched" });
    const ofZone = next(ada);
    await device.privateCloudDatabase.saveRecords(note("wine"), { zoneID: "Watched" });
    const second = await ofZone;
    assert.ok(second instanceof RecordZoneNotification && second.isRecordZoneNotification && second.zoneID.zoneName === "Watched");

    ada.unregisterForNotifications();
    assert.equal(ada.isRegisteredForNotifications, false);
});

test("nobody is registered without a user", async () => {
    const container = cloud.container();
    assert.equal((await refusal(container.registerForNotifications())).ckErrorCode, "AUTHENTICATION_REQUIRED");
    assert.equal(container.isRegisteredForNotifications, false);
});

/** A container whose server answers polls with `polls` in turn, and then waits; `asked` has the requests. */
function scripted(polls, more = {}) {
    const asked = [];
    const fetch = async (url, { signal }) => {
        const { pathname, searchParams } = new URL(url);
        if (pathname.endsWith("users/caller")) {
            const headers = { "X-Apple-CloudKit-Web-Auth-Token": `${searchParams.get("ckWebAuthToken")}, newer` };
            return new Response(JSON.stringify({ userRecordName: "_a" }), { headers });
        }
        asked.push(pathname.split("/").at(-1));
        if (pathname.includes("/tokens/")) {
            return new Response(JSON.stringify({ apnsToken: "t", webcourierURL: "https://cloud.example/aps?tok=t", ...more.tokens?.(asked) }),
                { status: more.status?.(asked) ?? 200 });
        }
        const poll = polls.shift();
        if (poll) return poll();
        return new Promise((_, reject) => { signal.addEventListener("abort", () => reject(signal.reason)); });
    };
    const pauses = [];
    const services = { fetch, now: more.now, logger: more.logger, pause: async (milliseconds) => { pauses.push(milliseconds); } };
    const container = CloudKit.configure({
        serverURL: "https://cloud.example", services,
        containers: [{ containerIdentifier, environment: "development", apiTokenAuth: { apiToken: "api" } }],
    }).getDefaultContainer();
    return { container, asked, pauses };
}

const payload = (sid) => () => new Response(JSON.stringify({ aps: { alert: sid }, ck: { nid: sid, met: { sid, dbs: 2 } } }));
const broken = () => { throw new TypeError("offline"); };

test("polls go on after silence, failures and an address that has ended, with longer and longer pauses", { timeout: 10_000 }, async () => {
    let now = 0;
    const silence = () => { now += 50_000; return new Response(""); };
    const { container, asked, pauses } = scripted([
        silence, broken, broken, () => new Response("{}", { status: 404 }), payload("a"), broken, payload("b"),
    ], { now: () => now });
    const told = [];
    const both = new Promise((resolve) => {
        container.addNotificationListener(({ subscriptionID }) => { if (told.push(subscriptionID) === 2) resolve(); });
    });
    container.addNotificationListener(() => { throw new Error("a listener's fault"); });
    await container.registerForNotifications();
    await both;
    container.unregisterForNotifications();
    assert.deepEqual(told, ["a", "b"]);
    assert.deepEqual(pauses, [1000, 2000, 2000, 1000]);
    assert.equal(asked.filter((path) => path === "create").length, 2);
});

test("an empty answer that comes at once is followed by a pause", { timeout: 10_000 }, async () => {
    let now = 0;
    const after = (milliseconds) => () => { now += milliseconds; return new Response(""); };
    const { container, pauses } = scripted([after(0), after(999), after(1000), payload("a")], { now: () => now });
    const told = next(container);
    await container.registerForNotifications();
    await told;
    container.unregisterForNotifications();
    assert.deepEqual(pauses, [1000, 1000]);
});

test("a log has nothing of a notification that cannot be read", { timeout: 10_000 }, async () => {
    const lines = [];
    const { container } = scripted([() => new Response("secret"), payload("a")], { logger: { warn: (line) => lines.push(line) } });
    const told = next(container);
    await container.registerForNotifications();
    await told;
    container.unregisterForNotifications();
    assert.deepEqual(lines, ["Notifications: SyntaxError"]);
});

test("a user's notifications end when another user signs in, and not when a session gets a newer token", async () => {
    const { container } = scripted([]);
    await container.signIn("ada");
    await container.registerForNotifications();
    await container.fetchCurrentUserIdentity();
    assert.equal(container.isRegisteredForNotifications, true);
    await container.signIn("ben");
    assert.equal(container.isRegisteredForNotifications, false);
});

test("polls end when the user is not signed in any more", { timeout: 10_000 }, async () => {
    const isOver = (asked) => asked.filter((path) => path === "create").length > 1;
    const { container, asked } = scripted([() => new Response("{}", { status: 421 })], {
        status: (all) => (isOver(all) ? 421 : 200), tokens: (all) => (isOver(all) ? { serverErrorCode: "AUTHENTICATION_REQUIRED" } : {}),
    });
    await container.registerForNotifications();
    while (container.isRegisteredForNotifications) await new Promise((resolve) => { setImmediate(resolve); });
    assert.deepEqual(asked, ["create", "register", "aps", "create"]);
});
