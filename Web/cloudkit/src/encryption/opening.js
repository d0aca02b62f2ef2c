/** The answers about records of this page: which keys open them, and what was seen. */

import { Fault } from "./bytes.js";
import { keyOf, zoneShare } from "./exchange.js";
import { errorOf } from "./faults.js";
import { hasEncrypted, isSealed, openRecord, RecordFault, versionOf, withoutRoots, withoutSealed } from "./records.js";
import { SeenRecords } from "./seen.js";
import { Shares } from "./shares.js";

/** @typedef {import("./exchange.js").Exchange} Exchange */
/** @typedef {import("./records.js").Version} Version */
/** @typedef {import("./requests.js").Options} Options */

/** What one answer opens with: its moment, and for each zone the keys, which are asked for again once. */
export class Answer {
    /** @type {Map<string, import("./scope.js").ZoneKeys | undefined>} */
    keys = new Map();
    /** @type {Set<string>} */
    renewed = new Set();

    /**
     * @param {number} moment the value of `SeenRecords.moment` before the request
     * @param {"PRIVATE" | "SHARED"} scope the database's
     */
    constructor(moment, scope) {
        this.moment = moment;
        this.scope = scope;
    }

    /**
     * The text by which the keys know a zone.
     * @param {any} zoneID
     */
    keyOf(zoneID) {
        return keyOf(zoneID, this.scope);
    }
}

export class Answers {
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
        this.shares = new Shares(exchange);
    }

    /**
     * Begins an answer, before it is asked for.
     * @param {"PRIVATE" | "SHARED"} scope the database's
     */
    begin(scope) {
        return new Answer(this.#seen.moment, scope);
    }

    /**
     * Begins an answer that is asked for after others, and no earlier than another one.
     * @param {Answer} answer
     */
    after({ moment, scope }) {
        return new Answer(Math.max(moment, this.#seen.moment), scope);
    }

    /**
     * Forgets a zone that was deleted.
     * @param {string} zone
     * @param {Options} options
     */
    async forgetZone(zone, options) {
        this.#seen.forgetZone(zone);
        await this.#exchange.forgetZone(zone);
        await this.shares.forget(zone, options);
    }

    /**
     * Opens the records of an answer.
     * @param {any[] | undefined} items of an answer
     * @param {Answer} answer
     * @param {{
     *     zoneID: (place: number) => any, numbersAsStrings?: boolean, asked: (place: number) => string[] | undefined,
     * }} about
     * @param {Options} options
     */
    async openAll(items, answer, about, options) {
        const opened = [];
        for (const [place, item] of (items ?? []).entries()) {
            opened.push(await this.openItem(item, answer, { ...about, zoneID: about.zoneID(place), asked: about.asked(place) }, options));
        }
        return opened;
    }

    /**
     * Opens a record of an answer, or the server's record in an error. An item that is refused is an error of ours.
     * @param {any} item
     * @param {Answer} answer
     * @param {{ zoneID?: any, numbersAsStrings?: boolean, asked?: string[], sent?: Version }} about without a zone, the
     *     item names it
     * @param {Options} options
     */
    async openItem(item, answer, about, options) {
        const zoneID = item?.zoneID || about.zoneID ? { ...about.zoneID, ...item?.zoneID } : undefined;
        try {
            if (item instanceof this.#core.CKError) return item;
            const zone = answer.keyOf(zoneID);
            // An answer about one zone has no records of another.
            if (about.zoneID && zone !== answer.keyOf(about.zoneID)) throw new RecordFault("changed", item.recordName);
            const { serverRecord } = item?.nacre ?? {};
            if (item?.serverErrorCode !== undefined) {
                if (!serverRecord) return item;
                const record = await this.open(serverRecord, zone, answer, { ...about, asked: undefined, sent: undefined }, options);
                await this.#see(record, zone, answer, options);
                return { ...item, nacre: { ...item.nacre, serverRecord: record } };
            }
            if (item?.deleted) {
                this.#seen.forget(zone, item.recordName);
                return item;
            }
            const record = await this.open(item, zone, answer, about, options);
            await this.#see(record, zone, answer, options);
            return record;
        } catch (error) {
            if (!(error instanceof Fault) || error.code !== "ENCRYPTION_REFUSED") throw error;
            return errorOf(error, this.#core, { recordName: item?.recordName, zoneID });
        }
    }

    /**
     * @param {any} record
     * @param {string} zone
     * @param {Answer} answer
     * @param {Options} options
     */
    async #see(record, zone, answer, options) {
        if (answer.scope === "PRIVATE" && record.recordName === zoneShare) await this.shares.see(record, zone, options);
    }

    /**
     * Opens a record.
     * @param {any} shown the record
     * @param {string} zone
     * @param {Answer} answer
     * @param {{ numbersAsStrings?: boolean, asked?: string[], sent?: Version }} about
     * @param {Options} options
     */
    async open(shown, zone, answer, { numbersAsStrings, asked, sent }, options) {
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
}
