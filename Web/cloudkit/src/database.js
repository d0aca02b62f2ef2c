/** A database of a container. */

import { RecordsBatchBuilder } from "./batch.js";
import { invalid, localError } from "./error.js";
import { fetchedFile, withFilesSent } from "./files.js";
import {
    DatabaseChangesResponse, QueryResponse, RecordsResponse, RecordZoneChangesResponse, RecordZonesResponse, SubscriptionsResponse,
} from "./responses.js";
import { showSharePage } from "./sharing.js";
import { optionsOf } from "./transport.js";
import { encodedQuery, encodedRecord, list, namedRecordOf, recordOf, subscriptionIDOf, uuid, zoneIDIn, zoneIDOf } from "./values.js";

/** Asks for what the Web Services API leaves out: the record that stands against a save, and remedies. */
const nacre = { details: true };

/** @type {(database: Database) => import("./transport.js").Transport} the requests of a database's container */
export let transportOf;

export class Database {
    #transport;

    static {
        transportOf = (database) => database.#transport;
    }

    /**
     * @param {import("./transport.js").Transport} transport
     * @param {"PUBLIC" | "PRIVATE" | "SHARED"} scope
     */
    constructor(transport, scope) {
        this.#transport = transport;
        this.containerIdentifier = transport.config.containerIdentifier;
        this.databaseScope = scope;
    }

    toString() {
        return `[object CloudKit.Database (${this.containerIdentifier}, ${this.databaseScope})]`;
    }

    // Records

    /**
     * Creates the records that have no change tag, and updates the others.
     * @param {any} records
     * @param {any} [options]
     */
    saveRecords(records, options) {
        return this.#promise(options, () => this.newRecordsBatch(options).createOrUpdate(records).commit());
    }

