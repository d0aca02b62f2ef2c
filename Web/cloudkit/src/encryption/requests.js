/** Requests about records: seals what they save, and opens what is answered. */

import { Fault } from "./bytes.js";
import { keyOf } from "./exchange.js";
import { errorOf, Faults, refusal } from "./faults.js";
import { FileKeys, hasSentFile } from "./files.js";
import { readLogs } from "./log.js";
import { Answers } from "./opening.js";
import { baseOf, hasEncrypted, isSealed, parentOf, readBase, sealRecord } from "./records.js";

/** @typedef {import("./exchange.js").Exchange} Exchange */
/** @typedef {import("./opening.js").Answer} Answer */
/** @typedef {import("./records.js").Version} Version */
/** @typedef {"PRIVATE" | "SHARED"} Scope */
/**
 * `unanswered` keeps a save whose answer may be lost: given again with the same body, it is sent again as it was sealed.
 * @typedef {import("../transport.js").Cancelling & {
 *     unanswered?: { saving?: Saving, begun?: import("./shares.js").Begun },
 * }} Options
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
/** The server's reason for the end of a zone whose account was reset. */
const resetReason = "ENCRYPTED_DATA_RESET";
const details = { details: true };

/** @param {any} record */
const isForSealing = (record) => Object.values(record?.fields ?? {}).some((field) => isSealed(field) || hasSentFile(field));

/** @param {any} operation */
const isForced = ({ operationType }) => operationType.startsWith("force");

/** @param {any} operation */
const hasAllKeys = ({ operationType }) => ["create", "replace", "forceReplace"].includes(operationType);

export class RecordRequests {
    #exchange;
    #core;
    #files;
    #answers;

    /**
     * @param {Exchange} exchange
     * @param {import("./encryption.js").Core} core
     */
    constructor(exchange, core) {
        this.#exchange = exchange;
        this.#core = core;
        this.#files = new FileKeys(exchange);
        this.#answers = new Answers(exchange, core);
    }

