import assert from "node:assert/strict";
import { test } from "node:test";

import { areAbout, EventServer, settled, telling, until } from "./support/eventserver.mjs";

/** A server, and a container whose user is registered for notifications. */
async function registered(more) {
    const server = Object.assign(new EventServer(), more);
    const container = server.container();
    await container.signIn("ada");
    await container.registerForNotifications();
    return { server, container, told: telling(container) };
}

/** Numbers that are always the same, from 0 up to 1. */
function numbers(seed) {
    let state = seed;
    return () => {
        state = (state * 48_271) % 2_147_483_647;
        return state / 2_147_483_647;
    };
}

test("whatever breaks the stream, each notification is told once, in order", { timeout: 30_000 }, async () => {
    for (let seed = 1; seed <= 20; seed += 1) {
        const { server, container, told } = await registered();
        const number = numbers(seed);
        const names = Array.from({ length: 60 }, (_, place) => String(place));
        for (const name of names) {
            server.push(name);
            if (number() < 0.5) await settled();
            if (number() < 0.3) server.break(number() < 0.5 ? "error" : "end");
        }
        await told.count(names.length);
        await settled();
        container.unregisterForNotifications();
        assert.deepEqual(told.all, names, `seed ${seed}`);
        assert.ok(server.devices[0].streams > 3, `${server.devices[0].streams} streams`);
    }
});

test("notifications that were told are acknowledged, and do not wait at the server", { timeout: 10_000 }, async () => {
    const { server, container, told } = await registered();
    server.push("a");
    server.push("b");
    await told.count(2);
    await until(() => server.devices[0].queue.length === 0);
    assert.deepEqual(server.asked.slice(0, 2), ["notifications", "heard"]);
    assert.equal(server.devices[0].streams, 1);
    container.unregisterForNotifications();
});

test("tries are further and further apart, and come at once when the network is back", { timeout: 10_000 }, async () => {
    const events = new EventTarget();
    globalThis.addEventListener = events.addEventListener.bind(events);
    let isOffline = false;
    let waiting;
    const server = new EventServer();
    const services = server.services();
    const container = server.container({ services: {
        ...services,
        fetch: (...asked) => { if (isOffline) throw new TypeError("offline"); return services.fetch(...asked); },
        pause: (milliseconds, signal) => {
            if (!isOffline || milliseconds === 10_000 || server.pauses.length < 5) return services.pause(milliseconds, signal);
            return new Promise((resolve) => { waiting = milliseconds; signal.addEventListener("abort", resolve); });
        },
    } });
    await container.signIn("ada");
    await container.registerForNotifications();
    const told = telling(container);
    isOffline = true;
    server.break();
    await until(() => waiting);
    assert.ok(areAbout([...server.pauses, waiting], [1000, 2000, 5000, 15_000, 60_000, 60_000]), `${server.pauses}, ${waiting}`);
    isOffline = false;
    server.push("a");
    events.dispatchEvent(new Event("online"));
    await told.count(1);
    container.unregisterForNotifications();
    delete globalThis.addEventListener;
});

test("a stream without signs of life is given up", { timeout: 10_000 }, async () => {
    const { server, container, told } = await registered();
    server.over.add("silence");
    server.push("a");
    await told.count(1);
    await until(() => server.devices[0].streams === 2);
    await settled();
    assert.equal(server.devices[0].streams, 2);
    container.unregisterForNotifications();
});

test("a stream is opened anew after ten minutes, so that the session of an idle page has a newer token", { timeout: 10_000 }, async () => {
    const { server, container, told } = await registered();
    server.now = 599_999;
    server.push("a");
    await told.count(1);
    await settled();
    assert.equal(server.devices[0].streams, 1);
    server.now = 600_000;
    server.push("b");
    await told.count(2);
    await until(() => server.devices[0].streams === 2);
    assert.ok(!server.pauses.some((pause) => pause !== 1000), "it comes without a pause");
    container.unregisterForNotifications();
});

test("the courier takes the place of a stream that the server does not have, for half an hour", { timeout: 10_000 }, async () => {
    const { server, container, told } = await registered({ hasStreams: false });
    server.push("a");
    server.push("b");
    await told.count(2);
    assert.deepEqual(server.asked.slice(0, 4), ["notifications", "create", "register", "aps"]);
    server.hasStreams = true;
    server.now = 1_800_000;
    server.push("c");
    await told.count(3);
    await until(() => server.devices[0].streams === 1);
    server.push("d");
    await told.count(4);
    assert.deepEqual(told.all, ["a", "b", "c", "d"]);
    container.unregisterForNotifications();
});

test("a listener that unregisters is told nothing more, and what it was not told is there for the next registration", { timeout: 10_000 }, async () => {
    const { server, container, told } = await registered();
    server.devices[0].queue = [];
    container.addNotificationListener(function once() {
        container.removeNotificationListener(once);
        container.unregisterForNotifications();
    });
    server.push("a");
    await told.count(1);
    server.push("b");
    server.push("c");
    await settled();
    assert.deepEqual(told.all, ["a"]);
    await container.registerForNotifications();
    await told.count(3);
    await settled();
    assert.deepEqual(told.all, ["a", "b", "c"]);
    container.unregisterForNotifications();
});

test("a server that has forgotten the device is a reason to fetch the changes", { timeout: 10_000 }, async () => {
    const { server, container, told } = await registered();
    server.push("a");
    await told.count(1);
    await until(() => server.devices[0].queue.length === 0);
    server.forget();
    await told.count(2);
    assert.deepEqual(told.all, ["a", undefined]);
    // The numbers of the new queue begin again.
    server.push("b");
    await told.count(3);
    assert.deepEqual(told.all, ["a", undefined, "b"]);
    container.unregisterForNotifications();
});
