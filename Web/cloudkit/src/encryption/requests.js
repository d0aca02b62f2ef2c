/** Requests about records: seals what they save, and opens what is answered. */

import { Fault } from "./bytes.js";
import { baseOf, isSealed, openRecord, parentOf, readBase, RecordFault, sealRecord, versionOf } from "./records.js";
import { SeenRecords } from "./seen.js";

/** @typedef {import("./exchange.js").Exchange} Exchange */
/** @typedef {import("./records.js").Version} Version */
/** @typedef {{ signal?: AbortSignal }} Options */
/** @typedef {(body: any) => Promise<any>} Send */
/**
 * A save or deletion of a batch: whether it is sealed for a manifest alone, whether it is made over whatever the server
 * has, and the version that was sent.
 * @typedef {{ operation: any, mustSeal: boolean, fromServer: boolean, sent?: Version }} Job
 */

/** What the server says of a save under an older key, and of one that needs a manifest. */
const [keyReason, manifestReason] = [
    "the key of this encrypted value is not the newest of its scope", "the record has a manifest, and this change needs a new one",
];
/** Times that saves are sealed and sent again. */
const triesMax = 4;
const defaultZone = "_defaultZone";
const details = { details: true };

/** @param {any} zoneID */
const zoneNameOf = (zoneID) => zoneID?.zoneName ?? defaultZone;

/** @param {any} record */
const hasEncrypted = (record) => Object.values(record?.fields ?? {}).some(isSealed);

/** @param {any} operation */
const isForced = ({ operationType }) => operationType.startsWith("force");

/** @param {any} operation */
const hasAllKeys = ({ operationType }) => ["create", "replace", "forceReplace"].includes(operationType);

/** What one answer opens with: its moment, and for each zone the keys, which are asked for again once. */
class Answer {
    /** @type {Map<string, import("./scope.js").ZoneKeys | undefined>} */
    keys = new Map();
    /** @type {Set<string>} */
    renewed = new Set();

    /** @param {number} moment the value of `SeenRecords.moment` before the request */
    constructor(moment) {
        this.moment = moment;
    }
}

export class RecordRequests {
    #exchange;
    #core;
    #seen = new SeenRecords();
    /** @type {Set<string>} zones of which the log has said that their values cannot be opened */
    #told = new Set();

    /**
     * @param {Exchange} exchange
     * @param {import("./encryption.js").Core} core
     */
    constructor(exchange, core) {
        this.#exchange = exchange;
        this.#core = core;
    }

    /** Forgets what was seen: another user may sign in. */
    forget() {
        this.#seen = new SeenRecords();
        this.#told.clear();
    }

