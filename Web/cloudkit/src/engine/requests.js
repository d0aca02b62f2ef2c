/** Requests of a sync engine: pages of the feeds, and batches of changes. */

import { CKError, localError, plainRecord, serverError } from "../error.js";
import { withFilesSent } from "../files.js";
import { encodedRecord, uuid } from "../values.js";
import { code, codeOf, unexpected } from "./failures.js";
import { defaultZoneName, zoneIDIn, zoneKey } from "./state.js";

/** @typedef {{ signal: AbortSignal, epoch?: number }} Run what a request belongs to */
/** @typedef {import("../../cloudkit").ZoneID} ZoneID */
/** @typedef {{ recordID: import("./state.js").RecordID, record?: any }} Item */
/** @typedef {{ item: Item, record?: any, error?: any }} Result of an item: a record, an error, or neither for a deletion */

/** Items of a request. */
const itemsMax = 200;
/** Milliseconds for which the server surely knows a request again that it has answered. */
const knownAgain = 10 * 60_000;

/** @type {Record<string, string>} */
const reasons = { DELETED: "deleted", PURGED: "purged", ENCRYPTED_DATA_RESET: "encryptedDataReset" };

/** Codes with which the server refuses who asks, before it reads what is asked. */
const refusals = ["ACCESS_DENIED", "AUTHENTICATION_FAILED", "AUTHENTICATION_REQUIRED"];

/** @param {any} item */
const isError = (item) => item?.serverErrorCode !== undefined;

export class Requests {
    #transport;
    #scope;
    /** @type {{ text: string, operationID: string, at: number } | undefined} a batch whose answer was lost */
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
        return this.#asked(run, this.#scope, endpoint, { ...body, nacre: { details: true, ...extension } });
    }

    /**
     * An error without a code of its own came before the body was read: it is about the account, and not about what is
     * asked.
     * @param {Run} run
     * @param {string} scope
     * @param {string} endpoint
     * @param {object} [body]
     */
    async #asked({ signal, epoch }, scope, endpoint, body) {
        try {
            return await this.#transport.ask(scope, endpoint, body, { signal, epoch });
        } catch (error) {
            if (error instanceof CKError && refusals.includes(error.ckErrorCode)) error.nativeCode ??= code.notAuthenticated;
            throw error;
        }
    }

    /**
     * @param {Run} run
     * @returns {Promise<string>} the record name of the user
     */
    async caller(run) {
        const answer = await this.#asked(run, "PUBLIC", "users/caller");
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
        if (isError(record)) failures.push(serverError({ zoneID, ...record }));
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
        if (items.some(hasEncryptedFields)) return this.#modifyOthers(run, items, isAtomic);
        if (!isAtomic && items.length > itemsMax) return this.#modifyHalves(run, items);
        try {
            return await this.#modifyAtOnce(run, items, isAtomic);
        } catch (error) {
            if (codeOf(error) !== code.limitExceeded || isAtomic || items.length === 1) throw error;
            return this.#modifyHalves(run, items);
        }
    }

    /**
     * Refuses records with encrypted fields, which the engine would send as they are, and sends the others.
     * @param {Run} run
     * @param {Item[]} items
     * @param {boolean} isAtomic
     * @returns {Promise<Result[]>} in the order of the items
     */
    async #modifyOthers(run, items, isAtomic) {
        const error = localError("ENCRYPTION_REFUSED", "the sync engine sends no record with encrypted fields: save it with saveRecords");
        const others = isAtomic ? [] : items.filter((item) => !hasEncryptedFields(item));
        const results = others.length > 0 ? await this.modify(run, others, false) : [];
        return items.map((item) => results.find((result) => result.item === item) ?? { item, error });
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
            if (isError(record)) return { item, error: serverError({ zoneID, ...record }) };
            return item.record ? { item, record: { ...plainRecord(record), zoneID } } : { item };
        });
    }

    /**
     * Sends a batch under an operation ID. The same batch after one whose answer was lost goes under the same ID: if
     * the server has it, it answers as it did then, and does nothing twice.
     * @param {Run} run
     * @param {object} body
     */
    async #askOnce(run, body) {
        const text = JSON.stringify(body);
        const now = this.#transport.services.now();
        const lost = this.#lost;
        const again = lost && lost.text === text && now - lost.at < knownAgain ? lost : undefined;
        const { operationID, at } = again ?? { operationID: uuid(), at: now };
        this.#lost = undefined;
        try {
            return await this.#ask(run, "records/modify", body, { operationID });
        } catch (error) {
            if (!(/** @type {any} */ (error).isServerError)) this.#lost = { text, operationID, at };
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