    /** Forgets what was seen: another user may sign in. */
    forget() {
        this.#answers = new Answers(this.#exchange, this.#core);
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
        if (scope !== "PRIVATE" && scope !== "SHARED") {
            if (endpoint === "records/modify" && body.operations.some((/** @type {any} */ { record }) => hasEncrypted(record))) throw notHere();
            return send(body);
        }
        const answers = this.#answers;
        const answer = answers.begin(scope);
        switch (endpoint) {
            case "records/modify": return this.#modify(body, send, answer, options);
            case "records/lookup": {
                const found = await send(body);
                const asked = (/** @type {number} */ place) => body.records[place]?.desiredKeys ?? body.desiredKeys;
                const zoneID = (/** @type {number} */ place) => body.records[place]?.zoneID ?? body.zoneID ?? {};
                return { ...found, records: await answers.openAll(found.records, answer, { ...body, zoneID, asked }, options) };
            }
            case "records/query": {
                const found = await send({ ...body, nacre: { ...body.nacre, ...details } });
                const about = { ...body, zoneID: () => body.zoneID ?? (body.zoneWide ? undefined : {}), asked: () => body.desiredKeys };
                return { ...found, records: await answers.openAll(found.records, answer, about, options) };
            }
            case "changes/zone": return this.#changes(body, send, answer, options);
            case "changes/database": {
                const found = await send({ ...body, nacre: { ...body.nacre, ...details } });
                const deleted = (found.zones ?? []).filter((/** @type {any} */ zone) => zone.deleted);
                const reset = deleted.filter((/** @type {any} */ { nacre }) => nacre?.reason === resetReason);
                await this.#checkReset(reset.map((/** @type {any} */ { zoneID }) => answer.keyOf(zoneID)), options);
                for (const { zoneID } of deleted) await answers.forgetZone(answer.keyOf(zoneID), options);
                return body.nacre ? found : { ...found, zones: found.zones?.map((/** @type {any} */ { nacre, ...zone }) => zone) };
            }
            case "zones/modify": {
                const found = await send(body);
                for (const { operationType, zone: { zoneID } } of body.operations) {
                    if (operationType === "delete") await answers.forgetZone(answer.keyOf(zoneID), options);
                }
                return found;
            }
            default: return send(body);
        }
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
            const name = answer.keyOf(zone.zoneID);
            const asked = body.zones.find((/** @type {any} */ { zoneID }) => answer.keyOf(zoneID) === name) ?? {};
            const about = { zoneID: () => zone.zoneID, numbersAsStrings: asked.numbersAsStrings, asked: () => asked.desiredKeys };
            zones.push(zone.records ? { ...zone, records: await this.#answers.openAll(zone.records, answer, about, options) } : zone);
        }
        return { ...found, zones };
    }

    /**
     * Holds back that zones of the user's were reset, as long as the log of which this device has seen their keys has no
     * signed reset.
     * @param {string[]} zones
     * @param {Options} options
     */
    async #checkReset(zones, options) {
        if (zones.length === 0) return;
        const { name, account } = await this.#exchange.opened(options);
        const { own, scopes } = await this.#exchange.store.read(name);
        if (!own || !zones.some((zone) => Object.hasOwn(scopes, zone))) return;
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
     * @param {Scope} scope the database's
     * @param {any} zoneID
     * @param {any[]} records
     * @param {any[]} withFiles those that have files
     * @param {Options} options
     */
    sealer(scope, zoneID, records, withFiles, options) {
        return this.#files.sealer(scope, zoneID, records.some(hasEncrypted), options).catch((error) => { throw refusal(error, withFiles); });
    }

    /**
     * The keys that open the files of a zone.
     * @param {Scope} scope the database's
     * @param {any} zoneID
     * @param {Options} options
     */
    async keysOfFile(scope, zoneID, options) {
        const zone = keyOf(zoneID, scope);
        const keys = await this.#exchange.zoneKeys(zone, options);
        if (!keys) throw new Fault(`the zone '${zone}' has no keys: give the zoneID of the file's record`, "ENCRYPTION_KEYS_REQUIRED");
        return keys;
    }

    // Saving

    /**
     * @param {any} body
     * @param {Send} send
     * @param {Answer} answer
     * @param {Options} options
     */
    async #modify(body, send, answer, options) {
        const zone = answer.keyOf(body.zoneID);
        if (answer.scope === "SHARED") return this.#sendJobs(body, send, answer, options);
        const { shares } = this.#answers;
        const { operations, saying } = await shares.begin(body.operations, zone, options);
        if (!saying) return this.#sendJobs(body, send, answer, options);
        /** @type {any[] | undefined} */
        let results;
        try {
            return await this.#sendJobs({ ...body, operations }, send, answer, options, async (found) => {
                results = found;
                await shares.end(saying, found, zone, options);
            });
        } finally {
            if (!results) await shares.end(saying, undefined, zone, options);
        }
    }

    /**
     * @param {any} body
     * @param {Send} send
     * @param {Answer} answer
     * @param {Options} options
     * @param {(results: any[]) => Promise<void>} [sent] takes the answers before they are opened
     */
    async #sendJobs(body, send, answer, options, sent = async () => {}) {
        const zoneID = body.zoneID;
        const zone = answer.keyOf(zoneID);
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
        await sent(results);
        const records = [];
        for (const [place, { operation, sent: version }] of jobs.entries()) {
            const asked = operation.desiredKeys ?? body.desiredKeys;
            const about = { zoneID: zoneID ?? {}, numbersAsStrings: body.numbersAsStrings, asked, sent: version };
            records.push(await this.#answers.openItem(results[place], answer, about, options));
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
        const keys = await this.#keysForSaving(zone, zoneID, answer, options).catch((error) => {
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
     * @param {Answer} answer
     * @param {Options} options
     */
    async #keysForSaving(zone, zoneID, { scope }, options) {
        const { account } = await this.#exchange.opened(options);
        if (scope === "PRIVATE" && zoneID?.ownerRecordName !== undefined && zoneID.ownerRecordName !== account.user) throw notHere();
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
        const { records: items = [] } = await this.#exchange.ask("records/lookup", body, options, answer.scope);
        const later = this.#answers.after(answer);
        for (const item of items) {
            if (item.serverErrorCode !== undefined) continue;
            const opened = await faults.noting(item, () => this.#answers.open(item, answer.keyOf(zoneID), later, { asked: [] }, options));
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
    "encrypted values are supported only in the user's own zones of the private database, and in zones of the shared one", "INVALID_ARGUMENTS");