    /**
     * Sends a request of a database.
     * @param {string} scope the database's
     * @param {string} endpoint
     * @param {any} body
     * @param {Send} send
     * @param {Options} options
     */
    async ask(scope, endpoint, body, send, options) {
        if (scope !== "PRIVATE") {
            if (endpoint === "records/modify" && body.operations.some((/** @type {any} */ { record }) => hasEncrypted(record))) throw notHere();
            return send(body);
        }
        const answer = new Answer(this.#seen.moment);
        switch (endpoint) {
            case "records/modify": return this.#modify(body, send, answer, options);
            case "records/lookup": {
                const found = await send(body);
                const asked = (/** @type {number} */ place) => body.records[place]?.desiredKeys ?? body.desiredKeys;
                return { ...found, records: await this.#openAll(found.records, answer, { ...body, asked }, options) };
            }
            case "records/query": {
                const found = await send({ ...body, nacre: details });
                return { ...found, records: await this.#openAll(found.records, answer, { ...body, asked: () => body.desiredKeys }, options) };
            }
            case "changes/zone": return this.#changes(body, send, answer, options);
            case "zones/modify": {
                const found = await send(body);
                for (const { operationType, zone: { zoneID } } of body.operations) {
                    if (operationType === "delete") await this.#forgetZone(zoneNameOf(zoneID));
                }
                return found;
            }
            default: return send(body);
        }
    }

    /** @param {string} zone */
    async #forgetZone(zone) {
        this.#seen.forgetZone(zone);
        await this.#exchange.forgetZone(zone);
    }

    /**
     * @param {any} body
     * @param {Send} send
     * @param {Answer} answer
     * @param {Options} options
     */
    async #changes(body, send, answer, options) {
        const found = await send({ ...body, nacre: details });
        const zones = [];
        for (const zone of found.zones ?? []) {
            const name = zone.zoneID?.zoneName;
            const asked = body.zones.find((/** @type {any} */ { zoneID }) => zoneID.zoneName === name) ?? {};
            const about = { zoneID: zone.zoneID, numbersAsStrings: asked.numbersAsStrings, asked: () => asked.desiredKeys };
            zones.push(zone.records ? { ...zone, records: await this.#openAll(zone.records, answer, about, options) } : zone);
        }
        return { ...found, zones };
    }

    // Opening

    /**
     * @param {any[] | undefined} items of an answer
     * @param {Answer} answer
     * @param {{ zoneID?: any, numbersAsStrings?: boolean, asked: (place: number) => string[] | undefined }} about
     * @param {Options} options
     */
    async #openAll(items, answer, about, options) {
        const opened = [];
        for (const [place, item] of (items ?? []).entries()) {
            opened.push(await this.#openItem(item, answer, { ...about, asked: about.asked(place) }, options));
        }
        return opened;
    }

    /**
     * Opens a record of an answer, or the server's record in an error. An item that is refused is an error of ours.
     * @param {any} item
     * @param {Answer} answer
     * @param {{ zoneID?: any, numbersAsStrings?: boolean, asked?: string[], sent?: Version }} about
     * @param {Options} options
     */
    async #openItem(item, answer, about, options) {
        const zoneID = item?.zoneID ?? about.zoneID;
        const zone = zoneNameOf(zoneID);
        try {
            const { serverRecord } = item?.nacre ?? {};
            if (item?.serverErrorCode !== undefined) {
                if (!serverRecord) return item;
                const record = await this.#open(serverRecord, zone, answer, { ...about, asked: undefined, sent: undefined }, options);
                return { ...item, nacre: { ...item.nacre, serverRecord: record } };
            }
            if (item?.deleted) {
                this.#seen.forget(zone, item.recordName);
                return item;
            }
            return await this.#open(item, zone, answer, about, options);
        } catch (error) {
            if (!(error instanceof Fault) || error.code !== "ENCRYPTION_REFUSED") throw error;
            return new this.#core.CKError({ ckErrorCode: error.code, reason: error.message, recordName: item?.recordName, zoneID });
        }
    }

    /**
     * @param {any} record
     * @param {string} zone
     * @param {Answer} answer
     * @param {{ numbersAsStrings?: boolean, asked?: string[], sent?: Version }} about
     * @param {Options} options
     */
    async #open(record, zone, answer, { numbersAsStrings, asked, sent }, options) {
        this.#checkPlain(record, zone, answer.moment, sent !== undefined);
        const text = record.nacre?.manifest;
        if (text === undefined && !hasEncrypted(record)) return record;
        const seen = this.#seen.note(zone, record.recordName, answer.moment)?.version;
        const kept = sent && (!seen || seen.stamp < sent.stamp) ? sent : seen;
        while (true) {
            const keys = await this.#keys(zone, answer, options);
            if (!keys) return withoutSealed(record, text);
            try {
                const { manifest, fields } = await openRecord(keys, record, { asked, kept, numbersAsStrings });
                this.#seen.add(zone, record, manifest, versionOf(manifest));
                return { ...record, fields: { ...record.fields, ...fields }, manifest: text };
            } catch (error) {
                if (!(error instanceof RecordFault) || !["otherKey", "otherScope"].includes(error.kind)) throw error;
                // Another device may have made a newer key, or the zone.
                if (!answer.renewed.has(zone)) {
                    answer.renewed.add(zone);
                    answer.keys.delete(zone);
                    await this.#exchange.forgetZone(zone);
                } else if (error.kind === "otherScope") {
                    this.#tell(zone, error.message);
                    return withoutSealed(record, text);
                } else {
                    throw error;
                }
            }
        }
    }

    /**
     * Refuses a record that lacks encryption which this page has seen it have.
     * @param {any} record
     * @param {string} zone
     * @param {number} moment
     * @param {boolean} wasSealed whether it is the answer to a save that was sealed
     */
    #checkPlain(record, zone, moment, wasSealed) {
        const plain = Object.entries(record.fields ?? {}).filter(([, field]) => !isSealed(field));
        if (plain.some(([name]) => this.#seen.isEncrypted(record.recordType, name))) throw new RecordFault("plain", record.recordName);
        if (record.nacre?.manifest !== undefined) return;
        // A record that was deleted and made again, by its date, may have no encrypted values any more.
        const created = this.#seen.note(zone, record.recordName, moment)?.created;
        const isSame = created !== undefined && (record.created?.timestamp ?? 0) <= created;
        if (isSame || wasSealed) throw new RecordFault("rolledBack", record.recordName);
    }

    /**
     * The keys for opening values of a zone; nothing if this device has none, which the log tells once.
     * @param {string} zone
     * @param {Answer} answer
     * @param {Options} options
     */
    async #keys(zone, answer, options) {
        if (answer.keys.has(zone)) return answer.keys.get(zone);
        let keys;
        try {
            keys = await this.#exchange.zoneKeys(zone, options);
            if (!keys) this.#tell(zone, "the zone has no keys");
        } catch (error) {
            if (!(error instanceof Fault) || error.code !== "ENCRYPTION_KEYS_REQUIRED") throw error;
            this.#tell(zone, error.message);
        }
        answer.keys.set(zone, keys);
        return keys;
    }

    /**
     * @param {string} zone
     * @param {string} reason
     */
    #tell(zone, reason) {
        if (this.#told.has(zone)) return;
        this.#told.add(zone);
        this.#exchange.services.log("warn", `Encrypted values of the zone '${zone}' cannot be opened: ${reason}`);
    }

    // Saving

    /**
     * @param {any} body
     * @param {Send} send
     * @param {Answer} answer
     * @param {Options} options
     */
    async #modify(body, send, answer, options) {
        const zoneID = body.zoneID;
        const zone = zoneNameOf(zoneID);
        /** @type {Job[]} */
        const jobs = body.operations.map((/** @type {any} */ operation) => ({ operation, mustSeal: false, fromServer: isForced(operation) }));
        const results = new Array(jobs.length);
        let pending = jobs.map((_, place) => place);
        let found;
        for (let tries = 0; ; tries += 1) {
            const operations = await this.#sealed(pending.map((place) => jobs[place]), zone, zoneID, answer, options);
            found = await send({ ...body, operations });
            const items = found.records ?? [];
            if (items.length !== pending.length) throw new Fault("the server answered another number of records than were sent");
            pending.forEach((place, index) => { results[place] = items[index]; });
            if (tries + 1 === triesMax) break;
            const again = await this.#again(pending, jobs, results, zone, body.atomic);
            if (again.length === 0) break;
            pending = again;
        }
        const records = [];
        for (const [place, item] of results.entries()) {
            const { operation, sent } = jobs[place];
            const about = { zoneID, numbersAsStrings: body.numbersAsStrings, asked: operation.desiredKeys ?? body.desiredKeys, sent };
            records.push(await this.#openItem(item, answer, about, options));
        }
        return { ...found, records };
    }

    /**
     * The places of the saves that are sealed and sent again: the zone has a newer key, or the record another manifest
     * than the one that they were made from.
     * @param {number[]} pending
     * @param {Job[]} jobs which are changed
     * @param {any[]} results
     * @param {string} zone
     * @param {boolean} isAtomic
     */
    async #again(pending, jobs, results, zone, isAtomic) {
        const failed = pending.filter((place) => results[place]?.serverErrorCode !== undefined && results[place].serverErrorCode !== "ATOMIC_ERROR");
        const again = [];
        for (const place of failed) {
            const [job, { serverErrorCode, reason }] = [jobs[place], results[place]];
            if (reason === keyReason) {
                await this.#exchange.forgetZone(zone);
            } else if (reason === manifestReason && !job.mustSeal) {
                job.mustSeal = true;
            } else if (!(serverErrorCode === "CONFLICT" && isForced(job.operation) && job.sent)) {
                continue;
            }
            again.push(place);
        }
        if (!isAtomic) return again;
        return again.length > 0 && again.length === failed.length ? pending : [];
    }

