/** Keys that are sealed for public keys, and account keys. */

import { Fault, joined, number, Reader, signatureBytes, unhex } from "./bytes.js";
import { agreementKey, context, openFor, sealFor, signed } from "./crypto.js";
import { isSigned, noDevice, placeOf } from "./log.js";
import { cannotBeOpened, keyIDOf, kinds, open, readSealed, seal } from "./sealing.js";

/** @typedef {import("./crypto.js").Keys} Keys */
/** @typedef {import("./log.js").KeyLog} KeyLog */
/** @typedef {{ secret: Uint8Array, agrees: CryptoKey, agreement: string, generation: number }} AccountKey */

const wrapKinds = Object.freeze({ scope: 4, account: 5 });

/**
 * @param {number} generation
 * @param {Uint8Array} [secret]
 * @returns {Promise<AccountKey>}
 */
export const accountKeyOf = async (generation, secret) => ({ ...await agreementKey(secret), generation });

/**
 * Seals a key for a public key, signed by a device.
 * @param {"scope" | "account"} as
 * @param {string} subject a scope's key ID, or a device's ID
 * @param {{ secret: Uint8Array, key: string, fingerprint: string, generation: number, place: Uint8Array }} about
 * @param {Keys} sender
 * @param {{ agrees: CryptoKey, agreement: string }} [ephemeral]
 */
export async function wrap(as, subject, { secret, key, fingerprint, generation, place }, sender, ephemeral) {
    const head = joined([1, wrapKinds[as]], unhex(subject), unhex(fingerprint), number(generation, 4), unhex(sender.id));
    return signed(sender, joined(head, await sealFor(secret, key, await context("nacre wrap", place), head, ephemeral)));
}

/** @param {Uint8Array} bytes */
export function readWrap(bytes) {
    const reader = new Reader(bytes, "a wrap");
    const as = reader.kind(wrapKinds.scope, wrapKinds.account) === wrapKinds.scope ? "scope" : "account";
    const subject = as === "scope" ? keyIDOf(reader.hex(16), reader.version()) : reader.hex(16);
    const fingerprint = reader.hex(32);
    const generation = reader.version();
    const sender = reader.hex(16);
    const sealed = reader.take(32 + 32 + 16);
    reader.take(signatureBytes);
    reader.end();
    return { as, subject, fingerprint, generation, sender, sealed, head: bytes.slice(0, -(80 + signatureBytes)), isSignedBy: isSigned(bytes) };
}

/** @typedef {ReturnType<typeof readWrap>} Wrap */

/**
 * Opens a wrap, which an enrolled device must have signed.
 * @param {Wrap} shown
 * @param {{ agrees: CryptoKey, agreement: string }} recipient
 * @param {KeyLog} senders of the sender
 * @param {KeyLog} log of the recipient
 * @param {Uint8Array} place
 */
export async function openWrap(shown, recipient, senders, log, place) {
    const sender = senders.device(shown.sender);
    if (!sender || !await shown.isSignedBy(sender.signing)) {
        throw new Fault(`key ${shown.subject} comes from device ${shown.sender}, which is not enrolled or did not sign it`);
    }
    if (shown.fingerprint !== log.fingerprint) throw new Fault(`the key is for the account with fingerprint ${shown.fingerprint}`);
    if (shown.generation > log.generation) throw new Fault(`the key is for generation ${shown.generation} of the account key, which the log lacks`);
    return openFor(shown.sealed, recipient, await context("nacre wrap", place), shown.head).catch(() => { throw cannotBeOpened(); });
}

/**
 * Seals an account key for devices of a log and, for all of them, the recovery key.
 * @param {AccountKey} key
 * @param {KeyLog} log
 * @param {Keys} sender
 * @param {string} [only] the one device
 */
export async function accountWraps(key, log, sender, only) {
    const recipients = [...log.enrolled, { id: noDevice, agreement: log.recovery.agreement }].filter(({ id }) => only === undefined || id === only);
    const about = { secret: key.secret, fingerprint: log.fingerprint, generation: key.generation, place: placeOf(log.account) };
    const wraps = [];
    for (const { id, agreement } of recipients) wraps.push(await wrap("account", id, { ...about, key: agreement }, sender));
    return wraps;
}

/**
 * Opens the newest account key that a server shows for a device or the recovery key.
 * @param {Uint8Array[]} wraps
 * @param {{ agrees: CryptoKey, agreement: string }} recipient
 * @param {string} id the device's; `noDevice` for the recovery key
 * @param {KeyLog} log
 */
export async function openAccountKey(wraps, recipient, id, log) {
    const found = wraps.map(readWrap).find(({ as, subject }) => as === "account" && subject === id);
    if (!found) throw new Fault("the server shows no account key for this device");
    const key = await accountKeyOf(found.generation, await openWrap(found, recipient, log, log, placeOf(log.account)));
    if (key.agreement !== log.accountKeys[key.generation - 1]) throw cannotBeOpened();
    if (key.generation !== log.generation) {
        throw new Fault(`the server shows account key ${key.generation} for this device, and the log has ${log.generation}`);
    }
    return key;
}

/** @param {KeyLog} log */
const olderContext = (log) => context("nacre older account key", placeOf(log.account));

/**
 * @param {AccountKey} older
 * @param {AccountKey} key
 * @param {KeyLog} log
 */
export const sealOlderAccountKey = async (older, key, log) =>
    seal(kinds.olderKey, keyIDOf(log.fingerprint.slice(0, 32), key.generation), key.secret, await olderContext(log), older.secret);

/**
 * The account keys before one, as far as the server shows them, the newest first.
 * @param {AccountKey} newest
 * @param {Uint8Array[]} sealed
 * @param {KeyLog} log
 */
export async function openOlderAccountKeys(newest, sealed, log) {
    const older = sealed.map(readSealed);
    const keys = [];
    for (let key = newest; key.generation > 1;) {
        const id = keyIDOf(log.fingerprint.slice(0, 32), key.generation);
        const next = older.find(({ version }) => version === key.generation);
        if (!next) break;
        key = await accountKeyOf(key.generation - 1, await open(next, kinds.olderKey, id, key.secret, await olderContext(log)));
        if (key.agreement !== log.accountKeys[key.generation - 1]) throw cannotBeOpened();
        keys.push(key);
    }
    return keys;
}
