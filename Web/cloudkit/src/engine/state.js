/** The state of a sync engine: its user, its tokens, and the changes that wait to be sent. */

import { invalid } from "../error.js";
import { namedRecordOf, zoneIDOf } from "../values.js";

/** @typedef {import("../../cloudkit").ZoneID} ZoneID */
/** @typedef {{ zoneID: ZoneID }} InZone */
/** @typedef {{ recordName: string, zoneID: ZoneID }} RecordID */

export const defaultZoneName = "_defaultZone";

/**
 * A zone's ID as this engine writes it: with an owner in the shared database alone.
 * @param {string} scope the database's
 * @param {any} value
 * @returns {ZoneID}
 */
export function zoneIDIn(scope, value) {
    const { zoneName, ownerRecordName } = zoneIDOf(value ?? defaultZoneName);
    return scope === "SHARED" && ownerRecordName !== undefined ? { zoneName, ownerRecordName } : { zoneName };
}

/**
 * @param {string} scope the database's
 * @param {any} value a record, or its ID
 * @returns {RecordID}
 */
export function recordIDIn(scope, value) {
    const { recordName, zoneID } = namedRecordOf(value);
    return { recordName, zoneID: zoneIDIn(scope, zoneID) };
}

/** @param {ZoneID} zoneID */
export const zoneKey = ({ zoneName, ownerRecordName }) => `${ownerRecordName ?? ""}\n${zoneName}`;

/** @param {RecordID} recordID */
export const recordKey = ({ recordName, zoneID }) => `${zoneKey(zoneID)}\n${recordName}`;

/**
 * Changes in the order in which they were added, at most one for each item. One that is added again keeps its place. Of
 * a save and a deletion of one item the later one counts, and goes to the end.
 */
class PendingList {
    /** @type {Map<string, { change: any, serial: number }>} */
    #entries = new Map();
    /** The number of additions. A batch notes it, and leaves later additions in the list. */
    serial = 0;
    #keyOf;

    /** @param {(change: any) => string} keyOf */
    constructor(keyOf) {
        this.#keyOf = keyOf;
    }

    get isEmpty() {
        return this.#entries.size === 0;
    }

    get changes() {
        return Array.from(this.#entries.values(), ({ change }) => change);
    }

    /**
     * The items whose last addition came after that of a serial.
     * @param {number} serial
     */
    keysAddedAfter(serial) {
        return [...this.#entries].filter(([, entry]) => entry.serial > serial).map(([key]) => key);
    }

    /**
     * @param {any} change
     * @returns {boolean} whether the list has changed
     */
    add(change) {
        this.serial += 1;
        const key = this.#keyOf(change);
        const known = this.#entries.get(key);
        if (known && known.change.type === change.type) {
            known.serial = this.serial;
            return false;
        }
        this.#entries.delete(key);
        this.#entries.set(key, { change, serial: this.serial });
        return true;
    }

    /**
     * @param {any} change
     * @returns {boolean} whether there is a change of the same item
     */
    has(change) {
        return this.#entries.has(this.#keyOf(change));
    }

    /**
     * @param {any} change
     * @param {number} [last] the serial of the last addition that is removed
     * @returns {boolean} whether the list has changed
     */
    remove(change, last = Infinity) {
        const key = this.#keyOf(change);
        const known = this.#entries.get(key);
        return known !== undefined && known.change.type === change.type && known.serial <= last && this.#entries.delete(key);
    }
}

const format = "nacre.sync-engine.web";
const version = 1;

/**
 * The FNV-1a hash of 32 bits: it finds damage, and proves nothing.
 * @param {string} text
 */
function checksum(text) {
    let sum = 0x811c9dc5;
    for (let place = 0; place < text.length; place += 1) sum = Math.imul(sum ^ text.charCodeAt(place), 0x01000193);
    return (sum >>> 0).toString(16);
}

/** The changes that an app may add. */
const recordTypes = ["saveRecord", "deleteRecord"];
const zoneTypes = ["saveZone", "deleteZone"];

export class SyncState {
    /** @type {string | undefined} the record name of the user whose state it is */
    user;
    hasSubscription = false;
    /** @type {string | undefined} */
    databaseToken;
    /** @type {Map<string, { zoneID: ZoneID, token: string }>} by the zone's key */
    tokens = new Map();
    /** @type {Map<string, ZoneID>} zones that have changes, by their keys */
    unfetched = new Map();
    records = new PendingList(({ recordID }) => recordKey(recordID));
    zones = new PendingList(({ zoneID }) => zoneKey(zoneID));
    hasPendingUntrackedChanges = false;
    /** Counts the changes of what a serialization has. */
    revision = 0;

    get hasSomethingToSend() {
        return !this.records.isEmpty || !this.zones.isEmpty || this.hasPendingUntrackedChanges;
    }

    /**
     * Forgets all that was one user's.
     * @param {string | undefined} user the next one
     */
    reset(user) {
        const revision = this.revision + 1;
        Object.assign(this, new SyncState(), { user, revision });
    }

    /**
     * Carries out what an app asked for: changes to add or to remove, or whether there are untracked ones.
     * @param {{ isRemoval?: boolean, records?: any[], zones?: any[], untracked?: boolean }} edit
     */
    apply({ isRemoval = false, records = [], zones = [], untracked }) {
        let isChanged = false;
        for (const [list, changes] of /** @type {[PendingList, any[]][]} */ ([[this.records, records], [this.zones, zones]])) {
            for (const change of changes) isChanged = (isRemoval ? list.remove(change) : list.add(change)) || isChanged;
        }
        if (untracked !== undefined && untracked !== this.hasPendingUntrackedChanges) {
            this.hasPendingUntrackedChanges = untracked;
            isChanged = true;
        }
        if (isChanged) this.revision += 1;
    }

    // The feeds

    /** @param {ZoneID} zoneID */
    noteUnfetched(zoneID) {
        this.unfetched.set(zoneKey(zoneID), zoneID);
    }

    /** @param {ZoneID} zoneID */
    noteFetched(zoneID) {
        if (this.unfetched.delete(zoneKey(zoneID))) this.revision += 1;
    }

    /** @param {ZoneID} zoneID */
    forgetZone(zoneID) {
        this.tokens.delete(zoneKey(zoneID));
        this.unfetched.delete(zoneKey(zoneID));
        this.revision += 1;
    }

    /** @param {{ modifications: InZone[], deletions: InZone[], token: string }} page of the database's feed */
    tookDatabase({ modifications, deletions, token }) {
        for (const { zoneID } of deletions) this.forgetZone(zoneID);
        for (const { zoneID } of modifications) this.noteUnfetched(zoneID);
        if (token !== this.databaseToken || modifications.length > 0) this.revision += 1;
        this.databaseToken = token;
    }

    /**
     * @param {ZoneID} zoneID
     * @param {{ token: string, moreComing: boolean }} page
     */
    tookZone(zoneID, { token, moreComing }) {
        this.tokens.set(zoneKey(zoneID), { zoneID, token });
        if (!moreComing) this.unfetched.delete(zoneKey(zoneID));
        this.revision += 1;
    }

    // The text

    /** @param {object} home the container and database that the state belongs to */
    serialized(home) {
        const { user, databaseToken, hasPendingUntrackedChanges: untracked } = this;
        const sorted = [...this.tokens].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, known]) => known);
        const state = JSON.stringify({
            home, user, databaseToken, tokens: sorted, unfetched: [...this.unfetched.values()], records: this.records.changes,
            zones: this.zones.changes, untracked,
        });
        return JSON.stringify({ format, version, checksum: checksum(state), state });
    }

    /**
     * @param {unknown} text
     * @returns {{ state: SyncState, home: any }}
     */
    static read(text) {
        const { state, ...sealed } = parsed(text) ?? {};
        if (sealed.format !== format) throw invalid("this is no state of a sync engine of CloudKit JS: begin without one, as on the first visit");
        if (sealed.version !== version) throw invalid("a newer version of CloudKit JS wrote this state of a sync engine: load the page anew");
        const kept = typeof state === "string" && sealed.checksum === checksum(state) ? parsed(state) : undefined;
        if (!kept) throw invalid("this state of a sync engine is damaged: begin without one, as on the first visit");
        const read = new SyncState();
        read.apply({ records: kept.records, zones: kept.zones, untracked: kept.untracked });
        Object.assign(read, { user: kept.user, databaseToken: kept.databaseToken, revision: 0 });
        for (const { zoneID, token } of kept.tokens) read.tokens.set(zoneKey(zoneID), { zoneID, token });
        for (const zoneID of kept.unfetched) read.noteUnfetched(zoneID);
        return { state: read, home: kept.home };
    }
}

