/**
 * An app with `CloudKit.SyncEngine`, for `converge.py`, which tells it what its user does, a line of the standard input
 * each, and kills it. It is `Tests/NacreConvergingApp` in JavaScript: the same lines, notes and journal.
 *
 *     node converging.mjs device ID FOLDER - atomic|loose TOKEN
 */

import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { join } from "node:path";

import CloudKit, { SyncEngine } from "../../Web/cloudkit/src/module.js";
import { Draws } from "../../Web/cloudkit/tests/support/draws.mjs";
import { nameOf } from "../../Web/cloudkit/tests/support/notes.mjs";

/** The zone that stays. Notes whose names begin with a device's ID may be deleted in it, by that device. */
const steady = "Steady";
/** The zone that is deleted and made again. A device that hears of it gives up its notes. */
const reborn = "Reborn";
/** Notes of a zone that every device edits. */
const sharedNotes = 20;
const batchSizeMax = 40;
const zones = [steady, reborn];
/** Codes of a record that is gone with its author's will, or with its zone. */
const gone = ["unknownItem", "zoneNotFound", "userDeletedZone"];

function fatal(text) {
    process.stderr.write(`${text}\n`);
    process.exit(1);
}

const keyOf = ({ recordName, zoneID }) => `${zoneID.zoneName}/${recordName}`;

function recordID(key) {
    const [zoneName, ...rest] = key.split("/");
    return { recordName: rest.join("/"), zoneID: { zoneName } };
}

/** The content of a note, as a record has it: two sets that only grow, as sorted lists. */
const contentOf = ({ fields }) => ({ words: fields?.words?.value ?? [], struck: fields?.struck?.value ?? [] });
const union = (one, other) => [...new Set([...one, ...other])].sort();
const merged = (one, other) => ({ words: union(one.words, other.words), struck: union(one.struck, other.struck) });
const isPart = (one, other) => [["words"], ["struck"]].every(([field]) => one[field].every((word) => other[field].includes(word)));
const newNote = () => ({ content: { words: [], struck: [] } });

/** A device of the app: notes in zones, and an engine that syncs them. */
class Device {
    #id;
    #folder;
    #isAtomic;
    #kept;
    #engine;
    #wordsMade = 0;
    #isInsideDelegate = false;
    #calls = new Map();
    #cancelled = new Map();

    constructor(id, folder, database, isAtomic) {
        this.#id = id;
        this.#folder = folder;
        this.#isAtomic = isAtomic;
        const path = join(folder, "notes.json");
        this.#kept = existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : { launches: 0, notes: {} };
        this.#kept.launches += 1;
        this.#keep();
        this.#engine = new SyncEngine({ database, stateSerialization: this.#kept.state, delegate: this });
        // Changes that its state does not have, because the process was killed before, are added again.
        this.#add(Object.keys(this.#kept.notes).sort());
    }

    // The disk

