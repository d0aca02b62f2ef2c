/** Files: blobs in fields are sent first, and their places are taken by what the server answers for them. */

import { invalid, localError } from "./error.js";
import { base64, isFile, uuid, wrapped } from "./values.js";

/** Bytes from which on a file is sent in parts; the server takes no smaller ones. */
const bytesInParts = 1 << 19;
/** Bytes of a chunk, the most that the server takes. */
const chunkBytes = 1 << 20;
/** Chunks of a part of a large file, and bytes from which on a file is large. */
const chunksOfPart = 4;
const bytesOfLarge = 1 << 24;
/** The server's reason with `BAD_REQUEST` when the URL of a file is not good any more. */
const urlExpired = "the URL of the upload has expired";
/** Files of one request, and files that are sent at once. */
const tokensMax = 200;
const filesAtOnce = 4;
/** Failures in a row, without progress, after which a file is given up; and the codes of failures that may pass. */
const failuresMax = 3;
const passing = ["NETWORK_ERROR", "NOT_FOUND", "CONFLICT", "SERVICE_UNAVAILABLE", "THROTTLED", "TRY_AGAIN_LATER"];
/** Milliseconds after which a file is tried again at the latest, however long the server asks to wait. */
const pauseMax = 60_000;

/**
 * @typedef {object} Item a file of a record's field
 * @property {any} record
 * @property {string} recordName
 * @property {string} fieldName
 * @property {number | undefined} place where it is in the field's list
 * @property {Blob} blob
 * @property {any} [asset] what the server has answered for it
 *
 * @typedef {import("./transport.js").Transport} Transport
 * @typedef {Pick<import("../cloudkit").Saving, "signal" | "onProgress"> & { zoneID?: any, epoch?: number }} UploadOptions `epoch`: the session that the files are for
 */

/**
 * Sends the files of records.
 * @param {Transport} transport
 * @param {string} database its scope
 * @param {any[]} records
 * @param {UploadOptions} options
 * @returns {Promise<any[]>} the records with an asset in the place of each file. A record without a name has one then.
 */
export async function withFilesSent(transport, database, records, options) {
    const sent = records.map((record) => (filesOf(record).length > 0 ? copied(record) : record));
    const items = sent.flatMap(filesOf);
    if (items.length === 0) return records;
    const uploads = new Uploads(transport, database, options);
    await uploads.send(items);
    for (const { record, fieldName, place, asset } of items) {
        const field = record.fields[fieldName];
        if (place === undefined) field.value = asset; else field.value[place] = asset;
        field.type ??= place === undefined ? "ASSETID" : "ASSETID_LIST";
    }
    return sent;
}

/**
 * A record whose fields with files may be changed.
 * @param {any} record
 */
function copied(record) {
    if (typeof record.recordType !== "string") throw invalid("a record with a file has a recordType");
    const fields = Object.entries(record.fields).filter(([, given]) => given !== undefined).map(([name, given]) => {
        const field = wrapped(given);
        return [name, { ...field, value: Array.isArray(field.value) ? [...field.value] : field.value }];
    });
    return { ...record, recordName: record.recordName ?? uuid(), fields: Object.fromEntries(fields) };
}

/**
 * @param {any} record
 * @returns {Item[]}
 */
function filesOf(record) {
    return Object.entries(record.fields ?? {}).flatMap(([fieldName, given]) => {
        const { value } = wrapped(given);
        /** @type {(blob: any, place?: number) => Item} */
        const item = (blob, place) => ({ record, recordName: record.recordName, fieldName, place, blob });
        if (isFile(value)) return [item(value)];
        return Array.isArray(value) ? value.map(item).filter(({ blob }) => isFile(blob)) : [];
    });
}

class Uploads {
    #transport;
    #database;
    #options;

    /**
     * @param {Transport} transport
     * @param {string} database
     * @param {UploadOptions} options
     */
    constructor(transport, database, options) {
        this.#transport = transport;
        this.#database = database;
        this.#options = options;
    }

    /**
     * Sends all files, and gives each item its asset.
     * @param {Item[]} items
     */
    async send(items) {
        // Digests need a page with HTTPS.
        const inParts = (/** @type {Item} */ item) => item.blob.size >= bytesInParts && globalThis.crypto?.subtle !== undefined;
        const whole = items.filter((item) => !inParts(item));
        const urls = new Map();
        for (let start = 0; start < whole.length; start += tokensMax) {
            const asked = whole.slice(start, start + tokensMax);
            const tokens = await this.#again(() => this.#tokens(asked.map((item) => this.#token(item))));
            asked.forEach((item, index) => urls.set(item, tokens[index].url));
        }
        // The URLs of whole files are good for some minutes only, so these go first.
        const waiting = [...whole, ...items.filter(inParts)];
        const work = async () => {
            for (let item = waiting.shift(); item; item = waiting.shift()) {
                try {
                    item.asset = urls.has(item) ? await this.#sendToURL(item, urls.get(item)) : await this.#sendParts(item);
                } catch (error) {
                    waiting.length = 0;
                    throw error;
                }
            }
        };
        await Promise.all(Array.from({ length: Math.min(filesAtOnce, items.length) }, work));
    }

