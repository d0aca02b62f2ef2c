/** Devices of the tests of SyncEngine: each has a sign-in, a network that fails on demand, a clock and the note app. */

import CloudKit, { SyncEngine } from "../../src/module.js";
import { coreOf } from "../../src/engine/engine.js";
import { collected } from "./cloud.mjs";
import { codeNames, nameOf, NoteApp } from "./notes.mjs";

/** A network that notes requests, and fails on demand. */
export class Network {
    paths = [];
    #faults = [];
    #hanging = [];
    /** Draws the fault of a request that none is ordered for. */
    draw = () => undefined;

    /** Makes the next requests to a path fail, in this order. */
    failNext(path, ...faults) {
        for (const fault of faults) this.#faults.push({ path, fault });
    }

    count(path) {
        return this.paths.filter((one) => one === path).length;
    }

    /** Fulfilled when a request to a path hangs, as often as this is called for it. */
    hang(path) {
        return new Promise((resolve) => { this.#hanging.push({ path, resolve }); });
    }

    fetch = async (url, options) => {
        const path = new URL(url).pathname.split("/").slice(-2).join("/");
        this.paths.push(path);
        const index = this.#faults.findIndex((one) => one.path === path);
        const fault = index < 0 ? this.draw(path, options, url) : this.#faults.splice(index, 1)[0].fault;
        switch (fault?.kind) {
            case undefined: return fetch(url, options);
            case "notSent": throw new TypeError("not sent");
            case "answerLost":
                await (await fetch(url, options)).text();
                throw new TypeError("the answer is lost");
            case "answer": return new Response(fault.body, { status: fault.status });
            default:
                await new Promise((resolve, reject) => {
                    options.signal.addEventListener("abort", () => reject(options.signal.reason));
                    for (const one of this.#hanging.filter((waiting) => waiting.path === path)) one.resolve();
                    this.#hanging = this.#hanging.filter((waiting) => waiting.path !== path);
                });
        }
    };
}

const codeOf = (name) => Number(Object.entries(codeNames).find(([, one]) => one === name)[0]);
const errorOf = (word, code, retryAfter) => ({ serverErrorCode: word, reason: "on demand", retryAfter, nacre: { code: codeOf(code) } });
const answer = (status, object) => ({ kind: "answer", status, body: JSON.stringify(object) });

/** Faults, as the table of promises writes them. */
export const faults = {
    notSent: { kind: "notSent" },
    answerLost: { kind: "answerLost" },
    hangs: { kind: "hangs" },
    /** The error of a whole request. */
    whole: ({ word, code, status = 400, retryAfter }) => answer(status, { uuid: "0", ...errorOf(word, code, retryAfter) }),
    /** The error of records of a request. */
    items: ({ names, word, code, retryAfter }) => (
        answer(200, { records: names.map((recordName) => ({ recordName, ...errorOf(word, code, retryAfter) })) })),
    /** A page of a zone with the error of one record. */
    page: ({ without, code, zone = "Notes" }) => answer(200, { zones: [{
        zoneID: { zoneName: zone }, syncToken: "reached", moreComing: false, records: [{ recordName: without, ...errorOf("INTERNAL_ERROR", code) }],
    }] }),
};

/** A clock that stands still until it is moved on, or one that jumps in place of waiting. In seconds. */
export class Clock {
    now = 0;
    #sleepers = [];
    #awaited = [];
    #jumps;

    constructor({ jumps = false } = {}) {
        this.#jumps = jumps;
    }

    pause = (milliseconds, signal) => {
        const seconds = milliseconds / 1000;
        if (this.#jumps) {
            this.now += seconds;
            return Promise.resolve();
        }
        return new Promise((resolve) => {
            if (signal?.aborted) return resolve();
            const sleeper = { until: this.now + seconds, resolve };
            this.#sleepers.push(sleeper);
            signal?.addEventListener("abort", () => {
                this.#sleepers = this.#sleepers.filter((one) => one !== sleeper);
                resolve();
            });
            this.#wake();
        });
    };

    advance(seconds) {
        this.now += seconds;
        const woken = this.#sleepers.filter(({ until }) => until <= this.now);
        this.#sleepers = this.#sleepers.filter(({ until }) => until > this.now);
        for (const { resolve } of woken) resolve();
    }

    /** Fulfilled once somebody sleeps for these seconds from now. */
    sleeper(seconds) {
        return new Promise((resolve) => {
            this.#awaited.push({ seconds, resolve });
            this.#wake();
        });
    }

    #wake() {
        this.#awaited = this.#awaited.filter(({ seconds, resolve }) => {
            const isThere = this.#sleepers.some(({ until }) => Math.abs(until - this.now - seconds) < 0.001);
            if (isThere) resolve();
            return !isThere;
        });
    }
}

export class Device {
    network = new Network();

    /** A device of a user, with a sign-in of its own or a token. */
    static async signedIn(cloud, email, { token, app = new NoteApp(), automatically = false, clock = new Clock({ jumps: true }), authTokenStore } = {}) {
        const device = Object.assign(new Device(), { clock, email });
        device.container = cloud.container({ services: {
            fetch: device.network.fetch, now: () => clock.now * 1000, pause: clock.pause, random: () => 1, authTokenStore,
        } });
        if (!authTokenStore?.getToken()) await device.container.signIn(token ?? await cloud.webAuthToken(email));
        device.network.paths.length = 0;
        device.start(app, automatically);
        return device;
    }

    get database() {
        return this.container.privateCloudDatabase;
    }

    /** Starts an app with an engine that goes on from the app's disk. */
    start(app, automatically = false, more = {}) {
        this.app = app;
        this.engine = new SyncEngine({
            database: this.database, stateSerialization: app.disk.state, delegate: app, automaticallySync: automatically, ...more,
        });
    }

    /** Kills the app, and starts it again with what its disk has. */
    restart({ diesAfter, automatically } = {}) {
        this.app.isDead = true;
        this.engine.stop();
        const { zoneID: { zoneName }, disk } = this.app;
        this.start(new NoteApp({ zoneName, disk, diesAfter }), automatically);
    }

    /** Fulfilled when the engine has handled earlier changes, and the app has kept them or has died. */
    async told() {
        await coreOf(this.engine).idle;
        this.app.keepNotes();
    }

    write(name, word, zoneName) {
        this.app.write(name, word, this.engine, zoneName && { zoneName });
    }

    delete(name) {
        this.app.delete(name, this.engine);
    }

    /** The name of the error with which a send or fetch fails; "ok" if it does not. */
    send(options) {
        return outcome(this.engine.sendChanges(options));
    }

    fetch(options) {
        return outcome(this.engine.fetchChanges(options));
    }

    /** The words of the notes that the server has. */
    async served(zoneID = this.app.zoneID) {
        const pages = await collected(this.database.recordZoneChanges({ zoneID }));
        const all = new Map(pages.flatMap(({ records }) => records).map((record) => [record.recordName, record]));
        return Object.fromEntries([...all].filter(([, { deleted }]) => !deleted).map(([name, { fields }]) => [name, fields.words.value]).sort());
    }
}

const outcome = (promise) => promise.then(() => "ok", nameOf);

let users = 0;

/** Two devices of a user who is new. They share a sign-in: passwords take long. */
export async function pair(cloud) {
    users += 1;
    const email = `user-${users}@example.com`;
    await cloud.makeUser(email);
    const token = await cloud.webAuthToken(email);
    return { email, a: await Device.signedIn(cloud, email, { token }), b: await Device.signedIn(cloud, email, { token }) };
}

export { CloudKit };
