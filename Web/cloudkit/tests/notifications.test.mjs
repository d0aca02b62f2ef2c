import assert from "node:assert/strict";
import { before, test } from "node:test";

import CloudKit, { Notification, QueryNotification, RecordZoneNotification } from "../src/module.js";
import { containerIdentifier, refusal, startCloud } from "./support/cloud.mjs";
import { areAbout, telling } from "./support/eventserver.mjs";

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

/** A device of the user, whose requests go through `pass`, and who has a subscription to new notes in the database. */
async function listening(email, services) {
    const container = await cloud.signedIn(email, { services });
    await container.privateCloudDatabase.saveSubscriptions({
        subscriptionID: "notes", subscriptionType: "query", query: { recordType: "Note" }, firesOn: ["create"],
        notificationInfo: { alertBody: "A note" },
    });
    const other = cloud.container();
    await other.signIn(await cloud.webAuthToken(email));
    const records = [];
    container.addNotificationListener(({ recordName }) => records.push(recordName));
    return { container, told: telling(container), records, save: (recordName) => other.privateCloudDatabase.saveRecords(note("a", { recordName })) };
}

const isStream = (url, { method }) => method === "GET" && new URL(url).pathname.endsWith("/notifications");

test("a stream that breaks again and again loses nothing, and tells nothing twice", { timeout: 60_000 }, async () => {
    const streams = [];
    const fetch = (url, options) => {
        if (!isStream(url, options)) return globalThis.fetch(url, options);
        const breaking = new AbortController();
        streams.push(breaking);
        options.signal.addEventListener("abort", () => breaking.abort());
        return globalThis.fetch(url, { ...options, signal: breaking.signal });
    };
    const pause = (milliseconds, signal) => new Promise((resolve) => {
        const timer = setTimeout(resolve, milliseconds < 3000 ? 20 : milliseconds);
        signal.addEventListener("abort", () => { clearTimeout(timer); resolve(); });
    });
    const { container, told, records, save } = await listening("breaking@example.com", { fetch, pause });
    await container.registerForNotifications();
    const names = ["one", "two", "three", "four", "five", "six"];
    for (const [place, name] of names.entries()) {
        await save(name);
        // Some are on their way when the stream breaks, and some were told.
        if (place % 2 === 0) await told.count(place + 1);
        streams.at(-1).abort();
    }
    await told.count(names.length);
    container.unregisterForNotifications();
    assert.deepEqual([...records].sort(), [...names].sort());
    assert.ok(streams.length > 3, `${streams.length} streams`);
});

test("the courier brings what no stream does, and does not ask for a stream again before half an hour", { timeout: 60_000 }, async () => {
    let streams = 0;
    const fetch = (url, options) => {
        if (!isStream(url, options)) return globalThis.fetch(url, options);
        streams += 1;
        return new Promise(() => {});
    };
    // A proxy that holds everything back: the time for the first bytes is over at once.
    const pause = (milliseconds, signal) => (
        milliseconds === 10_000 ? Promise.resolve() : new Promise((resolve) => { signal.addEventListener("abort", resolve); }));
    const { container, told, records, save } = await listening("held@example.com", { fetch, pause });
    await container.registerForNotifications();
    await save("one");
    await told.count(1);
    await save("two");
    await told.count(2);
    container.unregisterForNotifications();
    assert.deepEqual(records, ["one", "two"]);
    assert.equal(streams, 1);
});

/** A container whose server has no event streams and answers polls with `polls` in turn, and then waits; `asked` has the requests. */
function scripted(polls, more = {}) {
    const asked = [];
    const fetch = async (url, { signal }) => {
        const { pathname, searchParams } = new URL(url);
        if (pathname.endsWith("users/caller")) {
            const headers = { "X-Apple-CloudKit-Web-Auth-Token": `${searchParams.get("ckWebAuthToken")}, newer` };
            return new Response(JSON.stringify({ userRecordName: "_a" }), { headers });
        }
        if (pathname.endsWith("/notifications")) return new Response(JSON.stringify({ serverErrorCode: "NOT_FOUND" }), { status: 404 });
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
    const pause = async (milliseconds, stopping) => {
        // The time of an answer, which is not over.
        if (milliseconds === 10_000) return new Promise((resolve) => { stopping.addEventListener("abort", resolve); });
        return pauses.push(milliseconds);
    };
    const services = { fetch, now: more.now, logger: more.logger, pause };
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
    assert.ok(areAbout(pauses, [1000, 2000, 2000, 1000]), `${pauses}`);
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
    assert.ok(areAbout(pauses, [1000, 1000]), `${pauses}`);
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
