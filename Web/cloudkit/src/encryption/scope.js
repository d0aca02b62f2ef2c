/** The scope of a zone: its signed manifests, its keys, and the manifests of its records. */

import { byBytes, checkOrder, equal, Fault, hex, joined, listed, name, number, Reader, signatureBytes, sized, unhex } from "./bytes.js";
import { context, digest, expand, extract, hmac, none, random, sign, signed } from "./crypto.js";
import { headBytes, isSigned, readHead } from "./log.js";
import { cannotBeOpened, keyIDOf, kinds, open, readSealed, seal } from "./sealing.js";
import { openWrap, readWrap, wrap } from "./wraps.js";

/** @typedef {import("./crypto.js").Keys} Keys */
/** @typedef {import("./log.js").KeyLog} KeyLog */
/** @typedef {import("./log.js").Head} Head */
/** @typedef {import("./sealing.js").RecordPlace} RecordPlace */
/** @typedef {{ scope: string, version: number, secret: Uint8Array }} ScopeKey */

const [recordKind, scopeKind] = [2, 7];
const permissions = Object.freeze({ none: 1, readWrite: 3 });
const ownerRole = 1;
const zeros = "00".repeat(32);
/** The highest stamp. */
const stampMax = Number.MAX_SAFE_INTEGER;

/**
 * The proof of a key, which tells nothing of it.
 * @param {ScopeKey} key
 */
const proofOf = async ({ scope, version, secret }) =>
    hex(await expand(await extract(none, secret), await context("nacre key proof", unhex(scope), number(version, 4))));

/** @param {Uint8Array} bytes */
export async function readScopeManifest(bytes) {
    const reader = new Reader(bytes, "a manifest of a scope");
    reader.kind(scopeKind);
    const place = joined(...[reader.name(), reader.name(), reader.name(), reader.name()].map(sized));
    const scope = reader.hex(16);
    const root = reader.text();
    const at = reader.integer(8);
    const stamp = reader.integer(8);
    const before = reader.hex(32);
    const version = reader.version();
    const oldest = reader.version();
    const proofs = reader.list(() => reader.hex(32));
    const participants = reader.list(() => {
        const [user, fingerprint, head, [permission, role]] = [reader.name(), reader.hex(32), readHead(reader), reader.take(2)];
        if (permission < 1 || permission > 3 || role < 1 || role > 4) throw reader.fault;
        return { user, fingerprint, head, permission, role };
    });
    const [link] = reader.take(1);
    if (link < 1 || link > 3 || (at === 0) !== (before === zeros) || oldest > version || proofs.length !== version - oldest + 1) throw reader.fault;
    checkOrder(reader, participants.map(({ user }) => user));
    const [signer, device] = [reader.hex(32), reader.hex(16)];
    reader.take(signatureBytes);
    reader.end();
    return {
        place, scope, root, number: at, stamp, before, version, oldest, proofs, participants, link, signer, device, isSignedBy: isSigned(bytes),
        hash: hex(await digest(bytes)),
    };
}

/** @typedef {Awaited<ReturnType<typeof readScopeManifest>>} ScopeManifest */

/** @param {ScopeManifest} manifest */
export const headOf = ({ number: at, hash }) => ({ number: at, hash });

/**
 * The proof of a version; nothing for one that readers do not take.
 * @param {ScopeManifest} manifest
 * @param {number} version
 */
const proofIn = ({ oldest, proofs }, version) => proofs[version - oldest];

/**
 * Verifies the manifests of a scope that the owner alone takes part in.
 * @param {Uint8Array[]} shown number 0 first
 * @param {Uint8Array} place
 * @param {KeyLog} log the owner's
 */