/** @param {unknown} text */
function parsed(text) {
    try {
        const value = JSON.parse(String(text));
        return typeof value === "object" && value !== null ? value : undefined;
    } catch {
        return undefined;
    }
}

/** What an app sees of the state. */
export class State {
    #state;
    #scope;
    #edit;

    /**
     * @param {string} scope the database's
     * @param {() => SyncState} state
     * @param {(edit: Parameters<SyncState["apply"]>[0]) => void} edit carries an edit out
     */
    constructor(scope, state, edit) {
        this.#scope = scope;
        this.#state = state;
        this.#edit = edit;
    }

    get pendingRecordZoneChanges() {
        return this.#state().records.changes;
    }

    get pendingDatabaseChanges() {
        return this.#state().zones.changes;
    }

    get zoneIDsWithUnfetchedServerChanges() {
        return [...this.#state().unfetched.values()];
    }

    get hasPendingUntrackedChanges() {
        return this.#state().hasPendingUntrackedChanges;
    }

    set hasPendingUntrackedChanges(untracked) {
        this.#edit({ untracked: Boolean(untracked) });
    }

    /** @param {any} changes */
    add(changes) {
        this.#edit(this.#checked(changes));
    }

    /** @param {any} changes */
    remove(changes) {
        this.#edit({ ...this.#checked(changes), isRemoval: true });
    }

    /** @param {any} changes */
    #checked({ pendingRecordZoneChanges = [], pendingDatabaseChanges = [] } = /** @type {any} */ ({})) {
        if (!Array.isArray(pendingRecordZoneChanges) || !Array.isArray(pendingDatabaseChanges)) throw invalid("pending changes are arrays");
        return {
            records: pendingRecordZoneChanges.map((change) => {
                if (!recordTypes.includes(change?.type)) throw invalid("the type of a record's change is 'saveRecord' or 'deleteRecord'");
                return { type: change.type, recordID: recordIDIn(this.#scope, change.recordID) };
            }),
            zones: pendingDatabaseChanges.map((change) => {
                if (!zoneTypes.includes(change?.type)) throw invalid("the type of a zone's change is 'saveZone' or 'deleteZone'");
                return { type: change.type, zoneID: zoneIDIn(this.#scope, zoneIDOf(change.zoneID)) };
            }),
        };
    }
}
