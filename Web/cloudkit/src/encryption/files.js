/** Seals the files of a zone's records chunk by chunk, and opens them. A chunk and some copies of it are in memory. */

import { base64, Fault, hex, number } from "./bytes.js";
import { context, digest, expand, extract, hmac, none } from "./crypto.js";
import { keyOf } from "./exchange.js";
import { isInvited } from "./participants.js";
import { keyIDOf, kinds, open, readSealed, seal } from "./sealing.js";
import { bucket, padded, unpadded } from "./values.js";

/** @typedef {import("./scope.js").ZoneKeys} ZoneKeys */
/** @typedef {import("./scope.js").ScopeKey} ScopeKey */
/** @typedef {import("../files.js").Source} Source */
/** @typedef {import("../transport.js").Cancelling} Cancelling */

/** Bytes of a chunk, those that a sealed one has more, and the most of a chunk that is announced to the server. */
const [chunkBytes, overhead, announcedMax] = [1 << 20, 102, 1 << 20];
const sealedBytes = chunkBytes + overhead;

/** Milliseconds for which an account without keys is taken to have none. */
const emptyMilliseconds = 60_000;

/**
 * The root and the key of each file that this page has sent, by the value that the server answered for it.
 * @type {WeakMap<object, { root: string, keyID: string }>}
 */
const sentFiles = new WeakMap();

/** @param {any} asset */
export const sentFile = (asset) => (typeof asset === "object" && asset !== null ? sentFiles.get(asset) : undefined);

/** @param {any} field of a request: whether it has a file that was sealed for it */
export const hasSentFile = (field) => [field?.value].flat().some(sentFile);

const notTheFile = () => new Fault("the file is not the one that was saved with its record");

/**
 * Bytes of a file when it is sealed.
 * @param {number} count its own
 */
const sealedCount = (count) => Math.floor(count / chunkBytes) * sealedBytes + overhead + bucket(count % chunkBytes + 1);

/**
 * The context of a zone's chunks.
 * @param {Uint8Array} place
 */
const chunkContext = (place) => context("nacre chunk", place);

/**
 * The root of a file.
 * @param {Uint8Array[]} hashes of its sealed chunks
 */
const rootOf = async (hashes) => hex(await digest(number(hashes.length, 4), ...hashes));

/**
 * What seals chunks. Equal ones are sealed the same under one key, so that an interrupted upload can go on.
 * @param {ScopeKey} key
 * @param {Uint8Array} place
 */
async function chunkSealing(key, place) {
    const saltKey = await expand(await extract(none, key.secret), await context("nacre chunk salt", place));
    const about = await chunkContext(place);
    return async (/** @type {Uint8Array} */ plain, /** @type {boolean} */ isLast) => seal(
        kinds.chunk, keyIDOf(key.scope, key.version), key.secret, about, isLast ? padded(plain) : plain, await hmac(saltKey, await digest(plain)));
}

/**
 * A file as it is sent. It is sealed twice: for its digests, and as it goes.
 * @implements {Source}
 */
export class SealedSource {
    #blob;
    #keyID;
    #sealing;
    /** @type {Promise<{ size: number, sha256: string }[]> | undefined} */
    #pieces;
    /** @type {{ number: number, bytes: Uint8Array } | undefined} the chunk that was sealed last */
    #held;
    #root = "";

    /**
     * @param {Blob} blob
     * @param {ZoneKeys} keys
     */
    constructor(blob, { newest, place }) {
        this.#blob = blob;
        this.#keyID = keyIDOf(newest.scope, newest.version);
        this.#sealing = chunkSealing(newest, place);
        this.#sealing.catch(() => {});
        this.size = sealedCount(blob.size);
    }

    /** The sealed chunks as they are announced: the server takes shorter ones, so a long one goes in two halves. */
    pieces() {
        return (this.#pieces ??= this.#announced());
    }

    async #announced() {
        const pieces = [];
        const hashes = [];
        for (let chunk = 0; chunk * chunkBytes <= this.#blob.size; chunk += 1) {
            const bytes = await this.#chunk(chunk);
            hashes.push(await digest(bytes));
            const half = bytes.length > announcedMax ? bytes.length >> 1 : bytes.length;
            for (const part of [bytes.subarray(0, half), bytes.subarray(half)]) {
                if (part.length > 0) pieces.push({ size: part.length, sha256: base64(await digest(part)) });
            }
        }
        this.#root = await rootOf(hashes);
        return pieces;
    }