export async function readChain(shown, place, log) {
    /** @type {ScopeManifest[]} */
    const chain = [];
    for (const bytes of shown) {
        const manifest = await readScopeManifest(bytes);
        const last = chain[chain.length - 1];
        const isNewest = chain.length === shown.length - 1;
        if (!equal(manifest.place, place) || manifest.root !== "") throw new Fault("a manifest is of another scope");
        const [owner, ...others] = manifest.participants;
        if (others.length > 0 || manifest.link !== permissions.none) {
            throw new Fault("the zone is shared: CloudKit JS opens and seals encrypted values in zones that are not, for now");
        }
        const isOwner = owner?.role === ownerRole && owner.permission === permissions.readWrite && owner.user === log.account.user;
        if (!isOwner || owner.fingerprint !== log.fingerprint || manifest.signer !== log.fingerprint) {
            throw new Fault("a manifest is of another owner: compare fingerprints");
        }
        checkNext(manifest, last);
        if (log.hashAt(owner.head.number) !== owner.head.hash) throw new Fault("the log does not extend the one that a manifest was signed for");
        const device = isNewest ? log.device(manifest.device) : log.anyDevice(manifest.device);
        if (!device || !await manifest.isSignedBy(device.signing)) {
            throw new Fault(`manifest ${manifest.number} is not signed by device ${manifest.device}, or that device is not enrolled`);
        }
        chain.push(manifest);
    }
    if (chain.length === 0) throw new Fault("the scope has no manifest");
    return chain;
}

/**
 * @param {ScopeManifest} next
 * @param {ScopeManifest | undefined} last
 */
function checkNext(next, last) {
    if (next.number !== (last ? last.number + 1 : 0) || (last && next.before !== last.hash)) {
        throw new Fault(`manifest ${next.number} does not follow the newest one`);
    }
    if (!last) return;
    if (next.scope !== last.scope) throw new Fault("a manifest is of another scope");
    const isOlder = next.stamp <= last.stamp || next.version < last.version || next.oldest < last.oldest
        || next.participants[0].head.number < last.participants[0].head.number;
    if (isOlder) throw new Fault(`manifest ${next.number} goes back to an older stamp, key or log`);
    for (let version = next.oldest; version <= last.version; version += 1) {
        if (proofIn(next, version) !== proofIn(last, version)) throw new Fault(`version ${version} of the key is another than it was`);
    }
}

/** The keys that a device has for the records of one zone. */
export class ZoneKeys {
    /**
     * @param {Uint8Array} place
     * @param {ScopeManifest[]} chain
     * @param {ScopeKey[]} keys the newest first
     * @param {KeyLog} log
     * @param {Keys} device
     */
    constructor(place, chain, keys, log, device) {
        this.place = place;
        this.chain = chain;
        this.keys = keys;
        this.log = log;
        this.device = device;
    }

    get manifest() {
        return this.chain[this.chain.length - 1];
    }

    get newest() {
        return this.keys[0];
    }

    /** @param {string} keyID */
    key(keyID) {
        return this.keys.find(({ scope, version }) => keyIDOf(scope, version) === keyID);
    }

    /**
     * Whether the account has removed a device, or has another recovery key, since the newest manifest was signed.
     * @param {KeyLog} log
     */
    mustRenew(log) {
        return log.generation > log.generationAt(this.manifest.participants[0].head.number);
    }

    /**
     * Opens the keys that a server shows for a verified chain.
     * @param {{ wraps: Uint8Array[], olderKeys: Uint8Array[] }} shown
     * @param {Uint8Array} place
     * @param {ScopeManifest[]} chain
     * @param {import("./account.js").OwnKeys} own
     */
    static async open(shown, place, chain, { log, device, accountKeys }) {
        const manifest = chain[chain.length - 1];
        const subject = keyIDOf(manifest.scope, manifest.version);
        const found = shown.wraps.map(readWrap).find((it) => it.as === "scope" && it.subject === subject && it.fingerprint === log.fingerprint);
        const accountKey = accountKeys.find(({ generation }) => generation === found?.generation);
        if (!found || !accountKey) throw new Fault("the server shows no key of the zone for this account");
        const counting = async (/** @type {ScopeKey} */ key) => {
            if (await proofOf(key) !== proofIn(manifest, key.version)) throw cannotBeOpened();
            return key;
        };
        const { scope } = manifest;
        let key = await counting({ scope, version: manifest.version, secret: await openWrap(found, accountKey, log, place) });
        const keys = [key];
        const older = shown.olderKeys.map(readSealed);
        while (key.version > manifest.oldest) {
            const id = keyIDOf(scope, key.version);
            const next = older.find(({ keyID }) => keyID === id);
            if (!next) throw new Fault(`the server shows no older key under version ${key.version} of the zone's`);
            const secret = await open(next, kinds.olderKey, id, key.secret, await context("nacre older key", place));
            key = await counting({ scope, version: key.version - 1, secret });
            keys.push(key);
        }
        return new ZoneKeys(place, chain, keys, log, device);
    }
}