    #keep() {
        const path = join(this.#folder, "notes.json");
        writeFileSync(`${path}.new`, JSON.stringify(this.#kept));
        renameSync(`${path}.new`, path);
    }

    /** Writes a line that begins with its break, so that a line that a kill has torn takes no other along. */
    #note(fact) {
        appendFileSync(join(this.#folder, "journal"), `\n${JSON.stringify({ key: "", seconds: 0, text: "", ...fact })}`);
    }

    #fault(place, error) {
        this.#note({ kind: "fault", text: `${place} failed for good: ${nameOf(error)}: ${error}` });
    }

    // The user

    /** The change that is to be sent of a note; undefined: none. */
    #unsent(key) {
        const note = this.#kept.notes[key];
        return note?.isUnsent ? { type: note.isGone ? "deleteRecord" : "saveRecord", recordID: recordID(key) } : undefined;
    }

    #add(keys) {
        const pendingRecordZoneChanges = keys.map((key) => this.#unsent(key)).filter((change) => change);
        if (pendingRecordZoneChanges.length > 0) this.#engine.state.add({ pendingRecordZoneChanges });
    }

    edit(count, seed) {
        const draws = new Draws(seed);
        const keys = Array.from({ length: count }, () => this.#editOne(draws));
        this.#keep();
        this.#add(keys);
    }

    /** Makes an edit at random, and answers the note's key. */
    #editOne(draws) {
        const dice = draws.below(100);
        this.#wordsMade += 1;
        const word = `${this.#id}.${this.#kept.launches}.${this.#wordsMade}`;
        const { notes } = this.#kept;
        const saved = Object.keys(notes).filter((key) => notes[key].tag && !notes[key].isGone).sort();
        const own = saved.filter((key) => key.startsWith(`${steady}/${this.#id}.`));
        if (dice < 4 && own.length > 0) {
            const key = draws.of(own);
            // The journal comes first: a deletion that it does not have must not happen.
            this.#note({ kind: "deletes", key });
            Object.assign(notes[key], { isGone: true, isUnsent: true });
            return key;
        }
        let key = `${draws.of(zones)}/note${draws.below(sharedNotes)}`;
        if (dice < 12) key = `${steady}/${word}`;
        if (dice > 80) key = draws.of(saved) ?? key;
        const note = notes[key] ??= newNote();
        const old = draws.of(note.content.words.filter((one) => !note.content.struck.includes(one)));
        const edit = dice < 30 && old ? { words: [], struck: [old] } : { words: [word], struck: [] };
        note.content = merged(note.content, edit);
        note.isUnsent = true;
        return key;
    }

    /** Deletes a zone, which is made again once that is done. */
    remake(zoneName) {
        this.#engine.state.add({ pendingDatabaseChanges: [{ type: "deleteZone", zoneID: { zoneName } }] });
    }

    call(name, sends) {
        const controller = new AbortController();
        this.#calls.set(name, controller);
        const options = { signal: controller.signal };
        // The reason of a failure is in the events; the app tries again.
        (sends ? this.#engine.sendChanges(options) : this.#engine.fetchChanges(options)).catch(() => {}).then(() => {
            this.#calls.delete(name);
            const since = this.#cancelled.get(name);
            if (since !== undefined) this.#note({ kind: "cancelled", seconds: (performance.now() - since) / 1000 });
            this.#cancelled.delete(name);
        });
    }

    cancel(name) {
        if (!this.#calls.has(name)) return;
        this.#cancelled.set(name, performance.now());
        this.#calls.get(name).abort();
    }

    cancelAll() {
        for (const name of this.#calls.keys()) this.#cancelled.set(name, performance.now());
        this.#engine.cancelOperations();
    }

    /** The device as the driver compares it. */
    report(name) {
        const { state } = this.#engine;
        const notes = Object.entries(this.#kept.notes);
        return {
            name, pending: state.pendingRecordZoneChanges.length + state.pendingDatabaseChanges.length,
            unsent: notes.filter(([, note]) => note.isUnsent).length,
            notes: Object.fromEntries(notes.filter(([, note]) => !note.isGone).map(([key, { content }]) => [key, content])),
        };
    }

    // The delegate

    async #inside(work) {
        if (this.#isInsideDelegate) this.#note({ kind: "fault", text: "Two calls of the delegate overlap" });
        this.#isInsideDelegate = true;
        try {
            return await work();
        } finally {
            this.#isInsideDelegate = false;
        }
    }

    nextRecordZoneChangeBatch({ options: { scope } }, { state }) {
        return this.#inside(async () => {
            const isMeant = ({ type, recordID: id }) => this.#unsent(keyOf(id))?.type === type;
            state.remove({ pendingRecordZoneChanges: state.pendingRecordZoneChanges.filter((change) => !isMeant(change)) });
            const pending = state.pendingRecordZoneChanges.filter((change) => scope.contains(change));
            const some = pending.slice(0, 1 + Math.floor(Math.random() * batchSizeMax));
            const batch = await SyncEngine.batch(some, (id) => this.#record(id));
            return batch && { ...batch, atomicByZone: this.#isAtomic };
        });
    }

    #record(id) {
        const note = this.#kept.notes[keyOf(id)];
        if (!note) return undefined;
        // The server makes no field of an empty list.
        const fields = Object.fromEntries(Object.entries(note.content).filter(([, list]) => list.length > 0).map(([name, value]) => [name, { value }]));
        return { recordType: "Note", ...id, recordChangeTag: note.tag, fields };
    }

    handleEvent(event, { state }) {
        return this.#inside(async () => {
            switch (event.type) {
                case "stateUpdate": this.#kept.state = event.stateSerialization; break;
                case "accountChange": if (event.changeType !== "signIn") this.#kept.notes = {}; break;
                case "fetchedDatabaseChanges": for (const { zoneID } of event.deletions) this.#giveUp(zoneID, state); break;
                case "fetchedRecordZoneChanges":
                    for (const { record } of event.modifications) if (record.recordType === "Note") this.#take(record);
                    for (const { recordID: id } of event.deletions) {
                        delete this.#kept.notes[keyOf(id)];
                        state.remove({ pendingRecordZoneChanges: ["saveRecord", "deleteRecord"].map((type) => ({ type, recordID: id })) });
                    }
                    break;
                case "sentDatabaseChanges": this.#takeSent(event, state); break;
                case "sentRecordZoneChanges":
                    for (const record of event.savedRecords) this.#acknowledge(record);
                    for (const { record, error } of event.failedRecordSaves) this.#mendSave(record, error, state);
                    for (const id of event.deletedRecordIDs) this.#acknowledgeDeletion(id);
                    for (const { recordID: id, error } of event.failedRecordDeletes) this.#mendDeletion(id, error, state);
            }
            this.#keep();
        });
    }

