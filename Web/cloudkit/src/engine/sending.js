/** A send: zones before records, also where the delegate adds zones between two batches. */

import { invalid } from "../error.js";
import { encodedRecord } from "../values.js";
import { Batch } from "./batch.js";
import { endsRun, leavesPending, mayPass, partial } from "./failures.js";
import { parted } from "./requests.js";
import { defaultZoneName, recordKey, zoneKey } from "./state.js";

/** @typedef {import("./core.js").Core} Core */
/** @typedef {import("./run.js").Run} Run */
/** @typedef {import("./requests.js").Result} Result */

/**
 * @typedef {object} Told the end of a batch
 * @property {Core["state"]["records"]} list
 * @property {any[]} done
 * @property {number} last the serial of the list at the start: what was added after it stays pending
 * @property {Map<string, any>} errors by the keys of the items
 * @property {Set<string>} later items of the next send
 */

/** Zones of a request. */
const zonesMax = 200;

/**
 * The failures of a send, and what it leaves to the next one: what failed, and all that was added while the delegate
 * handled a failure. So a delegate that adds failed changes again does not make a send endless.
 */
class Failures {
    /** @type {Map<string, any>} by the item's key */
    errors = new Map();
    /** @type {Set<string>} */
    laterZones = new Set();
    /** @type {Set<string>} */
    laterRecords = new Set();
    /** @type {Set<string>} records that were left out of a batch of which nothing was left */
    #leftOut = new Set();

    /**
     * Notes that nothing is left of a batch.
     * @param {Batch} batch
     * @returns {boolean} whether the delegate is asked for another one: one with the same records again ends the send
     */
    leaveOut({ items }) {
        const before = this.#leftOut.size;
        for (const key of items.map(({ recordID }) => recordKey(recordID))) if (this.laterRecords.has(key)) this.#leftOut.add(key);
        return this.#leftOut.size > before;
    }

    get error() {
        return partial("some changes could not be sent", [...this.errors.values()]);
    }
}

/**
 * @param {Core} core
 * @param {any} context
 * @param {Run} run
 */
export async function sendChanges(core, context, run) {
    const failures = new Failures();
    await core.between({ type: "willSendChanges", context }, { type: "didSendChanges", context }, async () => {
        for (;;) {
            run.check();
            if (await sendZones(core, context, failures, run)) continue;
            const { serial } = core.state.records;
            const given = await core.nextBatch(context);
            const asked = given && new Batch(core.scope, given);
            const batch = asked?.without(failures.laterRecords);
            if (batch && batch.items.length > 0) {
                await sendRecords(core, batch, serial, context, failures, run);
                continue;
            }
            if (asked && failures.leaveOut(asked)) continue;
            if (zonesToSend(core, context, failures).length === 0) break;
        }
        if (failures.error) throw failures.error;
    });
}

/**
 * Takes what is done off a list, tells the delegate, and notes what failed. What the delegate could not take stays in
 * the list.
 * @param {Core} core
 * @param {object} event
 * @param {Told} batch
 * @param {Failures} failures
 */
async function tell(core, event, { list, done, last, errors, later }, failures) {
    const { state } = core;
    const removed = done.filter((change) => list.remove(change, last));
    if (removed.length > 0) state.revision += 1;
    for (const [key, error] of errors) {
        failures.errors.set(key, error);
        later.add(key);
    }
    const [zones, records] = [state.zones.serial, state.records.serial];
    try {
        await core.post(event);
    } catch (error) {
        // A change of the same item that came meanwhile is the newer one.
        for (const change of removed) if (!list.has(change)) list.add(change);
        throw error;
    }
    if (errors.size > 0) {
        for (const key of state.zones.keysAddedAfter(zones)) failures.laterZones.add(key);
        for (const key of state.records.keysAddedAfter(records)) failures.laterRecords.add(key);
    }
    await core.postState();
}

/**
 * Ends the send after an error that may pass, or would come again at once.
 * @param {any[]} errors of the batch's items
 * @param {any} ending the error that ended the request as a whole
 * @param {Failures} failures
 */
function goOn(errors, ending, failures) {
    if (ending && (endsRun(ending) || mayPass(ending))) throw ending;
    if (errors.some((error) => leavesPending(error, false))) throw failures.error;
}

// Zones

/**
 * @param {Core} core
 * @param {any} context
 * @param {Failures} failures
 */
const zonesToSend = ({ state }, { options }, { laterZones }) => (
    state.zones.changes.filter(({ zoneID }) => options.scope.hasZone(zoneID) && !laterZones.has(zoneKey(zoneID))));

/**
 * Sends one batch of zones.
 * @param {Core} core
 * @param {any} context
 * @param {Failures} failures
 * @param {Run} run
 * @returns {Promise<boolean>} false if there was none to send
 */