/**
 * Makes the first key of a zone, or the next one, as `keys/scopes/modify` takes it.
 * @param {Uint8Array} place
 * @param {import("./account.js").OwnKeys} own
 * @param {number} now milliseconds since 1970
 * @param {ZoneKeys} [last]
 */
export async function nextScopeKey(place, { log, device }, now, last) {
    const before = last?.manifest;
    /** @type {ScopeKey} */
    const key = { scope: before?.scope ?? hex(random(16)), version: (before?.version ?? 0) + 1, secret: random(32) };
    const [oldest, proofs] = [before?.oldest ?? 1, [...before?.proofs ?? [], await proofOf(key)]];
    const owner = joined(
        sized(log.account.user), unhex(log.fingerprint), headBytes(log.head), [permissions.readWrite, ownerRole]);
    const manifest = await signed(device, joined(
        [1, scopeKind], place, unhex(key.scope), sized(""), number(before ? before.number + 1 : 0, 8),
        number(Math.max(now, (before?.stamp ?? -1) + 1), 8), unhex(before?.hash ?? zeros), number(key.version, 4), number(oldest, 4),
        listed(proofs.map(unhex)), listed([owner]), [permissions.none], unhex(log.fingerprint + device.id)));
    const id = keyIDOf(key.scope, key.version);
    const about = {
        secret: key.secret, key: log.accountKeys[log.generation - 1], fingerprint: log.fingerprint, generation: log.generation, place,
    };
    const wraps = [await wrap("scope", id, about, device)];
    const older = last && await seal(kinds.olderKey, id, key.secret, await context("nacre older key", place), last.newest.secret);
    return { manifest, wraps, olderKey: older };
}

// Manifests of records

/**
 * @typedef {{
 *     keyID: string, number: number, stamp: number, writer: string, parent: string,
 *     fields: { name: string, hash: string }[], files: { name: string, roots: string[] }[],
 *     admission?: { number: number, stamp: number, device: string, signature: Uint8Array },
 * }} RecordParts
 */

/** @param {RecordParts} parts */
function recordBytes(parts) {
    const { admission } = parts;
    const fields = [...parts.fields].sort((one, other) => byBytes(one.name, other.name));
    const admissions = admission
        ? [joined(number(admission.number, 8), number(admission.stamp, 8), unhex(admission.device), admission.signature)] : [];
    return joined(
        [1, recordKind], unhex(parts.keyID), number(parts.number, 8), number(parts.stamp, 8), unhex(parts.writer), name(parts.parent, "the parent"),
        listed(fields.map((field) => joined(name(field.name, "a field"), unhex(field.hash)))),
        listed(parts.files.map((files) => joined(name(files.name, "a field"), listed(files.roots.map(unhex))))), listed(admissions));
}

/** @param {Uint8Array} bytes */
export async function readRecordManifest(bytes) {
    const reader = new Reader(bytes, "the manifest of a record");
    reader.kind(recordKind);
    const scope = reader.hex(16);
    const version = reader.version();
    const [at, stamp, writer, parent] = [reader.integer(8), reader.integer(8), reader.hex(16), reader.text()];
    const fields = reader.list(() => ({ name: reader.name(), hash: reader.hex(32) }));
    const files = reader.list(() => ({ name: reader.name(), roots: reader.list(() => reader.hex(32)) }));
    const admissions = reader.list(() => ({
        number: reader.integer(8), stamp: reader.integer(8), device: reader.hex(16), signature: reader.take(signatureBytes),
    }));
    const code = reader.take(32);
    reader.take(signatureBytes);
    reader.end();
    checkOrder(reader, fields.map((field) => field.name));
    checkOrder(reader, files.map((field) => field.name));
    const names = new Set([...fields, ...files].map((field) => field.name));
    const [admission, ...others] = admissions;
    const isLate = admission !== undefined && (admission.number > at || admission.stamp > stamp);
    if (names.size !== fields.length + files.length || files.some(({ roots }) => roots.length === 0) || others.length > 0 || isLate) {
        throw reader.fault;
    }
    /** @type {RecordParts} */
    const parts = { keyID: keyIDOf(scope, version), number: at, stamp, writer, parent, fields, files, admission };
    return { parts, scope, version, code, bytes, isSignedBy: isSigned(bytes), hash: hex(await digest(bytes)) };
}

