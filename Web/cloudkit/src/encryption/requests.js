/** Requests about records: seals what they save, and opens what is answered. */

import { Fault } from "./bytes.js";
import { errorOf, Faults, refusal } from "./faults.js";
import { FileKeys, hasSentFile } from "./files.js";
import { readLogs } from "./log.js";
import { baseOf, isSealed, openRecord, parentOf, readBase, RecordFault, sealRecord, versionOf, withoutRoots, withoutSealed } from "./records.js";
import { SeenRecords } from "./seen.js";

/** @typedef {import("./exchange.js").Exchange} Exchange */
/** @typedef {import("./records.js").Version} Version */
/**
 * `unanswered` keeps a save whose answer may be lost: given again with the same body, it is sent again as it was sealed.
 * @typedef {import("../transport.js").Cancelling & { unanswered?: { saving?: Saving } }} Options
 */
/** @typedef {(body: any) => Promise<any>} Send */
/**
 * A save or deletion of a batch: whether it is sealed for a manifest alone, whether it is made over whatever the server
 * has, and the version that was sent.
 * @typedef {{ operation: any, mustSeal: boolean, fromServer: boolean, sent?: Version }} Job
 */

/**
 * A request of saves: its jobs, what the server has answered to them, the places of those to send, the times that some
 * were sent, and the operations that are on their way.
 * @typedef {{ jobs: Job[], results: any[], pending: number[], tries: number, operations?: any[] }} Saving
 */

/** What the server says of a save under an older key, and of one that needs a manifest. */
const [keyReason, manifestReason] = [
    "the key of this encrypted value is not the newest of its scope", "the record has a manifest, and this change needs a new one",
];
/** Times that saves are sealed and sent again. */
const triesMax = 4;
const defaultZone = "_defaultZone";
/** The server's reason for the end of a zone whose account was reset. */
const resetReason = "ENCRYPTED_DATA_RESET";
const details = { details: true };

/** @param {any} zoneID */
const zoneNameOf = (zoneID) => zoneID?.zoneName ?? defaultZone;

/** @param {any} record */
const hasEncrypted = (record) => Object.values(record?.fields ?? {}).some(isSealed);

