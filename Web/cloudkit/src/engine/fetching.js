/** Fetches: the database's feed, then each zone that it names. A token is kept once the delegate has what is before it. */

import { code, codeOf, each, endsRun, leavesPending, partial, zoneIsAnother } from "./failures.js";
import { zoneKey } from "./state.js";

/** @typedef {import("./core.js").Core} Core */
/** @typedef {import("./run.js").Run} Run */
/** @typedef {import("../../cloudkit").ZoneID} ZoneID */

/**
 * @param {Core} core
 * @param {any} context
 * @param {Run} run
 */
export async function fetchChanges(core, context, run) {
    await keepSubscription(core, run);
    await core.between({ type: "willFetchChanges", context }, { type: "didFetchChanges", context }, async () => {
        await fetchDatabase(core, run);
        const error = partial("some changes could not be fetched", await fetchZones(core, context, run));
        if (error) throw error;
    });
}

/**
 * Keeps the user's subscription. If that fails, the next fetch tries again.
 * @param {Core} core
 * @param {Run} run
 */
async function keepSubscription(core, run) {
    if (core.state.hasSubscription) return;
    try {
        await core.requests.keepSubscription(run, core.subscriptionID);
        core.state.hasSubscription = true;
    } catch (error) {
        core.log(`the subscription of a sync engine was not made: ${error}`);
    }
}

/**
 * @param {Core} core
 * @param {Run} run
 */
async function fetchDatabase(core, run) {
    const { state } = core;
    // Read from its beginning, the feed names all zones that there are. A zone that it does not name is gone.
    /** @type {Map<string, ZoneID> | undefined} */
    let missing;
    for (let hasBegunAgain = false; ;) {
        const token = state.databaseToken;
        if (token === undefined) missing = new Map([...Array.from(state.tokens, known), ...state.unfetched]);
        let page;
        try {
            page = await core.requests.databasePage(run, token);
        } catch (error) {
            if (codeOf(error) !== code.changeTokenExpired || token === undefined || hasBegunAgain) throw error;
            hasBegunAgain = true;
            state.databaseToken = undefined;
            continue;
        }
        const { modifications, deletions, moreComing } = page;
        for (const { zoneID } of [...modifications, ...deletions]) missing?.delete(zoneKey(zoneID));
        if (!moreComing && missing) {
            const gone = [...missing.values()].sort((one, other) => (one.zoneName < other.zoneName ? -1 : 1));
            deletions.push(...gone.map((zoneID) => ({ zoneID, reason: "deleted" })));
        }
        if (modifications.length + deletions.length > 0) await core.post({ type: "fetchedDatabaseChanges", modifications, deletions });
        state.tookDatabase(page);
        await core.postState();
        if (!moreComing) return;
    }
}

/**
 * @param {[string, { zoneID: ZoneID }]} entry of the tokens
 * @returns {[string, ZoneID]}
 */
const known = ([key, { zoneID }]) => [key, zoneID];

/**
 * @param {Core} core
 * @param {any} context
 * @param {Run} run
 * @returns {Promise<any[]>} the errors of zones or records that could not be fetched
 */
async function fetchZones(core, context, run) {
    const { state } = core;
    const done = new Set();
    const failures = [];
    for (;;) {
        run.check();
        const isLeft = ([...state.unfetched.keys()]).some((key) => !done.has(key));
        if (!isLeft) return failures;
        const options = await core.nextFetchOptions(context);
        const waiting = [...state.unfetched].filter(([key, zoneID]) => !done.has(key) && options.scope.hasZone(zoneID));
        const first = options.prioritizedZoneIDs.map(zoneKey).find((/** @type {string} */ wanted) => waiting.some(([key]) => key === wanted));
        const [key, zoneID] = waiting.find(([one]) => one === first) ?? waiting[0] ?? [];
        if (!zoneID) return failures;
        done.add(key);
        await core.post({ type: "willFetchRecordZoneChanges", zoneID });
        const error = await fetchZone(core, zoneID, run);
        await core.post({ type: "didFetchRecordZoneChanges", zoneID, error });
        if (!error) continue;
        if (endsRun(error)) throw error;
        failures.push(...each(error));
    }
}

/**
 * Fetches a zone to its end.
 * @param {Core} core
 * @param {ZoneID} zoneID
 * @param {Run} run
 * @returns {Promise<any>} the error if the zone failed, or single records of it
 */
async function fetchZone(core, zoneID, run) {
    const { state } = core;
    const failures = [];
    let token = state.tokens.get(zoneKey(zoneID))?.token;
    try {
        for (let hasBegunAgain = false; ;) {
            let page;
            try {
                page = await core.requests.zonePage(run, zoneID, token);
            } catch (error) {
                if (codeOf(error) !== code.changeTokenExpired || token === undefined || hasBegunAgain) throw error;
                [hasBegunAgain, token] = [true, undefined];
                if (/** @type {any} */ (error).internalCode === zoneIsAnother) await tellOfEnd(core, zoneID);
                continue;
            }
            const { modifications, deletions } = page;
            // If a record's error may pass, the fetch stops before this page, so that the record is not passed over.
            const passing = page.failures.find((error) => leavesPending(error, false));
            if (passing) throw passing;
            failures.push(...page.failures);
            token = page.token;
            if (modifications.length + deletions.length > 0) await core.post({ type: "fetchedRecordZoneChanges", modifications, deletions });
            state.tookZone(zoneID, page);
            await core.postState();
            if (!page.moreComing) return partial("some records could not be fetched", failures);
        }
    } catch (error) {
        // The database's feed tells that the zone is gone. The token stays until then: if the zone is made again
        // before, the feed tells of the new one, and the token alone shows that it is another one.
        if ([code.zoneNotFound, code.userDeletedZone].includes(codeOf(error))) state.noteFetched(zoneID);
        return error;
    }
}

/**
 * Tells that the zone of this device's token was deleted, although the database has another zone of that name.
 * @param {Core} core
 * @param {ZoneID} zoneID
 */
async function tellOfEnd(core, zoneID) {
    await core.post({ type: "fetchedDatabaseChanges", modifications: [], deletions: [{ zoneID, reason: "deleted" }] });
    core.state.tokens.delete(zoneKey(zoneID));
    core.state.revision += 1;
    await core.postState();
}
