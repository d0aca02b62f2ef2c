/** Requests of a sync engine: pages of the feeds, and batches of changes. */

import { CKError, invalid, localError, plainRecord, serverError } from "../error.js";
import { withFilesSent } from "../files.js";
import { encodedRecord, uuid } from "../values.js";
import { code, codeOf, unexpected } from "./failures.js";
import { defaultZoneName, zoneIDIn, zoneKey } from "./state.js";

/** @typedef {{ signal: AbortSignal, epoch?: number }} Run what a request belongs to */
/** @typedef {import("../../cloudkit").ZoneID} ZoneID */
/** @typedef {{ recordID: import("./state.js").RecordID, record?: any }} Item */
/**
 * A batch, the time of its first request, the ID of the request that is not answered, and what encryption keeps for it.
 * @typedef {{ text: string, at: number, operationID?: string, saving?: object }} Unanswered
 */
/** @typedef {{ item: Item, record?: any, error?: any }} Result of an item: a record, an error, or neither for a deletion */

/** Items of a request. */
const itemsMax = 200;
/** Milliseconds for which the server surely knows a request again that it has answered. */
const knownAgain = 10 * 60_000;

/** @type {Record<string, string>} */
const reasons = { DELETED: "deleted", PURGED: "purged", ENCRYPTED_DATA_RESET: "encryptedDataReset" };

/** Codes with which the server refuses who asks, before it reads what is asked. */
const refusals = ["ACCESS_DENIED", "AUTHENTICATION_FAILED", "AUTHENTICATION_REQUIRED"];

/** @param {any} item of an answer: an error of this library's says that an encrypted value is refused */
const isError = (item) => item instanceof CKError || item?.serverErrorCode !== undefined;

/**
 * @param {any} item an error
 * @param {ZoneID} zoneID
 * @returns {CKError}
 */
const errorOf = (item, zoneID) => (item instanceof CKError ? item : serverError({ zoneID, ...item }));

export class Requests {
    #transport;
    #scope;
    /** @type {Unanswered | undefined} a batch whose answer was lost */
    #lost;

    /**
     * @param {import("../transport.js").Transport} transport
     * @param {"PUBLIC" | "PRIVATE" | "SHARED"} scope
     */
    constructor(transport, scope) {
        this.#transport = transport;
        this.#scope = scope;
    }