    #giveUp({ zoneName }, state) {
        for (const key of Object.keys(this.#kept.notes)) if (key.startsWith(`${zoneName}/`)) delete this.#kept.notes[key];
        state.remove({ pendingRecordZoneChanges: state.pendingRecordZoneChanges.filter((change) => change.recordID.zoneID.zoneName === zoneName) });
    }

    #takeSent({ deletedZoneIDs, failedZoneDeletes, failedZoneSaves }, state) {
        const absent = failedZoneDeletes.filter(({ error }) => nameOf(error) === "zoneNotFound").map(({ zoneID }) => zoneID);
        for (const zoneID of [...absent, ...deletedZoneIDs]) {
            this.#note({ kind: "zoneDeleted", key: zoneID.zoneName, seconds: Date.now() / 1000 });
            this.#giveUp(zoneID, state);
            state.add({ pendingDatabaseChanges: [{ type: "saveZone", zoneID }] });
        }
        const isPending = (type, { zoneName }) => (
            state.pendingDatabaseChanges.some((change) => change.type === type && change.zoneID.zoneName === zoneName));
        for (const { zone, error } of failedZoneSaves) if (!isPending("saveZone", zone.zoneID)) this.#fault("saving a zone", error);
        for (const { zoneID, error } of failedZoneDeletes) {
            if (nameOf(error) !== "zoneNotFound" && !isPending("deleteZone", zoneID)) this.#fault("deleting a zone", error);
        }
    }

