/** Files: blobs in fields are sent first, and their places are taken by what the server answers for them. */

import { invalid, localError } from "./error.js";
import { base64, isFile, uuid, wrapped } from "./values.js";

/** Bytes from which on a file is sent in parts; the server takes no smaller ones. */
const bytesInParts = 1 << 19;
/** Bytes of a chunk, the most that the server takes. */
const chunkBytes = 1 << 20;
/** Bytes from which on a part has enough pieces, the same for a large file, and bytes from which on a file is large. */
const partBytes = 1 << 20;
const largePartBytes = 1 << 22;
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
 * @typedef {object} Source the bytes of a file as they are sent
 * @property {number} size
 * @property {() => Promise<{ size: number, sha256: string }[]>} pieces the chunks to announce
 * @property {(places: number[]) => Promise<Blob>} read the bytes of some pieces
 * @property {() => Promise<Blob>} whole all bytes
 * @property {(asset: object) => void} [note] is given what the server has answered for the file
 *
 * @typedef {object} Item a file of a record's field
 * @property {any} record
 * @property {string} recordName
 * @property {string} fieldName
 * @property {number | undefined} place where it is in the field's list
 * @property {Blob} blob
 * @property {Source} source
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
    const withFiles = sent.filter((record, place) => record !== records[place]);
    if (withFiles.length === 0) return records;
    const sealer = await transport.encryption?.sealer(database, options.zoneID, sent, withFiles, options);
    if (sealer) for (const record of withFiles) await fetchPlainFiles(transport, record, options.signal);
    const items = sent.flatMap(filesOf);
    for (const item of items) item.source = sealer?.(item.blob) ?? new PlainSource(item.blob);
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
 * Puts the bytes of plain files in the place of their assets, in lists that get an encrypted one: a list is sealed as a
 * whole.
 * @param {Transport} transport
 * @param {any} record a copy
 * @param {AbortSignal} [signal]
 */
async function fetchPlainFiles(transport, record, signal) {
    for (const [name, { value }] of Object.entries(record.fields)) {
        if (!Array.isArray(value) || !value.some(isFile)) continue;
        for (const [place, asset] of value.entries()) {
            if (isFile(asset) || asset?.encryptionRoot !== undefined) continue;
            if (typeof asset?.downloadURL !== "string") {
                throw invalid(`a plain file of '${name}' has no downloadURL, by which it would be sealed with the others: fetch the record anew`);
            }
            value[place] = await fetchedFile(transport, asset, signal);
        }
    }
}

/**
 * Fetches the bytes of an asset.
 * @param {Transport} transport
 * @param {any} asset of an answer
 * @param {AbortSignal} [signal]
 * @param {(asset: any, bytes: AsyncIterable<Uint8Array>) => Promise<Blob>} [open] opens a sealed file
 * @returns {Promise<Blob>}
 */
export async function fetchedFile(transport, asset, signal, open) {
    if (typeof asset?.downloadURL !== "string") throw invalid("a file to fetch is an asset of an answer, with its downloadURL");
    const answer = await transport.send(asset.downloadURL.replace("${f}", "file"), { method: "GET", signal });
    if (!answer.ok) return transport.read(answer, signal);
    const bytes = transport.bytes(answer, signal);
    if (open) return open(asset, bytes);
    const parts = [];
    for await (const part of bytes) parts.push(part);
    return new Blob(parts);
}

/**
 * @param {any} record
 * @returns {Item[]}
 */
function filesOf(record) {
    return Object.entries(record.fields ?? {}).flatMap(([fieldName, given]) => {
        const { value } = wrapped(given);
        /** @type {(blob: any, place?: number) => Item} */
        const item = (blob, place) => (/** @type {any} */ ({ record, recordName: record.recordName, fieldName, place, blob }));
        if (isFile(value)) return [item(value)];
        return Array.isArray(value) ? value.map(item).filter(({ blob }) => isFile(blob)) : [];
    });
}

/**
 * A file that goes as it is.
 * @implements {Source}
 */
class PlainSource {
    #blob;

