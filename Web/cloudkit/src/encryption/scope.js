/** The scope of a zone: its signed manifests, its keys, and the manifests of its records. */

import { byBytes, checkOrder, equal, Fault, hex, joined, listed, name, number, Reader, signatureBytes, sized, unhex } from "./bytes.js";
import { context, digest, expand, extract, hmac, none, random, sign, signed } from "./crypto.js";
import { isSigned, readHead } from "./log.js";
import { cannotBeOpened, keyIDOf, kinds, open, readSealed, seal } from "./sealing.js";
import { openWrap, readWrap } from "./wraps.js";

/** @typedef {import("./crypto.js").Keys} Keys */
/** @typedef {import("./log.js").KeyLog} KeyLog */
/** @typedef {import("./log.js").Head} Head */
/** @typedef {import("./sealing.js").RecordPlace} RecordPlace */
/** @typedef {{ scope: string, version: number, secret: Uint8Array }} ScopeKey */

const recordKind = 2;
export const scopeKind = 7;
export const permissions = Object.freeze({ none: 1, readOnly: 2, readWrite: 3 });
export const roles = Object.freeze({ owner: 1, administrator: 2, privateUser: 3, publicUser: 4 });
export const zeros = "00".repeat(32);
/** The highest stamp. */
const stampMax = Number.MAX_SAFE_INTEGER;
/**
 * The number of a scope's manifest from which the accounts of others cause no manifest any more. The server takes 500:
 * the rest is for what the owner's account does, above all for taking participants away.
 */
export const manifestsForOthers = 400;

/**
 * The proof of a key, which tells nothing of it.
 * @param {ScopeKey} key
 */
export const proofOf = async ({ scope, version, secret }) =>
    hex(await expand(await extract(none, secret), await context("nacre key proof", unhex(scope), number(version, 4))));

/** @param {Uint8Array} bytes */
export async function readScopeManifest(bytes) {
    const reader = new Reader(bytes, "a manifest of a scope");
    reader.kind(scopeKind);
    const names = [reader.name(), reader.name(), reader.name(), reader.name()];
    const place = joined(...names.map(sized));
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
    const owners = participants.filter(({ role }) => role === roles.owner);
    const isOwned = owners.length === 1 && owners[0].user === names[2] && owners[0].permission === permissions.readWrite;
    if (!isOwned || new Set(participants.map(({ fingerprint }) => fingerprint)).size !== participants.length) throw reader.fault;
    const [signer, device] = [reader.hex(32), reader.hex(16)];
    reader.take(signatureBytes);
    reader.end();
    return {
        place, scope, root, number: at, stamp, before, version, oldest, proofs, participants, link, signer, device, isSignedBy: isSigned(bytes),
        hash: hex(await digest(bytes)),
    };
}

/** @typedef {Awaited<ReturnType<typeof readScopeManifest>>} ScopeManifest */
/** @typedef {ScopeManifest["participants"][number]} Participant */

/** @param {ScopeManifest} manifest */
export const headOf = ({ number: at, hash }) => ({ number: at, hash });

/** @param {ScopeManifest} manifest */
export const ownerOf = ({ participants }) => /** @type {Participant} */ (participants.find(({ role }) => role === roles.owner));

/**
 * @param {{ participants: Participant[] }} manifest
 * @param {string | undefined} user
 */
export const participantOf = ({ participants }, user) => participants.find((one) => one.user === user);

/**
 * @param {ScopeManifest} manifest
 * @param {string} fingerprint
 */
const accountIn = ({ participants }, fingerprint) => participants.find((one) => one.fingerprint === fingerprint);

/**
 * The permission of an account of the list. No scope that is taken here has a permission for a link.
 * @param {ScopeManifest} manifest
 * @param {string} fingerprint
 */
function permissionIn(manifest, fingerprint) {
    const one = accountIn(manifest, fingerprint);
    return one === undefined || one.role === roles.publicUser ? permissions.none : one.permission;
}

/** @param {ScopeManifest} manifest */
export const readersOf = (manifest) =>
    manifest.participants.map(({ fingerprint }) => fingerprint).filter((one) => permissionIn(manifest, one) !== permissions.none);

/**
 * Whether somebody may do less by a manifest than before.
 * @param {ScopeManifest} next
 * @param {ScopeManifest} last
 */
export const takesAway = (next, last) =>
    last.participants.some(({ fingerprint }) => permissionIn(next, fingerprint) < permissionIn(last, fingerprint));

/**
 * Whether a log is that of the user whom a manifest has with this account, and extends the one that its signer has
 * seen.
 * @param {ScopeManifest} manifest
 * @param {KeyLog} log
 */
function isSeenIn(manifest, log) {
    const one = accountIn(manifest, log.fingerprint);
    return one === undefined || (one.user === log.account.user && log.hashAt(one.head.number) === one.head.hash);
}