    /** Merges a record that was fetched. What this device sent, or fetched before, is in it. */
    #take(record) {
        const key = keyOf(record);
        const content = contentOf(record);
        const note = this.#kept.notes[key] ?? newNote();
        if (note.isGone) return;
        if (!note.isUnsent && !isPart(note.content, content)) {
            if (record.zoneID.zoneName === steady) this.#note({ kind: "fault", key, text: "less was fetched than was known" });
            note.content = content;
        }
        this.#merge(key, note, content, record);
    }

    /** Takes over the server's version: with its change tag goes all of its content. */
    #merge(key, note, content, { recordChangeTag }) {
        note.content = merged(note.content, content);
        note.tag = recordChangeTag;
        note.isUnsent &&= !isPart(note.content, content);
        this.#kept.notes[key] = note;
    }

    #acknowledge(record) {
        const key = keyOf(record);
        const content = contentOf(record);
        this.#note({ kind: "saved", key, content, seconds: (record.modified?.timestamp ?? 0) / 1000 });
        const note = this.#kept.notes[key];
        if (note && !note.isGone) this.#merge(key, note, content, record);
    }

    #acknowledgeDeletion(id) {
        this.#note({ kind: "deleted", key: keyOf(id) });
        delete this.#kept.notes[keyOf(id)];
    }

    #mendSave(record, error, state) {
        const key = keyOf(record);
        const note = this.#kept.notes[key];
        if (!note || note.isGone) return;
        const code = nameOf(error);
        if (code === "serverRecordChanged") {
            if (!error.serverRecord) return this.#fault(`saving ${key}, without the server's record,`, error);
            this.#merge(key, note, contentOf(error.serverRecord), error.serverRecord);
        } else if (gone.includes(code)) {
            // Its author deleted the note, or the zone is another one.
            delete this.#kept.notes[key];
        } else if (code !== "batchRequestFailed" && !this.#isPending("saveRecord", key, state)) {
            this.#fault(`saving ${key}`, error);
        }
        this.#add([key]);
    }

    #mendDeletion(id, error, state) {
        const code = nameOf(error);
        if (gone.includes(code)) this.#acknowledgeDeletion(id);
        else if (code === "batchRequestFailed") state.add({ pendingRecordZoneChanges: [{ type: "deleteRecord", recordID: id }] });
        else if (!this.#isPending("deleteRecord", keyOf(id), state)) this.#fault(`deleting ${keyOf(id)}`, error);
    }

    #isPending(type, key, state) {
        return state.pendingRecordZoneChanges.some((change) => change.type === type && keyOf(change.recordID) === key);
    }
}

process.on("unhandledRejection", (error) => fatal(`unhandled: ${error?.stack ?? error}`));
const [role, id, folder, , kind, first] = process.argv.slice(2);
const { CONVERGING_SERVER: serverURL, CONVERGING_API_TOKEN: apiToken, CLOUDKIT_CONTAINER: containerIdentifier } = process.env;
if (role !== "device" || !first || !serverURL) fatal("device ID FOLDER - atomic|loose TOKEN, with the server in the environment");

/** The session's token, which the server changes; kept in a file. */
const tokenFile = join(folder, "token");
const authTokenStore = {
    getToken: () => (existsSync(tokenFile) ? readFileSync(tokenFile, "utf8") || null : first),
    putToken(_, token) {
        writeFileSync(`${tokenFile}.new`, token ?? "");
        renameSync(`${tokenFile}.new`, tokenFile);
    },
};
let asked = 0;
/** Sends a request, and writes down when it began and ended. */
async function noted(url, options) {
    const line = `${new Date().toISOString().slice(11, 23)} ${asked += 1}`;
    const note = (text) => process.stderr.write(`${line} ${text}\n`);
    note(new URL(url).pathname);
    try {
        const answer = await fetch(url, options);
        note(answer.status);
        return answer;
    } catch (error) {
        note(error);
        throw error;
    }
}
const container = CloudKit.configure({
    serverURL, containers: [{ containerIdentifier, environment: "development", apiTokenAuth: { apiToken } }],
    services: { authTokenStore, fetch: noted },
}).getDefaultContainer();
const device = new Device(id, folder, container.privateCloudDatabase, kind === "atomic");
for await (const line of createInterface({ input: process.stdin })) {
    const [verb, word, seed] = line.split(" ");
    switch (verb) {
        case "edit": device.edit(Number(word), Number(BigInt(seed) & 0xffffffffn)); break;
        case "fetch": device.call(word, false); break;
        case "send": device.call(word, true); break;
        case "cancel": device.cancel(word); break;
        case "cancel-all": device.cancelAll(); break;
        case "remake": device.remake(word); break;
        case "report": process.stdout.write(`${JSON.stringify(device.report(word))}\n`); break;
        default: fatal(`An unknown line: ${line}`);
    }
}
process.exit(0);