/** @typedef {Awaited<ReturnType<typeof readRecordManifest>>} RecordManifest */

/**
 * The code of a manifest's parts.
 * @param {Uint8Array} bytes of the parts
 * @param {ScopeKey} key
 * @param {RecordPlace} record
 */
async function codeOf(bytes, key, { place, type, name: recordName }) {
    const about = await context("nacre manifest", place, type, recordName);
    return hmac(await expand(await extract(none, key.secret), about), bytes);
}

/**
 * Makes a record's manifest.
 * @param {RecordParts} parts under this key and by this writer
 * @param {ScopeKey} key
 * @param {RecordPlace} record
 * @param {Keys} writer
 */
export async function recordManifest(parts, key, record, writer) {
    const bytes = recordBytes(parts);
    return signed(writer, joined(bytes, await codeOf(bytes, key, record)));
}

/**
 * The stamp of the version after one.
 * @param {number} now
 * @param {number} [last]
 */
export function nextStamp(now, last = -1) {
    const stamp = Math.max(now, last + 1);
    if (stamp > stampMax) throw new Fault("the record has no later stamp");
    return stamp;
}

/**
 * The owner's word that a record moved into a scope, or was moved there before.
 * @param {RecordManifest | undefined} read the manifest that the writer has read
 * @param {{ scope: string, number: number, stamp: number }} next
 * @param {RecordPlace} record
 * @param {Keys} device
 */
export async function admissionOf(read, { scope, number: at, stamp }, { place, type, name: recordName }, device) {
    if (!read || (read.scope === scope && !read.parts.admission)) return undefined;
    const about = joined(unhex(scope), number(at, 8), number(stamp, 8));
    const message = await context("nacre admission", place, type, recordName, about);
    return { number: at, stamp, device: device.id, signature: await sign(device, message) };
}

/**
 * Checks a manifest against what came with it: the code, the parent, the hashes, and that nothing is missing that was
 * asked for. Files are not opened here, and not compared.
 * @param {RecordManifest} manifest
 * @param {ScopeKey} key
 * @param {RecordPlace} record
 * @param {{ hashes: Map<string, string>, parent: string, asked?: Set<string> }} shown hashes of sealed values by field
 */
export async function isWhole({ parts, code, bytes }, key, record, { hashes, parent, asked }) {
    if (parts.parent !== parent || !equal(code, await codeOf(bytes.slice(0, -(32 + signatureBytes)), key, record))) return false;
    const isLeftOut = (/** @type {string} */ field) => asked !== undefined && !asked.has(field);
    const listedCount = parts.fields.filter((field) => hashes.has(field.name)).length;
    return listedCount === hashes.size
        && parts.fields.every(({ name: field, hash }) => (hashes.has(field) ? hashes.get(field) === hash : isLeftOut(field)));
}

/**
 * Checks that the writer might write, as the manifest of the scope says that the writer had seen.
 * @param {RecordManifest} manifest
 * @param {ScopeManifest[]} chain
 * @param {KeyLog} log
 */
export async function mightWrite({ parts, version, scope, isSignedBy }, chain, log) {
    const newest = chain[chain.length - 1];
    const then = chain[parts.number];
    if (scope !== newest.scope || !then || proofIn(newest, version) === undefined || version !== then.version) return false;
    const device = log.anyDevice(parts.writer);
    const seen = then.participants[0].head.number;
    return device !== undefined && (device.removed === undefined || device.removed > seen) && isSignedBy(device.signing);
}