/**
 * The proof of a version; nothing for one that readers do not take.
 * @param {ScopeManifest} manifest
 * @param {number} version
 */
const proofIn = ({ oldest, proofs }, version) => proofs[version - oldest];

/**
 * Verifies the manifests of a zone's scope.
 * @param {Uint8Array[]} shown number 0 first
 * @param {Uint8Array} place
 * @param {KeyLog} owner the owner's newest log
 * @param {KeyLog[]} [logs] the verified logs of the other accounts that take part or did
 */
export async function readChain(shown, place, owner, logs = []) {
    const known = new Map([...logs, owner].map((log) => [log.fingerprint, log]));
    /** @type {ScopeManifest[]} */
    const chain = [];
    for (const bytes of shown) {
        const manifest = await readScopeManifest(bytes);
        const last = chain[chain.length - 1];
        if (!equal(manifest.place, place) || manifest.root !== "") throw new Fault("a manifest is of another scope");
        if (manifest.link !== permissions.none) {
            throw new Fault("the zone's keys are given away by a link: CloudKit JS opens and seals no encrypted values there, for now");
        }
        if (ownerOf(manifest).fingerprint !== owner.fingerprint) throw new Fault("a manifest is of another owner: compare fingerprints");
        if (!last && manifest.signer !== owner.fingerprint) throw new Fault("a manifest is of another owner: compare fingerprints");
        checkNext(manifest, last);
        await checkSigner(manifest, last ?? manifest, known, chain.length === shown.length - 1);
        chain.push(manifest);
    }
    const newest = chain[chain.length - 1];
    if (!newest) throw new Fault("the scope has no manifest");
    for (const { user, fingerprint } of newest.participants) {
        const log = known.get(fingerprint);
        if (log && !isSeenIn(newest, log)) throw new Fault(`the log of '${user}' does not extend the one that a manifest was signed for`);
    }
    return chain;
}

/**
 * Checks that the account of the signer might sign, and that one of its devices did.
 * @param {ScopeManifest} manifest
 * @param {ScopeManifest} before the one before, which says who may sign this one
 * @param {Map<string, KeyLog>} logs by fingerprint
 * @param {boolean} isNewest whether the device must be enrolled now. For an older manifest it is enough that it was.
 */
async function checkSigner(manifest, before, logs, isNewest) {
    const account = accountIn(before, manifest.signer);
    const maySign = account && (account.role === roles.owner || account.role === roles.administrator) && account.permission !== permissions.none;
    if (!maySign) throw new Fault(`the account with fingerprint ${manifest.signer} may not sign manifest ${manifest.number}`);
    const log = logs.get(manifest.signer);
    if (!log) throw new Fault(`the log of the account with fingerprint ${manifest.signer} is missing`);
    if (!isSeenIn(before, log)) throw new Fault("the log does not extend the one that a manifest was signed for");
    const device = isNewest ? log.device(manifest.device) : log.anyDevice(manifest.device);
    if (!device || !await manifest.isSignedBy(device.signing)) {
        throw new Fault(`manifest ${manifest.number} is not signed by device ${manifest.device}, or that device is not enrolled`);
    }
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
    // With an older head, a removed device would count again.
    const isBehind = next.participants.some(({ fingerprint, head }) => {
        const before = accountIn(last, fingerprint)?.head;
        return before && (head.number < before.number || (head.number === before.number && head.hash !== before.hash));
    });
    if (isBehind || next.stamp <= last.stamp || next.version < last.version || next.oldest < last.oldest) {
        throw new Fault(`manifest ${next.number} goes back to an older stamp, key or log`);
    }
    for (let version = next.oldest; version <= last.version; version += 1) {
        if (proofIn(next, version) !== proofIn(last, version)) throw new Fault(`version ${version} of the key is another than it was`);
    }
    if (takesAway(next, last) && next.version === last.version) throw new Fault(`manifest ${next.number} takes a permission away and keeps the key`);
}

/** The keys that a device has for the records of one zone. */
export class ZoneKeys {
    /**
     * @param {Uint8Array} place
     * @param {ScopeManifest[]} chain
     * @param {ScopeKey[]} keys the newest first
     * @param {KeyLog} log the user's own
     * @param {Keys} device
     * @param {string} sender the device that has sealed the newest key
     * @param {Map<string, KeyLog[]>} [accounts] the logs of the other accounts that take part or did, by user
     */
    constructor(place, chain, keys, log, device, sender, accounts = new Map()) {
        this.place = place;
        this.chain = chain;
        this.keys = keys;
        this.log = log;
        this.device = device;
        this.sender = sender;
        this.accounts = accounts;
    }

    get manifest() {
        return this.chain[this.chain.length - 1];
    }

    get newest() {
        return this.keys[0];
    }

    /**
     * Whether a device has sealed the newest key, or has signed the newest manifest.
     * @param {string} id
     */
    isFrom(id) {
        return this.manifest.device === id || this.sender === id;
    }