    /** @param {Blob} blob */
    constructor(blob) {
        this.#blob = blob;
        this.size = blob.size;
    }

    /** Size and digest of each chunk. One chunk is in memory at a time. */
    async pieces() {
        const pieces = [];
        for (let start = 0; start < this.size; start += chunkBytes) {
            const bytes = await this.#blob.slice(start, start + chunkBytes).arrayBuffer();
            pieces.push({ size: bytes.byteLength, sha256: base64(await crypto.subtle.digest("SHA-256", bytes)) });
        }
        return pieces;
    }

    async whole() {
        return this.#blob;
    }

    /** @param {number[]} places */
    async read(places) {
        return new Blob(places.map((place) => this.#blob.slice(place * chunkBytes, (place + 1) * chunkBytes)));
    }
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
        const inParts = (/** @type {Item} */ item) => item.source.size >= bytesInParts && globalThis.crypto?.subtle !== undefined;
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
                    item.source.note?.(item.asset);
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
     * Tells of progress in bytes of the page's file, of which a sealed one has more.
     * @param {Item} item
     * @param {number} loaded bytes as they are sent
     */
    #tell({ recordName, fieldName, blob, source }, loaded) {
        const share = source.size > 0 ? loaded / source.size : 0;
        this.#options.onProgress?.({ recordName, fieldName, file: blob, loaded: Math.round(share * blob.size), total: blob.size });
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
        const answer = await this.#transport.send(url, { method: "POST", body: await item.source.whole(), signal });
        const asset = (await this.#transport.read(answer, signal)).singleFile;
        this.#tell(item, item.source.size);
        return asset;
    }

    /**
     * Announces the chunks of a file and sends those that the server lacks. After a broken connection the announcement
     * tells how much has come; so it does when the server has forgotten the file, or has another part of it.
     * @param {Item} item
     */
    async #sendParts(item) {
        const chunks = await item.source.pieces();
        let reached = 0;
        return this.#again(async (progress) => {
            const [{ url, nacre }] = await this.#tokens([{ ...this.#token(item), nacre: { chunks } }]);
            if (!nacre) return this.#sendWhole(item, url);
            return this.#sendRest(item, { url, chunks, ...nacre }, (loaded) => {
                if (loaded > reached) progress();
                reached = Math.max(reached, loaded);
            });
        });
    }

    /**
     * Sends parts until the last.
     * @param {Item} item
     * @param {{ url: string, chunks: { size: number }[], missing: number[], offset: number }} awaited the places of the
     *     chunks to send, and how many bytes of these have come
     * @param {(loaded: number) => void} reach called with the bytes that need not be sent any more
     * @returns {Promise<any>} the asset
     */
    async #sendRest(item, { url, chunks, missing, offset: first }, reach) {
        const { signal } = this.#options;
        const { source } = item;
        const bytesOf = (/** @type {number[]} */ places) => places.reduce((count, place) => count + (chunks[place]?.size ?? NaN), 0);
        const known = source.size - bytesOf(missing);
        const enough = source.size > bytesOfLarge ? largePartBytes : partBytes;
        let next = 0;
        while (next < missing.length && bytesOf(missing.slice(0, next)) < first) next += 1;
        if (bytesOf(missing.slice(0, next)) !== first || Number.isNaN(known)) {
            throw localError("UNEXPECTED_SERVER_RESPONSE", "the server awaits other parts of a file than it has");
        }
        for (let offset = first; ;) {
            reach(known + offset);
            this.#tell(item, known + offset);
            const start = next;
            while (next < missing.length && bytesOf(missing.slice(start, next)) < enough) next += 1;
            const places = missing.slice(start, next);
            const isLast = next === missing.length;
            const answer = await this.#transport.send(url, {
                method: "PATCH", body: await source.read(places), signal,
                headers: { "Upload-Offset": String(offset), "Upload-Complete": isLast ? "?1" : "?0" },
            });
            if (isLast || !answer.ok) {
                const asset = (await this.#transport.read(answer, signal)).singleFile;
                this.#tell(item, source.size);
                return asset;
            }
            offset += bytesOf(places);
        }
    }
}