    /** @param {Item} item */
    #token({ record, recordName, fieldName }) {
        return { recordName, recordType: record.recordType, fieldName };
    }

    /**
     * @param {any[]} tokens
     * @returns {Promise<any[]>}
     */
    async #tokens(tokens) {
        const { zoneID, signal, epoch } = this.#options;
        const answer = await this.#transport.ask(this.#database, "assets/upload", { zoneID, tokens }, { signal, epoch });
        if (answer.tokens?.length !== tokens.length) throw localError("UNEXPECTED_SERVER_RESPONSE", "the server gave no place for a file");
        return answer.tokens;
    }

    /**
     * @param {Item} item
     * @param {number} loaded
     */
    #tell({ recordName, fieldName, blob }, loaded) {
        this.#options.onProgress?.({ recordName, fieldName, file: blob, loaded, total: blob.size });
    }

    /**
     * Does a work again after failures that may pass, with longer and longer pauses, as long as the server asks.
     * @template T
     * @param {(progress: () => void) => Promise<T>} work calls `progress` when it has come further than before
     * @returns {Promise<T>}
     */
    async #again(work) {
        for (let failures = 0; ;) {
            try {
                return await work(() => { failures = 0; });
            } catch (error) {
                const { ckErrorCode, retryAfter = 0 } = /** @type {any} */ (error) ?? {};
                failures += 1;
                if (!passing.includes(ckErrorCode) || failures > failuresMax) throw error;
                const pause = Math.min(Math.max(500 * 2 ** failures, retryAfter * 1000), pauseMax);
                await this.#transport.services.pause(pause, this.#options.signal);
                this.#options.signal?.throwIfAborted();
            }
        }
    }

    /**
     * Sends a whole file to the URL that it was given with others, or to a new one: if that has expired behind them,
     * and after a failure, since a URL takes one file.
     * @param {Item} item
     * @param {string | undefined} url
     */
    #sendToURL(item, url) {
        return this.#again(async () => {
            const given = url;
            url = undefined;
            try {
                return await this.#sendWhole(item, given ?? await this.#newURL(item));
            } catch (error) {
                const { ckErrorCode, reason } = /** @type {any} */ (error) ?? {};
                if (!given || ckErrorCode !== "BAD_REQUEST" || reason !== urlExpired) throw error;
                return this.#sendWhole(item, await this.#newURL(item));
            }
        });
    }

    /** @param {Item} item */
    async #newURL(item) {
        return (await this.#tokens([this.#token(item)]))[0].url;
    }

    /**
     * @param {Item} item
     * @param {string} url
     */
    async #sendWhole(item, url) {
        const { signal } = this.#options;
        this.#tell(item, 0);
        const answer = await this.#transport.send(url, { method: "POST", body: item.blob, signal });
        const asset = (await this.#transport.read(answer, signal)).singleFile;
        this.#tell(item, item.blob.size);
        return asset;
    }

    /**
     * Announces the chunks of a file and sends those that the server lacks. After a broken connection the announcement
     * tells how much has come; so it does when the server has forgotten the file, or has another part of it.
     * @param {Item} item
     */
    async #sendParts(item) {
        const chunks = await digests(item.blob);
        let reached = 0;
        return this.#again(async (progress) => {
            const awaited = await this.#announce(item, chunks);
            if (!awaited.body) return this.#sendWhole(item, awaited.url);
            return this.#sendRest(item, awaited, (loaded) => {
                if (loaded > reached) progress();
                reached = Math.max(reached, loaded);
            });
        });
    }

    /**
     * @param {Item} item
     * @param {any[]} chunks
     */
    async #announce(item, chunks) {
        const [{ url, nacre }] = await this.#tokens([{ ...this.#token(item), nacre: { chunks } }]);
        if (!nacre) return { url, offset: 0 };
        const pieces = nacre.missing.map((/** @type {number} */ index) => item.blob.slice(index * chunkBytes, (index + 1) * chunkBytes));
        return { url, body: new Blob(pieces), offset: nacre.offset };
    }

    /**
     * Sends parts until the last.
     * @param {Item} item
     * @param {{ body: Blob, url: string, offset: number }} awaited
     * @param {(loaded: number) => void} reach called with the bytes that need not be sent any more
     * @returns {Promise<any>} the asset
     */
    async #sendRest(item, { body, url, offset: first }, reach) {
        const { signal } = this.#options;
        const known = item.blob.size - body.size;
        const partBytes = item.blob.size > bytesOfLarge ? chunksOfPart * chunkBytes : chunkBytes;
        for (let offset = first; ; offset += partBytes) {
            reach(known + offset);
            this.#tell(item, known + offset);
            const end = Math.min(offset + partBytes, body.size);
            const isLast = end === body.size;
            const answer = await this.#transport.send(url, {
                method: "PATCH", body: body.slice(offset, end), signal,
                headers: { "Upload-Offset": String(offset), "Upload-Complete": isLast ? "?1" : "?0" },
            });
            if (isLast || !answer.ok) {
                const asset = (await this.#transport.read(answer, signal)).singleFile;
                this.#tell(item, item.blob.size);
                return asset;
            }
        }
    }
}

/**
 * The announcement of a file: size and digest of each chunk. One chunk is in memory at a time.
 * @param {Blob} blob
 */
async function digests(blob) {
    const chunks = [];
    for (let start = 0; start < blob.size; start += chunkBytes) {
        const bytes = await blob.slice(start, start + chunkBytes).arrayBuffer();
        chunks.push({ size: bytes.byteLength, sha256: base64(await crypto.subtle.digest("SHA-256", bytes)) });
    }
    return chunks;
}