    /** Whether the zone is the user's own. */
    get isOwn() {
        return ownerOf(this.manifest).fingerprint === this.log.fingerprint;
    }

    /** Whether others have the zone's key. */
    get isShared() {
        return this.manifest.participants.length > 1;
    }

    /** Whether the newest manifest lets this user write. */
    get mayWrite() {
        return permissionIn(this.manifest, this.log.fingerprint) === permissions.readWrite;
    }

    /** The logs of all accounts that take part or did. */
    get logs() {
        return [this.log, ...[...this.accounts.values()].flat()];
    }

    /** The newest logs of the other accounts, by user. */
    get newestLogs() {
        return new Map([...this.accounts].filter(([, logs]) => logs.length > 0).map(([user, logs]) => [user, logs[logs.length - 1]]));
    }

    /** @param {string} keyID */
    key(keyID) {
        return this.keys.find(({ scope, version }) => keyIDOf(scope, version) === keyID);
    }

    /**
     * Whether the zone needs another key before anything is saved: an account that takes part has removed a device, or
     * has another recovery key, since the newest manifest was signed. Late in a scope that is the owner's alone.
     * @param {KeyLog} log the owner's newest
     */
    mustRenew(log) {
        return this.hasOlderKey(this.manifest.number < manifestsForOthers ? [log, ...this.newestLogs.values()] : [log]);
    }

    /** @param {KeyLog[]} logs */
    hasOlderKey(logs) {
        return logs.some((log) => {
            const one = accountIn(this.manifest, log.fingerprint);
            return one !== undefined && log.generation > log.generationAt(one.head.number);
        });
    }

    /**
     * Opens the keys that a server shows for a verified chain.
     * @param {{ wraps: Uint8Array[], olderKeys: Uint8Array[] }} shown
     * @param {Uint8Array} place
     * @param {ScopeManifest[]} chain
     * @param {import("./account.js").OwnKeys} own
     * @param {{ owner?: KeyLog, accounts?: Map<string, KeyLog[]> }} others the log of the zone's owner, without which
     *     that is the user, and those of the other accounts
     */
    static async open(shown, place, chain, { log, device, accountKeys }, { owner = log, accounts } = {}) {
        const manifest = chain[chain.length - 1];
        if (permissionIn(manifest, log.fingerprint) === permissions.none) throw noKeysOfShare();
        const subject = keyIDOf(manifest.scope, manifest.version);
        const found = shown.wraps.map(readWrap).find((it) => it.as === "scope" && it.subject === subject && it.fingerprint === log.fingerprint);
        const accountKey = accountKeys.find(({ generation }) => generation === found?.generation);
        if (!found || !accountKey) throw new Fault("the server shows no key of the zone for this account");
        const counting = async (/** @type {ScopeKey} */ key) => {
            if (await proofOf(key) !== proofIn(manifest, key.version)) throw cannotBeOpened();
            return key;
        };
        const { scope } = manifest;
        let key = await counting({ scope, version: manifest.version, secret: await openWrap(found, accountKey, owner, log, place) });
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
        return new ZoneKeys(place, chain, keys, log, device, found.sender, accounts);
    }
}

/** The zone is another user's, whose devices have not signed this user as a participant, or not yet. */
export const noKeysOfShare = () => new Fault("the zone's owner has not given this user the keys of its encrypted values yet: a device of the owner "
    + "does that when it next saves or fetches the share, or saves an encrypted value", "ENCRYPTION_KEYS_REQUIRED");

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
 * @param {boolean} isOwner whether the device is the owner's. Others keep the word that they have read.
 */
export async function admissionOf(read, { scope, number: at, stamp }, { place, type, name: recordName }, device, isOwner) {
    if (!read || (read.scope === scope && !read.parts.admission)) return undefined;
    if (!isOwner) {
        if (read.scope !== scope) throw new Fault(`record '${recordName}' was sealed with other keys, and only its owner moves it`);
        return read.parts.admission;
    }
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
 * @param {KeyLog[]} logs of all accounts that take part or did. A device from before a reset is in two of an account's.
 */
export async function mightWrite({ parts, version, scope, isSignedBy }, chain, logs) {
    const newest = chain[chain.length - 1];
    const then = chain[parts.number];
    if (scope !== newest.scope || !then || proofIn(newest, version) === undefined || version !== then.version) return false;
    for (const log of logs) {
        const device = log.anyDevice(parts.writer);
        const one = accountIn(then, log.fingerprint);
        if (!device || !one || permissionIn(then, log.fingerprint) !== permissions.readWrite) continue;
        if (!isSeenIn(newest, log) || !isSeenIn(then, log)) continue;
        const isEnrolled = device.removed === undefined || device.removed > one.head.number;
        if (isEnrolled && await isSignedBy(device.signing)) return true;
    }
    return false;
}