    /** @param {number} number */
    async #chunk(number) {
        if (this.#held?.number === number) return this.#held.bytes;
        const start = number * chunkBytes;
        const plain = new Uint8Array(await this.#blob.slice(start, start + chunkBytes).arrayBuffer());
        const bytes = await (await this.#sealing)(plain, start + chunkBytes > this.#blob.size);
        this.#held = { number, bytes };
        return bytes;
    }

    async whole() {
        return this.read((await this.pieces()).map((_, place) => place));
    }

    /** @param {number[]} places of pieces */
    async read(places) {
        const pieces = await this.pieces();
        const parts = [];
        for (const place of places) {
            // Every chunk before the last one has two pieces.
            const bytes = await this.#chunk(place >> 1);
            const { size } = pieces[place];
            parts.push(place % 2 === 0 ? bytes.subarray(0, size) : bytes.subarray(bytes.length - size));
        }
        return new Blob(parts);
    }

    /** @param {object} asset what the server has answered for the file */
    note(asset) {
        this.#held = undefined;
        sentFiles.set(asset, { root: this.#root, keyID: this.#keyID });
    }
}

/**
 * Opens a sealed file as it comes.
 * @param {ZoneKeys} keys
 * @param {{ size: number, encryptionRoot: string }} asset with the root of a manifest that was checked
 * @param {AsyncIterable<Uint8Array>} bytes
 * @returns {Promise<Blob>} once all of it was checked
 */
export async function openFile(keys, { size, encryptionRoot }, bytes) {
    const whole = Math.floor((size - 1) / sealedBytes);
    const padding = size - whole * sealedBytes - overhead;
    if (!Number.isSafeInteger(size) || padding < 1 || bucket(padding) !== padding) throw notTheFile();
    const about = await chunkContext(keys.place);
    const hashes = [];
    const parts = [];
    let left = size;
    let chunk = new Uint8Array(Math.min(left, sealedBytes));
    let filled = 0;
    for await (const piece of bytes) {
        for (let at = 0; at < piece.length;) {
            if (left === 0) throw notTheFile();
            const part = piece.subarray(at, at + chunk.length - filled);
            chunk.set(part, filled);
            [at, filled] = [at + part.length, filled + part.length];
            if (filled < chunk.length) continue;
            left -= filled;
            hashes.push(await digest(chunk));
            parts.push(new Blob([await openChunk(keys, chunk, about, left === 0)]));
            [chunk, filled] = [new Uint8Array(Math.min(left, sealedBytes)), 0];
        }
    }
    if (left > 0 || await rootOf(hashes) !== encryptionRoot) throw notTheFile();
    return new Blob(parts);
}

/**
 * @param {ZoneKeys} keys
 * @param {Uint8Array} bytes
 * @param {Uint8Array} about
 * @param {boolean} isLast
 */
async function openChunk(keys, bytes, about, isLast) {
    try {
        const form = readSealed(bytes);
        const key = keys.key(form.keyID);
        const opened = key && await open(form, kinds.chunk, form.keyID, key.secret, about);
        const plain = opened && isLast ? unpadded(opened) : opened;
        if (plain && (isLast || plain.length === chunkBytes)) return plain;
    } catch (error) {
        if (!(error instanceof Fault)) throw error;
    }
    throw notTheFile();
}

/** Finds the keys that seal the files of a zone. */
export class FileKeys {
    #exchange;
    /** @type {WeakMap<object, number>} when an account had no keys */
    #empty = new WeakMap();

    /** @param {import("./exchange.js").Exchange} exchange */
    constructor(exchange) {
        this.#exchange = exchange;
    }

    /**
     * What makes a source of a file, or nothing where files stay plain: for an account without keys, and in a zone
     * without them if this device has seen none of the account's, or if the zone is shared. The first key would close
     * the zone's files to people who take part already.
     * @param {string} scope the database's
     * @param {any} zoneID
     * @param {boolean} makesKeys whether the save makes keys that are missing, for encrypted values
     * @param {Cancelling} options
     * @returns {Promise<((blob: Blob) => Source) | undefined>}
     */
    async sealer(scope, zoneID, makesKeys, options) {
        const { account } = await this.#exchange.opened(options);
        const isOwn = scope === "PRIVATE";
        if (((zoneID?.ownerRecordName ?? account.user) === account.user) !== isOwn) return undefined;
        if (!makesKeys && await this.#isEmpty(options)) return undefined;
        const zone = keyOf(zoneID, scope);
        const keys = await (isOwn ? this.#ownKeys(zone, makesKeys, options) : this.#keysOfOther(zone, zoneID, options));
        return keys && ((blob) => new SealedSource(blob, keys));
    }

    /**
     * @param {string} zone
     * @param {boolean} makesKeys
     * @param {Cancelling} options
     */
    async #ownKeys(zone, makesKeys, options) {
        const exchange = this.#exchange;
        if (!makesKeys && !await exchange.zoneKeys(zone, options)) {
            const { scopes } = await exchange.kept(options);
            if (Object.keys(scopes).length === 0 || await exchange.share({ zoneName: zone }, "PRIVATE", options)) return undefined;
        }
        return exchange.zoneKeysForSaving(zone, options);
    }

    /**
     * The keys of a zone of another user. Files of people who came by a share's link stay plain, since they get no keys.
     * A device that has had the zone's keys seals, or fails.
     * @param {string} zone
     * @param {any} zoneID
     * @param {Cancelling} options
     */
    async #keysOfOther(zone, zoneID, options) {
        const exchange = this.#exchange;
        try {
            return await exchange.zoneKeys(zone, options) && await exchange.zoneKeysForSaving(zone, options);
        } catch (error) {
            if (!(error instanceof Fault) || error.code !== "ENCRYPTION_KEYS_REQUIRED") throw error;
            const { sharedScopes = {} } = await exchange.kept(options);
            const hadKeys = Object.hasOwn(sharedScopes, zone);
            if (hadKeys || isInvited((await exchange.share(zoneID, "SHARED", options))?.currentUserParticipant)) throw error;
            return undefined;
        }
    }

    /**
     * Whether the account has no keys. Costs a request a minute as long as that is so.
     * @param {Cancelling} options
     */
    async #isEmpty(options) {
        const opened = await this.#exchange.opened(options);
        if (opened.own) return false;
        const now = this.#exchange.services.now();
        if (now - (this.#empty.get(opened) ?? -emptyMilliseconds) < emptyMilliseconds) return true;
        const { state } = await this.#exchange.accountState(options);
        if (state === "none") this.#empty.set(opened, now);
        return state === "none";
    }
}