    /**
     * @param {any} records
     * @param {any} [options]
     */
    fetchRecords(records, options) {
        return this.#promise(options, async ({ desiredKeys, numbersAsStrings, ...rest }) => {
            const wanted = list(records).map((record) => {
                const { recordName, zoneID, desiredKeys: own } = namedRecordOf(record);
                return { recordName, zoneID, desiredKeys: own };
            });
            const body = { zoneID: zoneIDIn(rest), records: wanted, desiredKeys, numbersAsStrings, nacre };
            return new RecordsResponse(await this.#ask("records/lookup", body, rest), body);
        });
    }

    /**
     * Deletes records. One that is given with its change tag is deleted if it is still that version.
     * @param {any} records
     * @param {any} [options]
     */
    deleteRecords(records, options) {
        return this.#promise(options, () => {
            const batch = this.newRecordsBatch(options);
            for (const record of list(records).map(recordOf)) {
                if (record.recordChangeTag) batch.delete(record); else batch.forceDelete(record);
            }
            return batch.commit();
        });
    }

    /** @param {any} [options] */
    newRecordsBatch(options) {
        const { atomic = false, desiredKeys, numbersAsStrings, signal, onProgress, ...rest } = optionsOf(options);
        return new RecordsBatchBuilder((operations) => this.#promise(options, async ({ epoch }) => {
            const given = operations.map(({ record }) => record);
            const zoneID = zoneIDIn(rest) ?? given.find((record) => record.zoneID)?.zoneID;
            const sent = await withFilesSent(this.#transport, this.databaseScope, given, { zoneID, signal, epoch, onProgress });
            const body = {
                zoneID, atomic, desiredKeys, numbersAsStrings, nacre,
                operations: operations.map((operation, index) => ({ ...operation, record: encodedRecord(sent[index]) })),
            };
            return new RecordsResponse(await this.#ask("records/modify", body, { signal, epoch }), body);
        }));
    }

    /**
     * The bytes of a file, which are opened and checked if it is encrypted.
     * @param {any} asset one of a record's field
     * @param {any} [options] the record's `zoneID`
     * @returns {Promise<Blob>}
     */
    fetchFile(asset, options) {
        return this.#promise(options, ({ signal, epoch, ...rest }) => {
            const { encryption } = this.#transport;
            if (asset?.encryptionRoot === undefined) return fetchedFile(this.#transport, asset, signal);
            if (!encryption) throw localError("CONFIGURATION_ERROR", "the file is encrypted, and the page has not loaded services.encryption");
            return encryption.openFile(this.databaseScope, zoneIDIn(rest), { signal, epoch }, (/** @type {any} */ open) => (
                fetchedFile(this.#transport, asset, signal, open)));
        });
    }

    /**
     * A page of a query. A page that is given in place of the query is followed by the next one.
     * @param {any} query
     * @param {any} [options]
     */
    performQuery(query, options) {
        return this.#promise(options, async (given) => {
            if (query?.isQueryResponse && !query.moreComing) throw invalid("the query has no further page");
            const names = ["zoneWide", "resultsLimit", "continuationMarker", "desiredKeys", "numbersAsStrings"];
            const from = (/** @type {any} */ source) => ({ ...picked(source, names), zoneID: zoneIDIn(source) });
            const body = query?.isQueryResponse ? { ...from(query), ...defined(from(given)), query: query.query } : { ...from(given), query };
            return new QueryResponse(await this.#ask("records/query", { ...body, query: encodedQuery(body.query) }, given), body);
        });
    }

    /**
     * The pages of a query, one after the other.
     * @param {any} query
     * @param {any} [options]
     */
    async *queryPages(query, options) {
        const { continuationMarker, ...rest } = optionsOf(options);
        for (let page = await this.performQuery(query, options); ; page = await this.performQuery(page, rest)) {
            yield page;
            if (!page.moreComing) return;
        }
    }

    /**
     * The records of a query, page after page. An error of an item ends them.
     * @param {any} query
     * @param {any} [options]
     */
    async *queryRecords(query, options) {
        for await (const page of this.queryPages(query, options)) {
            yield* page.records;
            if (page.hasErrors) throw page.errors[0];
        }
    }

    // Zones

    /**
     * @param {any} zones
     * @param {any} [options]
     */
    saveRecordZones(zones, options) {
        return this.#modifyZones("create", zones, options);
    }

    /**
     * @param {any} zones
     * @param {any} [options]
     */
    deleteRecordZones(zones, options) {
        return this.#modifyZones("delete", zones, options);
    }

    /**
     * @param {any} zones
     * @param {any} [options]
     */
    fetchRecordZones(zones, options) {
        return this.#promise(options, async (given) => (
            new RecordZonesResponse(await this.#ask("zones/lookup", { zones: list(zones).map(zoneIDOf) }, given))));
    }

    /** @param {any} [options] */
    fetchAllRecordZones(options) {
        return this.#promise(options, async (given) => new RecordZonesResponse(await this.#ask("zones/list", undefined, given)));
    }

    /**
     * @param {string} operationType
     * @param {any} zones
     * @param {any} options
     */
    #modifyZones(operationType, zones, options) {
        return this.#promise(options, async (given) => {
            const operations = list(zones).map((zone) => ({ operationType, zone: { zoneID: zoneIDOf(zone) } }));
            return new RecordZonesResponse(await this.#ask("zones/modify", { operations }, given));
        });
    }

    // Changes

    /**
     * A page of the zones that have changed. A page that is given in place of options is followed by the next one.
     * @param {any} [options]
     */
    fetchDatabaseChanges(options) {
        return this.#promise(options, async (given) => {
            const body = picked(given, ["syncToken", "resultsLimit"]);
            return new DatabaseChangesResponse(await this.#ask("changes/database", body, given), body);
        });
    }

    /**
     * A page of the changes of zones. The zones of an answer ask for their next pages.
     * @param {any} options of one zone, or an array
     * @param {any} [more]
     */
    fetchRecordZoneChanges(options, more) {
        return this.#promise(more, async (given) => {
            const names = ["syncToken", "desiredKeys", "desiredRecordTypes", "resultsLimit", "numbersAsStrings"];
            const zones = list(options).map((zone) => ({ zoneID: zoneIDOf(zone), ...picked(zone, names) }));
            const signal = given.signal ?? list(options)[0]?.signal;
            return new RecordZoneChangesResponse(await this.#ask("changes/zone", { zones }, { ...given, signal }), zones);
        });
    }

    /**
     * The pages of a database's changes; the last one has the token to keep.
     * @param {any} [options]
     */
    async *databaseChanges(options) {
        const { signal } = optionsOf(options);
        for (let page = await this.fetchDatabaseChanges(options); ; page = await this.fetchDatabaseChanges({ ...page, signal })) {
            yield page;
            if (!page.moreComing) return;
        }
    }

    /**
     * The pages of one zone's changes; the last one has the token to keep.
     * @param {any} options
     */
    async *recordZoneChanges(options) {
        const { signal } = optionsOf(options);
        for (let asked = options; ;) {
            const { zones: [page], errors: [error] } = await this.fetchRecordZoneChanges(asked, { signal });
            if (!page) throw error ?? localError("UNEXPECTED_SERVER_RESPONSE", "the server answered nothing about the zone");
            yield page;
            if (!page.moreComing) return;
            asked = page;
        }
    }

    // Subscriptions

    /**
     * Saves subscriptions; one without an ID gets one.
     * @param {any} subscriptions
     * @param {any} [options]
     */
    saveSubscriptions(subscriptions, options) {
        return this.#modifySubscriptions("create", subscriptions, (subscription) => {
            if (typeof subscription !== "object" || subscription === null) throw invalid("a subscription is an object");
            const { query, zoneID } = subscription;
            return {
                ...subscription, subscriptionID: subscription.subscriptionID ?? uuid(), query: query && encodedQuery(query),
                zoneID: zoneID && zoneIDOf(zoneID),
            };
        }, options);
    }

    /**
     * @param {any} subscriptions subscriptions, or IDs
     * @param {any} [options]
     */
    deleteSubscriptions(subscriptions, options) {
        return this.#modifySubscriptions("delete", subscriptions, subscriptionIDOf, options);
    }

    /**
     * @param {any} subscriptions subscriptions, or IDs
     * @param {any} [options]
     */
    fetchSubscriptions(subscriptions, options) {
        return this.#promise(options, async (given) => (
            new SubscriptionsResponse(await this.#ask("subscriptions/lookup", { subscriptions: list(subscriptions).map(subscriptionIDOf) }, given))));
    }

    /** @param {any} [options] */
    fetchAllSubscriptions(options) {
        return this.#promise(options, async (given) => new SubscriptionsResponse(await this.#ask("subscriptions/list", undefined, given)));
    }

    /**
     * @param {string} operationType
     * @param {any} subscriptions
     * @param {(subscription: any) => object} read
     * @param {any} options
     */
    #modifySubscriptions(operationType, subscriptions, read, options) {
        return this.#promise(options, async (given) => {
            const operations = list(subscriptions).map((subscription) => ({ operationType, subscription: read(subscription) }));
            return new SubscriptionsResponse(await this.#ask("subscriptions/modify", { operations }, given));
        });
    }

    // Sharing

    /**
     * Shows the server's page of a share in a dialog, and answers the share as it is when the user is done.
     * @param {any} options the record or the zone, and what the page offers
     * @returns {Promise<import("../cloudkit").SharingUIResult>}
     */
    shareWithUI(options) {
        return this.#promise(options, async (given) => {
            const { record, shareThumbnail, signal } = given;
            const { services } = this.#transport;
            if (typeof globalThis.document === "undefined") throw localError("CONFIGURATION_ERROR", "shareWithUI shows a dialog, which only a page has");
            const recordName = record === undefined || record === null ? undefined : namedRecordOf(record).recordName;
            const zoneID = zoneIDOf(given.zoneID ?? record?.zoneID);
            if (shareThumbnail !== undefined) services.log("warn", "shareThumbnail is passed over: save it with the share");
            const names = ["shareTitle", "shareType", "supportedAccess", "supportedPermissions"];
            const { over } = this.#transport.session;
            const { url } = await this.#ask("records/share-page", { zoneID, recordName, ...picked(given, names) }, given);
            await showSharePage(url, services, signal ? [signal, over] : [over]);
            return { share: await this.#share(recordName, zoneID, signal) };
        });
    }

    /**
     * The share of a record or a zone; null if it is not shared.
     * @param {string} [recordName] of a record, or of the share itself
     * @param {import("../cloudkit").ZoneID} [zoneID]
     * @param {AbortSignal} [signal]
     */
    async #share(recordName = "cloudkit.zoneshare", zoneID, signal) {
        const fetched = async (/** @type {string} */ name) => {
            const { records: [record], errors: [error] } = await this.fetchRecords(name, { zoneID, signal });
            if (error && error.ckErrorCode !== "NOT_FOUND") throw error;
            return record ?? null;
        };
        const record = await fetched(recordName);
        if (!record || record.recordType === "cloudkit.share") return record;
        return record.share ? fetched(record.share.recordName) : null;
    }

    // Requests

    /**
     * @param {string} endpoint
     * @param {object | undefined} body
     * @param {any} options
     */
    #ask(endpoint, body, { signal, epoch }) {
        return this.#transport.askOpened(this.databaseScope, endpoint, body, { signal, epoch });
    }

    /**
     * Arguments that are not valid reject the promise, as a refusal of the server does. All requests of a call are for
     * the session in which it began.
     * @template T
     * @param {any} options
     * @param {(options: any) => Promise<T> | T} work is given the session's `epoch` too
     * @returns {Promise<T>}
     */
    #promise(options, work) {
        const { services, session } = this.#transport;
        return services.promise(async () => {
            const given = optionsOf(options);
            const { current } = session;
            return work({ ...given, epoch: typeof current === "number" ? current : await current });
        });
    }
}

/**
 * @param {any} source
 * @param {string[]} names
 */
const picked = (source, names) => Object.fromEntries(names.map((name) => [name, source[name]]));

/** @param {any} source */
const defined = (source) => Object.fromEntries(Object.entries(source).filter(([, value]) => value !== undefined));