/** @param {any} record */
const isForSealing = (record) => Object.values(record?.fields ?? {}).some((field) => isSealed(field) || hasSentFile(field));

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
    #files;
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
        this.#files = new FileKeys(exchange);
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
                const found = await send({ ...body, nacre: { ...body.nacre, ...details } });
                return { ...found, records: await this.#openAll(found.records, answer, { ...body, asked: () => body.desiredKeys }, options) };
            }
            case "changes/zone": return this.#changes(body, send, answer, options);
            case "changes/database": {
                const found = await send({ ...body, nacre: { ...body.nacre, ...details } });
                const deleted = (found.zones ?? []).filter((/** @type {any} */ zone) => zone.deleted);
                await this.#checkReset(deleted.filter((/** @type {any} */ { nacre }) => nacre?.reason === resetReason), options);
                for (const { zoneID } of deleted) await this.#forgetZone(zoneNameOf(zoneID));
                return body.nacre ? found : { ...found, zones: found.zones?.map((/** @type {any} */ { nacre, ...zone }) => zone) };
            }
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
        const found = await send({ ...body, nacre: { ...body.nacre, ...details } });
        const zones = [];
        for (const zone of found.zones ?? []) {
            const name = zone.zoneID?.zoneName;
            const asked = body.zones.find((/** @type {any} */ { zoneID }) => zoneID.zoneName === name) ?? {};
            const about = { zoneID: zone.zoneID, numbersAsStrings: asked.numbersAsStrings, asked: () => asked.desiredKeys };
            zones.push(zone.records ? { ...zone, records: await this.#openAll(zone.records, answer, about, options) } : zone);
        }
        return { ...found, zones };
    }

    /**
     * Holds back that zones were reset, as long as the log of which this device has seen their keys has no signed reset.
     * @param {{ zoneID: any }[]} zones
     * @param {Options} options
     */
    async #checkReset(zones, options) {
        if (zones.length === 0) return;
        const { name, account } = await this.#exchange.opened(options);
        const { own, scopes } = await this.#exchange.store.read(name);
        if (!own || !zones.some(({ zoneID }) => Object.hasOwn(scopes, zoneNameOf(zoneID)))) return;
        const logs = await readLogs((await this.#exchange.shownAccount(options)).statements, account);
        const log = logs.find(({ fingerprint }) => fingerprint === own.fingerprint);
        log?.check(own);
        if (log?.isReset || /[^0]/.test(log?.follows ?? "")) return;
        throw Object.assign(new Fault("the server says that the account's encrypted data was reset, and no device of the user has signed that"), {
            remedy: "Nothing was changed. Ask the server's operator, and compare container.keys.fingerprint() on your devices",
        });
    }

    // Files

    /**
     * What makes a source of a file of records in a zone; nothing where files stay plain.
     * @param {any} zoneID
     * @param {any[]} records
     * @param {any[]} withFiles those that have files
     * @param {Options} options
     */
    sealer(zoneID, records, withFiles, options) {
        return this.#files.sealer(zoneID, zoneNameOf(zoneID), records.some(hasEncrypted), options)
            .catch((error) => { throw refusal(error, withFiles); });
    }

    /**
     * The keys that open the files of a zone.
     * @param {any} zoneID
     * @param {Options} options
     */
    async keysOfFile(zoneID, options) {
        const keys = await this.#exchange.zoneKeys(zoneNameOf(zoneID), options);
        if (!keys) throw new Fault(`the zone '${zoneNameOf(zoneID)}' has no keys: give the zoneID of the file's record`, "ENCRYPTION_KEYS_REQUIRED");
        return keys;
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
            if (item instanceof this.#core.CKError) return item;
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
            return errorOf(error, this.#core, { recordName: item?.recordName, zoneID });
        }
    }

    /**
     * @param {any} shown the record
     * @param {string} zone
     * @param {Answer} answer
     * @param {{ numbersAsStrings?: boolean, asked?: string[], sent?: Version }} about
     * @param {Options} options
     */
    async #open(shown, zone, answer, { numbersAsStrings, asked, sent }, options) {
        const record = withoutRoots(shown);
        this.#checkPlain(record, zone, answer.moment, sent !== undefined);
        const text = record.nacre?.manifest;
        if (text === undefined && !hasEncrypted(record)) return record;
        const seen = this.#seen.note(zone, record.recordName, answer.moment)?.version;
        const kept = sent && (!seen || seen.stamp < sent.stamp) ? sent : seen;
        while (true) {
            const keys = await this.#keys(zone, answer, options);
            if (!keys) return await withoutSealed(record, text);
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
                    return await withoutSealed(record, text);
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
        const { unanswered = {} } = options;
        /** @type {Saving} */
        const saving = (unanswered.saving ??= {
            jobs: body.operations.map((/** @type {any} */ operation) => ({ operation, mustSeal: false, fromServer: isForced(operation) })),
            results: [], pending: body.operations.map((/** @type {any} */ _, /** @type {number} */ place) => place), tries: 0,
        });
        const { jobs, results } = saving;
        /** @type {any} */
        let found;
        while (saving.pending.length > 0 && saving.tries < triesMax) {
            const { pending } = saving;
            try {
                saving.operations ??= await this.#sealed(pending.map((place) => jobs[place]), zone, zoneID, answer, options);
            } catch (error) {
                // The other records were sent already.
                const faults = saving.tries > 0 ? /** @type {Fault} */ (error).all : undefined;
                if (!faults) throw error;
                for (const place of pending) {
                    const fault = faults.find(({ recordName }) => recordName === jobs[place].operation.record.recordName);
                    if (fault) results[place] = errorOf(fault, this.#core, { zoneID });
                }
                break;
            }
            found = await send({ ...body, operations: saving.operations });
            const items = found.records ?? [];
            if (items.length !== pending.length) throw new Fault("the server answered another number of records than were sent");
            pending.forEach((place, index) => { results[place] = items[index]; });
            Object.assign(saving, { operations: undefined, pending: [], tries: saving.tries + 1 });
            saving.pending = await this.#again(pending, jobs, results, zone, body.atomic);
        }
        const records = [];
        for (const [place, { operation, sent }] of jobs.entries()) {
            const about = { zoneID, numbersAsStrings: body.numbersAsStrings, asked: operation.desiredKeys ?? body.desiredKeys, sent };
            records.push(await this.#openItem(results[place], answer, about, options));
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
        const faults = new Faults();
        const parts = [];
        for (const job of jobs) {
            const part = await faults.noting(job.operation.record, () => needed(job));
            if (part) parts.push({ job, ...part });
        }
        const toSeal = parts.filter(({ needs }) => needs);
        if (toSeal.length === 0) return faults.unlessAny(parts.map(({ job, record }) => ({ ...job.operation, record })));
        const keys = await this.#keysForSaving(zone, zoneID, options).catch((error) => {
            throw refusal(error, toSeal.map(({ record }) => record));
        });
        const unknown = toSeal.filter(({ job, known }) => known === undefined && job.operation.operationType !== "create");
        const stored = await this.#stored(unknown.map(({ record }) => record), zoneID, answer, faults, options);
        const operations = [];
        for (const { job, needs, known, record } of parts) {
            const sealed = !needs ? record : await faults.noting(record, async () => {
                if (typeof record.recordType !== "string") throw new Fault("a record with encrypted values has a recordType", "INVALID_ARGUMENTS");
                const text = known ?? stored.get(record.recordName);
                const base = text === undefined ? undefined : await baseOf(keys, record, text);
                const made = await sealRecord(keys, record, { base, hasAllKeys: hasAllKeys(job.operation), now: this.#exchange.services.now() });
                job.sent = made.version;
                return made.record;
            });
            operations.push({ ...job.operation, record: sealed });
        }
        return faults.unlessAny(operations);
    }

    /**
     * @param {string} zone
     * @param {any} zoneID
     * @param {Options} options
     */
    async #keysForSaving(zone, zoneID, options) {
        const { account } = await this.#exchange.opened(options);
        if (zoneID?.ownerRecordName !== undefined && zoneID.ownerRecordName !== account.user) throw notHere();
        return this.#exchange.zoneKeysForSaving(zone, options);
    }

    /**
     * The manifests that the server has of records, by name.
     * @param {any[]} records
     * @param {any} zoneID
     * @param {Answer} answer
     * @param {Faults} faults
     * @param {Options} options
     */
    async #stored(records, zoneID, answer, faults, options) {
        const stored = new Map();
        if (records.length === 0) return stored;
        const body = { zoneID, desiredKeys: [], records: records.map(({ recordName }) => ({ recordName })), nacre: details };
        const { records: items = [] } = await this.#exchange.ask("records/lookup", body, options);
        const later = new Answer(Math.max(answer.moment, this.#seen.moment));
        for (const item of items) {
            if (item.serverErrorCode !== undefined) continue;
            const opened = await faults.noting(item, () => this.#open(item, zoneNameOf(zoneID), later, { asked: [] }, options));
            stored.set(item.recordName, opened?.manifest);
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
    const needs = mustSeal || isForSealing(record) || touches;
    // The manifest has the record's name, so that the server cannot give it one.
    if (needs) record.recordName ??= crypto.randomUUID().toUpperCase();
    return { needs, known, record };
}

export const notHere = () => new Fault(
    "encrypted values are supported only in the user's own zones of the private database by this version", "INVALID_ARGUMENTS");
