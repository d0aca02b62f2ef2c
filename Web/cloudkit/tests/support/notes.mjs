/**
 * The app of the tests of SyncEngine, and its disk: notes are sets of words, merged by their union; a deletion wins
 * over everything. It is the app of the framework's tests (NoteApp.swift), line by line.
 *
 * It keeps its notes and the engine's state together, at each stateUpdate, and its notes once the engine has handled a
 * user's change. What is not kept by then is lost when the app dies.
 */

import { SyncEngine } from "../../src/module.js";

/** Names of CKError.Code, as the table has them. */
export const codeNames = {
    1: "internalError", 2: "partialFailure", 3: "networkUnavailable", 4: "networkFailure", 5: "badContainer", 6: "serviceUnavailable",
    7: "requestRateLimited", 9: "notAuthenticated", 10: "permissionFailure", 11: "unknownItem", 12: "invalidArguments", 14: "serverRecordChanged",
    15: "serverRejectedRequest", 19: "constraintViolation", 20: "operationCancelled", 21: "changeTokenExpired", 22: "batchRequestFailed",
    23: "zoneBusy", 24: "badDatabase", 25: "quotaExceeded", 26: "zoneNotFound", 27: "limitExceeded", 28: "userDeletedZone",
    31: "referenceViolation", 32: "managedAccountRestricted", 34: "serverResponseLost", 36: "accountTemporarilyUnavailable",
};

/** Names of errors that the library finds. The web does not tell a request that was not sent from a lost answer. */
const localNames = {
    NETWORK_ERROR: "networkUnavailable", PARTIAL_FAILURE: "partialFailure", OPERATION_CANCELLED: "operationCancelled",
    INVALID_ARGUMENTS: "invalidArguments", AUTHENTICATION_REQUIRED: "notAuthenticated", ACCESS_DENIED: "permissionFailure",
    ATOMIC_ERROR: "batchRequestFailed",
};

/** The name of an error's code. */
export const nameOf = (error) => codeNames[error.nativeCode] ?? localNames[error.ckErrorCode] ?? error.ckErrorCode ?? String(error);

const keyOf = ({ recordName, zoneID }) => `${zoneID.zoneName}/${recordName}`;

const copied = (notes) => new Map([...notes].map(([key, note]) => [key, { ...note, words: new Set(note.words) }]));

const zoneOf = ({ zoneID }) => zoneID.zoneName;
const nameOfRecord = ({ recordID, record }) => (recordID ?? record).recordName;

/** What was done, what was deleted, and what has failed, as a line tells it. */
function items(done, deleted, failed = []) {
    const names = (sign, all) => all.map((name) => ` ${sign}${name}`).join("");
    return names("+", done) + names("-", deleted) + failed.map(([name, error]) => ` !${name} ${nameOf(error)}`).join("");
}

/** The line of an event. */
function lineOf(event) {
    switch (event.type) {
        case "stateUpdate": return "state";
        case "accountChange": return event.changeType;
        case "fetchedDatabaseChanges": return `zones${items(event.modifications.map(zoneOf), event.deletions.map(zoneOf))}`;
        case "willFetchRecordZoneChanges": return `willFetch ${zoneOf(event)}`;
        case "didFetchRecordZoneChanges": return `didFetch ${zoneOf(event)}${event.error ? ` ${nameOf(event.error)}` : ""}`;
        case "fetchedRecordZoneChanges":
            return `fetched${items(event.modifications.map(nameOfRecord).sort(), event.deletions.map(nameOfRecord).sort())}`;
        case "sentDatabaseChanges":
            return `sentZones${items(event.savedZones.map(zoneOf), event.deletedZoneIDs.map(({ zoneName }) => zoneName), [
                ...event.failedZoneSaves.map(({ zone, error }) => [zoneOf(zone), error]),
                ...event.failedZoneDeletes.map(({ zoneID, error }) => [`-${zoneID.zoneName}`, error]),
            ])}`;
        case "sentRecordZoneChanges":
            return `sent${items(event.savedRecords.map(({ recordName }) => recordName), event.deletedRecordIDs.map(({ recordName }) => recordName), [
                ...event.failedRecordSaves.map((one) => [nameOfRecord(one), one.error]),
                ...event.failedRecordDeletes.map((one) => [`-${nameOfRecord(one)}`, one.error]),
            ])}`;
        default: return event.type.replace("Changes", "");
    }
}

export class NoteApp {
    log = [];
    /** Called after the app has handled an event. */
    hook = () => {};
    /** Makes the batches in place of the app. */
    batch = (context, engine) => this.ownBatch(context, engine);
    /** How many pending changes go into one batch, and whether a batch is atomic. */
    batchItems = 200;
    isAtomic = false;
    /** Whether the app heeds the scope of a send; mends what has failed; adds failed saves again. */
    heedsScope = true;
    mends = true;
    readds = false;
    isDead = false;
    #eventsLeft;
    #waiting = [];

    constructor({ zoneName = "Notes", disk = { notes: new Map(), state: undefined }, diesAfter = Infinity } = {}) {
        this.zoneID = { zoneName };
        this.disk = disk;
        this.notes = copied(disk.notes);
        this.#eventsLeft = diesAfter;
    }

    get events() {
        return this.log.filter((line) => line !== "state");
    }

    get words() {
        return Object.fromEntries([...this.notes.values()].map(({ recordName, words }) => [recordName, [...words].sort()]).sort());
    }

    recordID(recordName, zoneID = this.zoneID) {
        return { recordName, zoneID };
    }

    keepNotes() {
        if (!this.isDead) this.disk = { ...this.disk, notes: copied(this.notes) };
    }