async function sendZones(core, context, failures, run) {
    const { state } = core;
    const last = state.zones.serial;
    const changes = zonesToSend(core, context, failures).slice(0, zonesMax);
    if (changes.length === 0) return false;
    /** @type {any} */
    let ending;
    /** @type {any[]} */
    let results;
    try {
        results = await core.requests.modifyZones(run, changes);
    } catch (error) {
        ending = error;
        results = changes.map(() => error);
    }
    const answered = changes.map((change, index) => ({ ...change, error: results[index] }));
    const of = (/** @type {string} */ type, /** @type {boolean} */ hasFailed) => (
        answered.filter((one) => one.type === type && Boolean(one.error) === hasFailed));
    const deletedZoneIDs = of("deleteZone", false).map(({ zoneID }) => zoneID);
    // A zone that is made again later begins without what was known of this one.
    for (const zoneID of deletedZoneIDs) state.forgetZone(zoneID);
    const failed = answered.filter(({ error }) => error);
    if (failed.length < answered.length) run.hasSucceeded = true;
    await tell(core, {
        type: "sentDatabaseChanges", deletedZoneIDs,
        savedZones: of("saveZone", false).map(({ zoneID }) => ({ zoneID })),
        failedZoneSaves: of("saveZone", true).map(({ zoneID, error }) => ({ zone: { zoneID }, error })),
        failedZoneDeletes: of("deleteZone", true).map(({ zoneID, error }) => ({ zoneID, error })),
    }, {
        list: state.zones, last, later: failures.laterZones, errors: new Map(failed.map(({ zoneID, error }) => [zoneKey(zoneID), error])),
        done: answered.filter(({ error }) => !error || !leavesPending(error, ending !== undefined)),
    }, failures);
    goOn(failed.map(({ error }) => error), ending, failures);
    return true;
}

// Records

/**
 * Sends one batch of records.
 * @param {Core} core
 * @param {Batch} batch
 * @param {number} last the serial of the list at the start
 * @param {any} context
 * @param {Failures} failures
 * @param {Run} run
 */
async function sendRecords(core, batch, last, context, failures, run) {
    const { state } = core;
    if (!batch.items.every(({ recordID }) => context.options.scope.contains(recordID))) {
        throw invalid("the batch has a record that is not in the scope of this send: leave out what context.options.scope does not contain");
    }
    const { results, ending } = await sentBatch(core, batch, run);
    const saves = results.filter(({ item }) => item.record);
    const deletions = results.filter(({ item }) => !item.record);
    const failed = results.filter(({ error }) => error);
    if (failed.length < results.length) run.hasSucceeded = true;
    const isDone = (/** @type {Result} */ { error }) => !error || !leavesPending(error, ending !== undefined);
    await tell(core, {
        type: "sentRecordZoneChanges",
        savedRecords: saves.filter(({ error }) => !error).map(({ record }) => record),
        failedRecordSaves: saves.filter(({ error }) => error).map(({ item, error }) => ({ record: item.record, error })),
        deletedRecordIDs: deletions.filter(({ error }) => !error).map(({ item }) => item.recordID),
        failedRecordDeletes: deletions.filter(({ error }) => error).map(({ item, error }) => ({ recordID: item.recordID, error })),
    }, {
        list: state.records, last, later: failures.laterRecords,
        errors: new Map(failed.map(({ item, error }) => [recordKey(item.recordID), error])),
        done: results.filter(isDone).map(({ item: { record, recordID } }) => ({ type: record ? "saveRecord" : "deleteRecord", recordID })),
    }, failures);
    goOn(failed.map(({ error }) => error), ending, failures);
}

/**
 * Sends a batch, zone by zone. The error of a zone is that of its items, and the next one follows; an error that every
 * request would meet is that of all that is left.
 * @param {Core} core
 * @param {Batch} batch
 * @param {Run} run
 * @returns {Promise<{ results: Result[], ending?: any }>}
 */
async function sentBatch(core, batch, run) {
    /** @type {Result[]} */
    const results = [];
    /** @type {any} */
    let ending;
    try {
        await beginFollowing(core, batch, run);
    } catch (error) {
        ending = error;
    }
    for (const items of batch.byZone) {
        const { ready, refused } = parted(items, faultOf, batch.isAtomic);
        results.push(...refused);
        if (ready.length === 0) continue;
        try {
            if (ending) throw ending;
            results.push(...await core.requests.modify(run, ready, batch.isAtomic));
        } catch (error) {
            if (endsRun(error)) ending = error;
            results.push(...ready.map((item) => ({ item, error })));
        }
    }
    return { results, ending };
}

/**
 * The error of a record that cannot be sent as it is.
 * @param {import("./requests.js").Item} item
 */
function faultOf({ record }) {
    try {
        if (record) encodedRecord(record);
        return undefined;
    } catch (error) {
        return error;
    }
}

/**
 * Takes a token of each zone that has none, before anything is sent into it. From that token on, the feed tells of
 * deletions, also of records that are sent now; the first fetch brings all that is in the zone.
 * @param {Core} core
 * @param {Batch} batch
 * @param {Run} run
 */
async function beginFollowing({ state, requests }, batch, run) {
    const unfollowed = batch.byZone.map(([{ recordID }]) => recordID.zoneID)
        .filter((zoneID) => zoneID.zoneName !== defaultZoneName && !state.tokens.has(zoneKey(zoneID)));
    if (unfollowed.length === 0) return;
    for (const { zoneID, token } of await requests.beginnings(run, unfollowed)) {
        state.tokens.set(zoneKey(zoneID), { zoneID, token });
        state.revision += 1;
    }
}
