/**
 * Devices that write, send, fetch, fail and die in an order that a seed draws; then they come to rest without faults,
 * and must agree. SEED draws a history again, and HISTORIES sets how many there are.
 */

import assert from "node:assert/strict";
import { before, test } from "node:test";

import { startCloud } from "./support/cloud.mjs";
import { Draws } from "./support/draws.mjs";
import { faults, pair } from "./support/sync.mjs";

const steps = 60;
const first = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 32));
const count = Number(process.env.HISTORIES ?? (process.env.SEED ? 1 : 5));

let cloud;
before(async () => { cloud = await startCloud(); });

/** The fault of a request, if the draw is one. */
function drawnFault(draws, path) {
    switch (draws.below(36)) {
        case 0: case 1: return faults.notSent;
        case 2: case 3: return faults.answerLost;
        case 4: return faults.whole({ code: "serviceUnavailable", word: "TRY_AGAIN_LATER", status: 503, retryAfter: 1 });
        case 5: return faults.whole({ code: "requestRateLimited", word: "THROTTLED", status: 429, retryAfter: 2 });
        case 6: return path.startsWith("records/") ? faults.whole({ code: "zoneBusy", word: "TRY_AGAIN_LATER", status: 503 }) : undefined;
        // Only for the database: if a zone's feed begins again, it does not tell of earlier deletions.
        case 7: return path === "changes/database" ? faults.whole({ code: "changeTokenExpired", word: "BAD_REQUEST" }) : undefined;
        default: return undefined;
    }
}

/** The end that must come, whatever the engines do: kept words are there, and deleted notes are not. */
class Oracle {
    #words = new Map();
    #deleted = new Set();
    #creators = new Map();
    #count = 0;

    get expected() {
        const left = [...this.#words].filter(([name]) => !this.#deleted.has(name));
        return Object.fromEntries(left.map(([name, words]) => [name, [...words].sort()]).sort());
    }

    /** A user writes a word into a note, or deletes one that they made and the server has. */
    async act(device, draws) {
        const has = (name) => device.app.disk.notes.get(`Notes/${name}`);
        const notes = [...device.app.notes.values()].map(({ recordName }) => recordName).sort();
        const own = notes.filter((name) => this.#creators.get(name) === device && has(name)?.tag);
        this.#count += 1;
        if (draws.oneIn(6) && own.length > 0) {
            const name = draws.of(own);
            device.delete(name);
            await device.told();
            if (!has(name)) this.#deleted.add(name);
            return;
        }
        const name = draws.oneIn(3) || notes.length === 0 ? `note-${this.#count}` : draws.of(notes);
        const word = `word-${this.#count}`;
        device.write(name, word);
        await device.told();
        if (!has(name)?.words.has(word)) return;
        if (!this.#words.has(name)) this.#creators.set(name, device);
        this.#words.set(name, new Set([...this.#words.get(name) ?? [], word]));
    }
}

/** Kills a device at once, or in the middle of its next work, or while a request is under way. */
async function die(device, draws) {
    device.restart({ diesAfter: draws.oneIn(3) ? undefined : draws.below(12) });
    if (draws.oneIn(2)) await device.send();
    const last = device.fetch();
    if (draws.oneIn(2)) await last;
    device.restart();
    await last;
}

/** Sends and fetches until nothing changes any more. */
async function rest(devices) {
    for (let turn = 0; turn < 12; turn += 1) {
        let isStill = true;
        for (const device of devices) {
            device.app.log = [];
            const outcomes = [await device.send(), await device.fetch()];
            const isQuiet = !device.app.events.some((line) => line.startsWith("sent") || line.startsWith("fetched"));
            isStill &&= isQuiet && outcomes.every((outcome) => outcome === "ok") && device.engine.state.pendingRecordZoneChanges.length === 0;
        }
        if (isStill) return;
    }
    assert.fail(`the devices do not come to rest: ${JSON.stringify(devices.map(({ app }) => app.log))}`);
}

for (let seed = first; seed < first + count; seed += 1) {
    test(`two devices edit and delete the same notes: every word that was kept is there, and what was deleted is not (SEED=${seed})`, async () => {
        const draws = new Draws(seed);
        const { a, b } = await pair(cloud);
        const devices = [a, b];
        const oracle = new Oracle();
        for (const device of devices) device.network.draw = (path) => drawnFault(draws, path);
        for (let step = 0; step < steps; step += 1) {
            const device = draws.of(devices);
            const action = draws.below(10);
            if (action < 5) await oracle.act(device, draws);
            else if (action < 7) await device.send();
            else if (action < 9) await device.fetch();
            else await die(device, draws);
        }
        for (const device of devices) {
            device.network.draw = () => undefined;
            device.restart();
        }
        await rest(devices);
        const served = await a.served();
        assert.deepEqual(served, oracle.expected);
        for (const { app } of devices) assert.deepEqual(app.words, served);
    });
}