    /** Fulfilled once the log has had this line so many times. */
    heard(line, count = 1) {
        return new Promise((resolve) => {
            this.#waiting.push({ line, count, resolve });
            this.#wake();
        });
    }

    #wake() {
        this.#waiting = this.#waiting.filter(({ line, count, resolve }) => {
            const isThere = this.log.filter((one) => one === line).length >= count;
            if (isThere) resolve();
            return !isThere;
        });
    }

    // The user's changes

    write(name, word, engine, zoneID = this.zoneID) {
        const recordID = this.recordID(name, zoneID);
        const note = this.notes.get(keyOf(recordID)) ?? { ...recordID, words: new Set() };
        note.words.add(word);
        this.notes.set(keyOf(recordID), note);
        engine.state.add({ pendingRecordZoneChanges: [{ type: "saveRecord", recordID }] });
    }

    delete(name, engine) {
        const recordID = this.recordID(name);
        this.notes.delete(keyOf(recordID));
        engine.state.add({ pendingRecordZoneChanges: [{ type: "deleteRecord", recordID }] });
    }

    // The delegate

    async handleEvent(event, engine) {
        this.#eventsLeft -= 1;
        if (this.#eventsLeft < 0) this.isDead = true;
        if (this.isDead) return;
        this.#take(event, engine);
        this.log.push(lineOf(event));
        this.#wake();
        await this.hook(event, engine);
    }

    nextRecordZoneChangeBatch(context, engine) {
        return this.isDead ? null : this.batch(context, engine);
    }

    async ownBatch({ options: { scope } }, engine) {
        const pending = engine.state.pendingRecordZoneChanges.filter((change) => !this.heedsScope || scope.contains(change));
        const batch = await SyncEngine.batch(pending.slice(0, this.batchItems), (recordID) => {
            const record = this.record(recordID);
            if (!record) engine.state.remove({ pendingRecordZoneChanges: [{ type: "saveRecord", recordID }] });
            return record;
        });
        return batch && { ...batch, atomicByZone: this.isAtomic };
    }

    record(recordID) {
        const note = this.notes.get(keyOf(recordID));
        if (!note) return undefined;
        return { recordType: "Note", ...recordID, recordChangeTag: note.tag, fields: { words: { value: [...note.words].sort() } } };
    }

    #take(event, engine) {
        switch (event.type) {
            case "stateUpdate": this.disk = { notes: copied(this.notes), state: event.stateSerialization }; break;
            case "accountChange": this.#takeAccount(event, engine); break;
            case "fetchedDatabaseChanges": for (const { zoneID } of event.deletions) this.#forget(zoneID); break;
            case "fetchedRecordZoneChanges": this.#takeRecords(event, engine); break;
            case "sentRecordZoneChanges":
                for (const record of event.savedRecords) {
                    const note = this.notes.get(keyOf(record));
                    if (note) note.tag = record.recordChangeTag;
                }
                if (this.mends) for (const failure of event.failedRecordSaves) this.#mend(failure, engine);
                if (this.readds) for (const { record } of event.failedRecordSaves) this.#add(engine, record);
        }
    }

    #takeRecords({ modifications, deletions }, engine) {
        const pending = new Set(engine.state.pendingRecordZoneChanges.map(({ type, recordID }) => `${type} ${keyOf(recordID)}`));
        for (const { record } of modifications.filter((one) => one.record.recordType === "Note")) {
            if (!pending.has(`deleteRecord ${keyOf(record)}`)) this.#merge(record, pending.has(`saveRecord ${keyOf(record)}`));
        }
        for (const { recordID } of deletions) {
            // The server has not seen the note that this device has made again since.
            if (pending.has(`saveRecord ${keyOf(recordID)}`) && this.notes.get(keyOf(recordID))?.tag === undefined) continue;
            this.notes.delete(keyOf(recordID));
            engine.state.remove({ pendingRecordZoneChanges: [{ type: "saveRecord", recordID }] });
        }
    }

    #takeAccount({ changeType }, engine) {
        if (changeType !== "signIn") this.notes.clear();
        if (changeType === "signOut") return;
        engine.state.add({ pendingDatabaseChanges: [{ type: "saveZone", zoneID: this.zoneID }] });
        const notes = [...this.notes.values()].sort((one, other) => (one.recordName < other.recordName ? -1 : 1));
        for (const note of notes) this.#add(engine, note);
    }

    #forget({ zoneName }) {
        for (const [key, { zoneID }] of this.notes) if (zoneID.zoneName === zoneName) this.notes.delete(key);
    }

    #merge(record, keepsOwn) {
        const { recordName, zoneID, recordChangeTag, fields } = record;
        const own = keepsOwn ? this.notes.get(keyOf(record))?.words ?? [] : [];
        this.notes.set(keyOf(record), { recordName, zoneID, tag: recordChangeTag, words: new Set([...fields.words?.value ?? [], ...own]) });
    }

    #add(engine, { recordName, zoneID }) {
        engine.state.add({ pendingRecordZoneChanges: [{ type: "saveRecord", recordID: { recordName, zoneID } }] });
    }

    #mend({ record, error }, engine) {
        const note = this.notes.get(keyOf(record));
        // The note was deleted since.
        if (!note) return;
        switch (nameOf(error)) {
            case "serverRecordChanged": this.#merge({ ...error.serverRecord, zoneID: record.zoneID }, true); break;
            case "zoneNotFound":
                note.tag = undefined;
                engine.state.add({ pendingDatabaseChanges: [{ type: "saveZone", zoneID: record.zoneID }] });
                break;
            case "batchRequestFailed": break;
            case "unknownItem": this.notes.delete(keyOf(record)); return;
            default: return;
        }
        this.#add(engine, record);
    }
}
