/** A server of notifications inside this process, with one device, and the clock of those who ask it. */

import CloudKit from "../../src/module.js";
import { containerIdentifier } from "./cloud.mjs";

const text = new TextEncoder();

/** Milliseconds of the library's time limits. Every other pause is one before the next try. */
const limits = { opening: 10_000, answer: 3000, silence: 45_000 };

/** The queues of users' devices, with streams and the courier, as docs/wire.md has them. */
export class EventServer {
    /** Requests: the last part of each path. */
    asked = [];
    /** Pauses before tries, in milliseconds. */
    pauses = [];
    now = 0;
    /** Whether there are event streams; false: the courier alone. */
    hasStreams = true;
    /** Limits of which the next one is over at once. */
    over = new Set();
    #devices = new Map();

    /** The services of one page. */
    services(more = {}) {
        return {
            fetch: (url, options) => this.#answer(new URL(url), options), now: () => this.now, ...more,
            pause: async (milliseconds, signal) => {
                const limit = Object.keys(limits).find((name) => limits[name] === milliseconds);
                if (!limit) this.pauses.push(milliseconds);
                if (limit && !this.over.delete(limit)) await new Promise((resolve) => { signal?.addEventListener("abort", resolve); });
            },
        };
    }

    container({ persist = false, services } = {}) {
        return CloudKit.configure({
            serverURL: "https://cloud.example", services: services ?? this.services(),
            containers: [{ containerIdentifier, environment: "development", apiTokenAuth: { apiToken: "api", persist } }],
        }).getDefaultContainer();
    }

    /** Puts a notification into the queues of a user's devices. */
    push(sid, user = "ada") {
        for (const device of this.#devices.values()) {
            if (device.user !== user) continue;
            const id = ++device.count;
            device.queue.push({ id, json: JSON.stringify({ aps: {}, ck: { nid: `n-${sid}`, cid: containerIdentifier, met: { sid, dbs: 2 } } }) });
            this.#send(device);
        }
    }

    /** Breaks the streams, or ends them. */
    break(how = "error") {
        for (const { stream } of this.#devices.values()) {
            try {
                if (how === "error") stream?.error(new TypeError("terminated")); else stream?.close();
            } catch {
                // It has ended before.
            }
        }
    }

    /** Loses the devices, as a backup that was restored does. */
    forget() {
        const { devices } = this;
        this.#devices.clear();
        for (const { stream } of devices) stream.close();
    }

    get devices() {
        return [...this.#devices.values()];
    }

    #device(token, name) {
        const key = `${token} ${name}`;
        if (!this.#devices.has(key)) this.#devices.set(key, { user: token, queue: [], count: 0, sent: 0, streams: 0 });
        return this.#devices.get(key);
    }

    async #answer({ pathname, searchParams }, { body, signal }) {
        const user = searchParams.get("ckWebAuthToken");
        const last = pathname.split("/").at(-1);
        if (last !== "caller" && last !== "sign-out") this.asked.push(body && last === "notifications" ? "heard" : last);
        if (!user && last !== "aps") return Response.json({ serverErrorCode: "AUTHENTICATION_REQUIRED" }, { status: 421 });
        const given = body ? JSON.parse(body) : {};
        switch (last) {
            case "caller": return Response.json({ userRecordName: `_${user}` });
            case "create": return Response.json({ apnsToken: "t", webcourierURL: `https://cloud.example/aps?tok=${user}%20${given.clientId}` });
            case "register": return Response.json({});
            case "aps": return this.#poll(this.#device(...searchParams.get("tok").split(" ")), signal);
            case "notifications": return body ? this.#hear(user, given) : this.#stream(this.#device(user, searchParams.get("clientId")), signal);
            default: return Response.json({});
        }
    }

    #hear(user, { clientId, heard }) {
        if (!this.#devices.has(`${user} ${clientId}`)) return Response.json({ serverErrorCode: "NOT_FOUND" }, { status: 404 });
        const device = this.#device(user, clientId);
        device.queue = device.queue.filter(({ id }) => id > heard);
        return Response.json({});
    }

    #stream(device, signal) {
        if (!this.hasStreams) return Response.json({ serverErrorCode: "NOT_FOUND" }, { status: 404 });
        const before = device.stream;
        const body = new ReadableStream({
            start: (controller) => {
                Object.assign(device, { stream: controller, sent: 0, streams: device.streams + 1 });
                controller.enqueue(text.encode("retry: 1000\n\n"));
                signal.addEventListener("abort", () => { try { controller.error(signal.reason); } catch { /* over */ } });
            },
        });
        try {
            before?.close();
        } catch {
            // It has ended before.
        }
        this.#send(device);
        return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
    }

    #send(device) {
        device.wake?.();
        for (const { id, json } of device.queue) {
            if (id <= device.sent) continue;
            const bytes = text.encode(`id: ${id}\nevent: notification\ndata: ${json}\n\n`);
            try {
                // In two parts, as networks do.
                for (const part of [bytes.slice(0, id % bytes.length), bytes.slice(id % bytes.length)]) device.stream.enqueue(part);
                device.sent = id;
            } catch {
                // No stream is there: it waits.
            }
        }
    }

    async #poll(device, signal) {
        while (device.queue.length === 0) {
            await new Promise((resolve, reject) => {
                device.wake = resolve;
                signal.addEventListener("abort", () => reject(signal.reason));
            });
        }
        return new Response(device.queue.shift().json);
    }
}

/** What a container's listeners are told: `all`, and `count(n)` waits until they are so many. */
export function telling(container) {
    const all = [];
    let wake = () => {};
    container.addNotificationListener(({ subscriptionID }) => {
        all.push(subscriptionID);
        wake();
    });
    return {
        all,
        async count(most) {
            while (all.length < most) await new Promise((resolve) => { wake = resolve; });
        },
    };
}

/** Waits until a condition is met: each turn lets everything go on that can. */
export async function until(condition) {
    while (!condition()) await new Promise((resolve) => { setImmediate(resolve); });
}

/** Lets everything go on that can, so that what would come too much is there. */
export async function settled() {
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => { setImmediate(resolve); });
}

/** Whether pauses are those before tries with so many milliseconds at most: half of each is at random. */
export const areAbout = (pauses, most) => (
    pauses.length === most.length && pauses.every((pause, place) => pause >= most[place] / 2 && pause <= most[place]));