    /**
     * The operations as they are sent.
     * @param {Job[]} jobs which are changed
     * @param {string} zone
     * @param {any} zoneID
     * @param {Answer} answer
     * @param {Options} options
     */
    async #sealed(jobs, zone, zoneID, answer, options) {
        const parts = await Promise.all(jobs.map(async (job) => ({ job, ...await needed(job) })));
        if (!parts.some(({ needs }) => needs)) return parts.map(({ job, record }) => ({ ...job.operation, record }));
        const { account } = await this.#exchange.opened(options);
        if (zoneID?.ownerRecordName !== undefined && zoneID.ownerRecordName !== account.user) throw notHere();
        const keys = await this.#exchange.zoneKeysForSaving(zone, options);
        const unknown = parts.filter(({ job, needs, known }) => needs && known === undefined && job.operation.operationType !== "create");
        const stored = await this.#stored(unknown.map(({ record }) => record), zoneID, answer, options);
        const operations = [];
        for (const { job, needs, known, record } of parts) {
            if (!needs) {
                operations.push({ ...job.operation, record });
                continue;
            }
            if (typeof record.recordType !== "string") throw new Fault("a record with encrypted values has a recordType", "INVALID_ARGUMENTS");
            const text = known ?? stored.get(record.recordName);
            const base = text === undefined ? undefined : await baseOf(keys, record, text);
            const sealed = await sealRecord(keys, record, { base, hasAllKeys: hasAllKeys(job.operation), now: this.#exchange.services.now() });
            job.sent = sealed.version;
            operations.push({ ...job.operation, record: sealed.record });
        }
        return operations;
    }

    /**
     * The manifests that the server has of records, by name.
     * @param {any[]} records
     * @param {any} zoneID
     * @param {Answer} answer
     * @param {Options} options
     */
    async #stored(records, zoneID, answer, options) {
        const stored = new Map();
        if (records.length === 0) return stored;
        const body = { zoneID, desiredKeys: [], records: records.map(({ recordName }) => ({ recordName })), nacre: details };
        const { records: items = [] } = await this.#exchange.ask("records/lookup", body, options);
        const later = new Answer(Math.max(answer.moment, this.#seen.moment));
        for (const item of items) {
            if (item.serverErrorCode !== undefined) continue;
            const { recordName, manifest } = await this.#open(item, zoneNameOf(zoneID), later, { asked: [] }, options);
            stored.set(recordName, manifest);
        }
        return stored;
    }
}

/**
 * The record of a job without the manifest that it carries, whether it is sealed, and the manifest that it builds on.
 * @param {Job} job
 */
async function needed({ operation, mustSeal, fromServer }) {
    const { manifest, ...record } = operation.record;
    if (operation.operationType.toLowerCase().endsWith("delete")) return { needs: false, record };
    const known = fromServer || mustSeal || typeof manifest !== "string" || operation.operationType === "create" ? undefined : manifest;
    const base = typeof manifest === "string" ? await readBase(record, manifest) : undefined;
    const touches = base !== undefined && operation.operationType !== "create"
        && (hasAllKeys(operation) || parentOf(record, base) !== base.parts.parent
            || base.parts.fields.some(({ name }) => Object.hasOwn(record.fields ?? {}, name)));
    const needs = mustSeal || hasEncrypted(record) || touches;
    // The manifest has the record's name, so that the server cannot give it one.
    if (needs) record.recordName ??= crypto.randomUUID().toUpperCase();
    return { needs, known, record };
}

const notHere = () => new Fault(
    "encrypted values are supported only in the user's own zones of the private database by this version", "INVALID_ARGUMENTS");

/**
 * A record as a page gets it that cannot open its values. A sealed value that were saved back would be sealed twice.
 * @param {any} record
 * @param {string | undefined} manifest
 */
function withoutSealed(record, manifest) {
    const fields = Object.fromEntries(Object.entries(record.fields ?? {}).filter(([, field]) => !isSealed(field)));
    return { ...record, fields, manifest };
}