    /**
     * @param {Run} run
     * @param {string} endpoint
     * @param {object} body
     * @param {object} [extension] more members of the object `nacre`
     */
    #ask(run, endpoint, body, extension) {
        const { signal, epoch } = run;
        const asked = { ...body, nacre: { details: true, ...extension } };
        return this.#checked(this.#transport.askOpened(this.#scope, endpoint, asked, { signal, epoch }));
    }

    /**
     * An error without a code of its own came before the body was read: it is about the account, and not about what is
     * asked.
     * @param {Promise<any>} answer
     */
    async #checked(answer) {
        try {
            return await answer;
        } catch (error) {
            if (error instanceof CKError && refusals.includes(error.ckErrorCode)) error.nativeCode ??= code.notAuthenticated;
            throw error;
        }
    }

    /**
     * @param {Run} run
     * @returns {Promise<string>} the record name of the user
     */
    async caller({ signal, epoch }) {
        const answer = await this.#checked(this.#transport.ask("PUBLIC", "users/caller", undefined, { signal, epoch }));
        const { userRecordName } = answer.users?.[0] ?? answer;
        if (typeof userRecordName !== "string") throw unexpected();
        return userRecordName;
    }

    /**
     * A page of the database's feed.
     * @param {Run} run
     * @param {string | undefined} syncToken
     * @param {{ waitSeconds?: number }} [extension] how long the server may wait for a change
     */
    async databasePage(run, syncToken, extension) {
        const { zones, syncToken: token, moreComing } = await this.#ask(run, "changes/database", { syncToken }, extension);
        if (!Array.isArray(zones) || typeof token !== "string" || (moreComing && token === syncToken)) throw unexpected();
        const known = zones.map((zone) => ({ zoneID: zoneIDIn(this.#scope, zone.zoneID), deleted: zone.deleted, reason: zone.nacre?.reason }));
        return {
            token, moreComing: Boolean(moreComing),
            modifications: known.filter(({ deleted }) => !deleted).map(({ zoneID }) => ({ zoneID })),
            deletions: known.filter(({ deleted }) => deleted).map(({ zoneID, reason }) => ({ zoneID, reason: reasons[reason] ?? "deleted" })),
        };
    }

    /**
     * A page of a zone's feed, which does not end inside of one commit.
     * @param {Run} run
     * @param {ZoneID} zoneID
     * @param {string | undefined} syncToken
     */
    async zonePage(run, zoneID, syncToken) {
        /** @type {{ modifications: any[], deletions: any[], failures: any[], token: string, moreComing: boolean }} */
        const page = { modifications: [], deletions: [], failures: [], token: "", moreComing: false };
        for (let asked = syncToken; ;) {
            const { zones } = await this.#ask(run, "changes/zone", { zones: [{ zoneID, syncToken: asked }] });
            const part = zones?.[0];
            if (isError(part)) throw serverError(part);
            if (!Array.isArray(part?.records) || typeof part.syncToken !== "string") throw unexpected();
            if (part.moreComing && part.syncToken === asked) throw unexpected();
            for (const record of part.records) this.#take(record, zoneID, page);
            Object.assign(page, { token: part.syncToken, moreComing: Boolean(part.moreComing) });
            if (!page.moreComing || !part.nacre?.midCommit) return page;
            asked = part.syncToken;
        }
    }

    /**
     * @param {any} record
     * @param {ZoneID} zoneID
     * @param {{ modifications: any[], deletions: any[], failures: any[] }} page
     */
    #take(record, zoneID, { modifications, deletions, failures }) {
        const recordID = { recordName: record.recordName, zoneID };
        if (isError(record)) failures.push(errorOf(record, zoneID));
        else if (record.deleted) deletions.push({ recordID, recordType: record.recordType ?? record.nacre?.recordType });
        else modifications.push({ record: { ...plainRecord(record), zoneID } });
    }

    /**
     * The places where zones begin, from which on their feeds tell of deletions. A zone with an error has none: the
     * error comes up in what is sent to it.
     * @param {Run} run
     * @param {ZoneID[]} zoneIDs
     * @returns {Promise<{ zoneID: ZoneID, token: string }[]>}
     */
    async beginnings(run, zoneIDs) {
        const { zones } = await this.#ask(run, "changes/zone", { zones: zoneIDs.map((zoneID) => ({ zoneID })) }, { tokenOnly: true });
        if (!Array.isArray(zones)) throw unexpected();
        return zones.filter((zone) => !isError(zone)).map((zone) => ({ zoneID: zoneIDIn(this.#scope, zone.zoneID), token: zone.syncToken }));
    }

    /**
     * Sends changes of zones.
     * @param {Run} run
     * @param {{ type: string, zoneID: ZoneID }[]} changes at most 200
     * @returns {Promise<(any | undefined)[]>} the changes' errors
     */
    async modifyZones(run, changes) {
        const operations = changes.map(({ type, zoneID }) => ({ operationType: type === "saveZone" ? "create" : "delete", zone: { zoneID } }));
        const { zones } = await this.#ask(run, "zones/modify", { operations });
        if (!Array.isArray(zones)) throw unexpected();
        const answered = new Map(zones.map((zone) => [zoneKey(zoneIDIn(this.#scope, zone.zoneID)), zone]));
        return changes.map(({ zoneID }) => {
            const zone = answered.get(zoneKey(zoneID));
            if (!zone) return unexpected();
            return isError(zone) ? serverError(zone) : undefined;
        });
    }

    /**
     * Sends the changes of one zone, in parts if they are too many or too large for one request and need not be whole.
     * @param {Run} run
     * @param {Item[]} items
     * @param {boolean} isAtomic
     * @returns {Promise<Result[]>} in the order of the items
     */
    async modify(run, items, isAtomic) {
        const { encryption } = this.#transport;
        const encrypted = encryption?.seals(this.#scope) ? [] : items.filter(hasEncryptedFields);
        if (encrypted.length > 0) {
            const error = invalid("records with encrypted fields are sent by a page with services.encryption, and not to the public database");
            return this.#modifyOthers(run, items, new Map(encrypted.map(({ recordID }) => [recordID.recordName, error])), isAtomic);
        }
        if (!isAtomic && items.length > itemsMax) return this.#modifyHalves(run, items);
        try {
            return await this.#modifyAtOnce(run, items, isAtomic);
        } catch (error) {
            // Nothing was sent: these are the records that cannot be sealed.
            const unsealed = new Map(/** @type {any} */ (error).errors?.map((/** @type {CKError} */ one) => [one.recordName, one]));
            if (items.some(({ record, recordID }) => record && unsealed.has(recordID.recordName))) {
                return this.#modifyOthers(run, items, unsealed, isAtomic);
            }
            if (codeOf(error) !== code.limitExceeded || isAtomic || items.length === 1) throw error;
            return this.#modifyHalves(run, items);
        }
    }

    /**
     * Sends the items that are not refused.
     * @param {Run} run
     * @param {Item[]} items
     * @param {Map<string, any>} errors of records that are refused, by name
     * @param {boolean} isAtomic
     * @returns {Promise<Result[]>} in the order of the items
     */
    async #modifyOthers(run, items, errors, isAtomic) {
        const { ready, refused } = parted(items, ({ record, recordID }) => record && errors.get(recordID.recordName), isAtomic);
        const sent = ready.length > 0 ? await this.modify(run, ready, false) : [];
        const results = new Map([...refused, ...sent].map((result) => [result.item, result]));
        return items.map((item) => results.get(item) ?? { item, error: unexpected() });
    }

    /**
     * @param {Run} run
     * @param {Item[]} items
     * @returns {Promise<Result[]>}
     */
    async #modifyHalves(run, items) {
        /** @type {Result[]} */
        const results = [];
        const half = Math.ceil(items.length / 2);
        for (const part of [items.slice(0, half), items.slice(half)]) {
            try {
                results.push(...await this.modify(run, part, false));
            } catch (error) {
                results.push(...part.map((item) => ({ item, error })));
            }
        }
        return results;
    }

    /**
     * @param {Run} run
     * @param {Item[]} items
     * @param {boolean} isAtomic
     * @returns {Promise<Result[]>}
     */
    async #modifyAtOnce(run, items, isAtomic) {
        const { zoneID } = items[0].recordID;
        const saved = items.flatMap(({ record }) => (record ? [{ ...record, zoneID }] : []));
        const sent = await withFilesSent(this.#transport, this.#scope, saved, { zoneID, signal: run.signal, epoch: run.epoch });
        const operations = items.map(({ recordID, record }) => {
            if (!record) return { operationType: "forceDelete", record: { recordName: recordID.recordName } };
            return { operationType: record.recordChangeTag ? "update" : "create", record: encodedRecord(sent.shift()) };
        });
        const body = { zoneID, atomic: isAtomic && zoneID.zoneName !== defaultZoneName, operations };
        const { records } = await this.#askOnce(run, body);
        if (!Array.isArray(records)) throw unexpected();
        const answered = new Map(records.map((record) => [record.recordName, record]));
        return items.map((item) => {
            const record = answered.get(item.recordID.recordName);
            if (!record) return { item, error: unexpected() };
            if (isError(record)) return { item, error: errorOf(record, zoneID) };
            return item.record ? { item, record: { ...plainRecord(record), zoneID } } : { item };
        });
    }

    /**
     * Sends a batch, each request of it under an operation ID. The same batch after one whose answer was lost goes on with
     * that request, as it was sealed, under the same ID: if the server has it, it answers as it did then, and does nothing
     * twice.
     * @param {Run} run
     * @param {object} body
     */
    async #askOnce({ signal, epoch }, body) {
        const text = JSON.stringify(body);
        const now = this.#transport.services.now();
        const lost = this.#lost;
        /** @type {Unanswered} */
        const unanswered = lost && lost.text === text && now - lost.at < knownAgain ? lost : { text, at: now };
        this.#lost = undefined;
        const send = async (/** @type {any} */ sealed) => {
            unanswered.operationID ??= uuid();
            const nacre = { ...sealed.nacre, operationID: unanswered.operationID };
            const answer = await this.#transport.ask(this.#scope, "records/modify", { ...sealed, nacre }, { signal, epoch });
            unanswered.operationID = undefined;
            return answer;
        };
        const asking = { ...body, nacre: { details: true } };
        try {
            return await this.#checked(this.#transport.askOpened(this.#scope, "records/modify", asking, { signal, epoch, unanswered }, send));
        } catch (error) {
            if (!(/** @type {any} */ (error).isServerError)) this.#lost = unanswered;
            throw error;
        }
    }

    /**
     * Keeps a subscription to the database, through which the server tells devices of changes.
     * @param {Run} run
     * @param {string} subscriptionID of a new one, if there is none yet
     */
    async keepSubscription(run, subscriptionID) {
        const { subscriptions } = await this.#ask(run, "subscriptions/list", {});
        // A user has one subscription to all changes of a database: the server refuses another.
        if (subscriptions?.some((/** @type {any} */ one) => one.zoneWide && !one.zoneID && !one.recordType)) return;
        const subscription = { subscriptionID, subscriptionType: "database", notificationInfo: { shouldSendContentAvailable: true } };
        const answer = await this.#ask(run, "subscriptions/modify", { operations: [{ operationType: "create", subscription }] });
        const [error] = (answer.subscriptions ?? []).filter(isError);
        if (error) throw serverError(error);
    }
}

/** @param {Item} item */
const hasEncryptedFields = ({ record }) => Object.values(record?.fields ?? {}).some((field) => /** @type {any} */ (field)?.isEncrypted === true);

/**
 * Parts the items that are not sent. With `isAtomic` one of these keeps the others of its zone back.
 * @param {Item[]} items of one zone
 * @param {(item: Item) => any} errorOf the error for which an item is not sent
 * @param {boolean} isAtomic
 */
export function parted(items, errorOf, isAtomic) {
    /** @type {Result[]} */
    const refused = [];
    const ready = items.filter((item) => {
        const error = errorOf(item);
        if (error) refused.push({ item, error });
        return !error;
    });
    if (refused.length === 0 || !isAtomic) return { ready, refused };
    const error = localError("ATOMIC_ERROR", "another record of the zone cannot be sent, and its changes are to be made all or none");
    return { ready: [], refused: [...refused, ...ready.map((item) => ({ item, error }))] };
}
