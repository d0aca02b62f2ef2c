/** Batches of records, and the scopes of fetches and sends. */

import { invalid } from "../error.js";
import { encodedRecord, list } from "../values.js";
import { recordIDIn, recordKey, zoneIDIn, zoneKey } from "./state.js";

/** Items of a batch that is made of pending changes; and bytes, as many as a request of the framework may have. */
const itemsMax = 200;
const bytesMax = 2_000_000;

/**
 * A batch of the first pending changes, until it is full by number or by size.
 * @param {any[]} pendingChanges
 * @param {(recordID: any) => any} recordProvider the record as it is to be saved, or nothing: its change is passed over
 * @returns {Promise<{ recordsToSave: any[], recordIDsToDelete: any[] } | null>} null if there is nothing to send
 */
export async function batchOf(pendingChanges, recordProvider) {
    /** @type {{ recordsToSave: any[], recordIDsToDelete: any[] }} */
    const batch = { recordsToSave: [], recordIDsToDelete: [] };
    let count = 0;
    let bytes = 0;
    for (const { type, recordID } of pendingChanges) {
        if (count === itemsMax) break;
        if (type === "deleteRecord") {
            batch.recordIDsToDelete.push(recordID);
        } else {
            const record = await recordProvider(recordID);
            if (!record) continue;
            bytes += sizeOf(record);
            // A record that is too large alone goes alone, and fails alone.
            if (bytes > bytesMax && count > 0) break;
            batch.recordsToSave.push(record);
        }
        count += 1;
    }
    return count > 0 ? batch : null;
}

/**
 * The bytes of a record in a request; its files go before it. A record that cannot be sent counts as none.
 * @param {any} record
 */
function sizeOf(record) {
    try {
        return new TextEncoder().encode(JSON.stringify(encodedRecord(record))).length;
    } catch {
        return 0;
    }
}

/** A batch of a delegate. */
export class Batch {
    /**
     * @param {string} scope the database's
     * @param {any} given
     */
    constructor(scope, { recordsToSave = [], recordIDsToDelete = [], atomicByZone = false }) {
        if (!Array.isArray(recordsToSave) || !Array.isArray(recordIDsToDelete)) throw invalid("a batch has arrays of records and of record IDs");
        this.isAtomic = Boolean(atomicByZone);
        /** @type {{ recordID: import("./state.js").RecordID, record?: any }[]} without a record: to delete */
        this.items = [
            ...recordsToSave.map((record) => ({ recordID: recordIDIn(scope, record), record })),
            ...recordIDsToDelete.map((recordID) => ({ recordID: recordIDIn(scope, recordID) })),
        ];
    }

    /**
     * Leaves out these records, and with `atomicByZone` everything else of their zones.
     * @param {Set<string>} later keys of records
     */
    without(later) {
        const isLater = (/** @type {any} */ { recordID }) => later.has(recordKey(recordID));
        const zones = new Set(this.isAtomic ? this.items.filter(isLater).map(({ recordID }) => zoneKey(recordID.zoneID)) : []);
        const left = /** @type {Batch} */ (Object.create(Batch.prototype));
        left.isAtomic = this.isAtomic;
        left.items = this.items.filter((item) => !isLater(item) && !zones.has(zoneKey(item.recordID.zoneID)));
        return left;
    }

    /** The items zone by zone, in the order in which the zones come. */
    get byZone() {
        /** @type {Map<string, Batch["items"]>} */
        const zones = new Map();
        for (const item of this.items) {
            const key = zoneKey(item.recordID.zoneID);
            const items = zones.get(key);
            if (items) items.push(item); else zones.set(key, [item]);
        }
        return [...zones.values()];
    }
}

/** A part of a database: everything, some zones, everything but some zones, or for a send some records. */
export class Scope {
    #database;
    /** @type {{ zoneIDs?: any[], allExcluding?: any[], recordIDs?: any[] }} */
    #plain;
    /** @type {Set<string> | undefined} */
    #zones;
    /** @type {Set<string> | undefined} */
    #excluded;
    /** @type {Set<string> | undefined} */
    #records;

    /**
     * @param {string} database its scope
     * @param {any} [given]
     */
    constructor(database, given = {}) {
        if (typeof given !== "object" || given === null) throw invalid("a scope is an object");
        const zones = (/** @type {any} */ values) => values && list(values).map((value) => zoneIDIn(database, value));
        const { zoneIDs, allExcluding, recordIDs } = this.#plain = {
            zoneIDs: zones(given.zoneIDs), allExcluding: zones(given.allExcluding),
            recordIDs: given.recordIDs && list(given.recordIDs).map((value) => recordIDIn(database, value)),
        };
        this.#database = database;
        this.#zones = zoneIDs && new Set(zoneIDs.map(zoneKey));
        this.#excluded = allExcluding && new Set(allExcluding.map(zoneKey));
        this.#records = recordIDs && new Set(recordIDs.map(recordKey));
    }

    /** What the scope was made from, as one that can be handed to another tab. */
    get plain() {
        return this.#plain;
    }

    /** @param {any} change a pending change of a record, a record, its ID, or a zone's ID */
    contains(change) {
        const value = change?.recordID ?? change;
        return value?.zoneName === undefined ? this.#hasRecord(recordIDIn(this.#database, value)) : this.hasZone(zoneIDIn(this.#database, value));
    }

    /** @param {import("./state.js").RecordID} recordID */
    #hasRecord(recordID) {
        return this.#records ? this.#records.has(recordKey(recordID)) : this.hasZone(recordID.zoneID);
    }

    /** @param {import("../../cloudkit").ZoneID} zoneID one of the engine's */
    hasZone(zoneID) {
        const key = zoneKey(zoneID);
        if (this.#records) return [...this.#records].some((record) => record.startsWith(`${key}\n`));
        return (this.#zones?.has(key) ?? true) && !this.#excluded?.has(key);
    }
}
