/** The primitives of `docs/encryption.md` over WebCrypto. */

import { equal, Fault, hex, joined, number, sized, unhex, utf8 } from "./bytes.js";

/** @returns {SubtleCrypto} */
function subtle() {
    const found = globalThis.crypto?.subtle;
    if (!found) throw new Fault("this page has no WebCrypto, which encrypted values need: it takes HTTPS or localhost", "ENCRYPTION_KEYS_REQUIRED");
    return found;
}

/**
 * Runs what needs Ed25519 or X25519.
 * @template T
 * @param {() => Promise<T>} work
 */
async function onCurve(work) {
    try {
        return await work();
    } catch (error) {
        if (/** @type {any} */ (error)?.name !== "NotSupportedError") throw error;
        throw new Fault("this browser or runtime has no Ed25519 and X25519 in its WebCrypto: update it", "ENCRYPTION_KEYS_REQUIRED");
    }
}

/** @param {number} count of bytes */
export const random = (count) => crypto.getRandomValues(new Uint8Array(count));

/** @param {Uint8Array[]} parts */
export const digest = async (...parts) => new Uint8Array(await subtle().digest("SHA-256", joined(...parts)));

/**
 * @param {Uint8Array} key nothing in it is the key of zeros
 * @param {Uint8Array} message
 */
export async function hmac(key, message) {
    const zeros = key.length === 0 ? new Uint8Array(32) : key;
    const made = await subtle().importKey("raw", zeros, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    return new Uint8Array(await subtle().sign("HMAC", made, message));
}

/**
 * HKDF-Extract.
 * @param {Uint8Array} salt
 * @param {Uint8Array} secret
 */
export const extract = (salt, secret) => hmac(salt, secret);

/** No salt. */
export const none = new Uint8Array();

/**
 * HKDF-Expand.
 * @param {Uint8Array} secret
 * @param {Uint8Array} info
 * @param {number} [count] 64 at most
 */
export async function expand(secret, info, count = 32) {
    const first = await hmac(secret, joined(info, [1]));
    return count <= 32 ? first.slice(0, count) : joined(first, await hmac(secret, joined(first, info, [2]))).slice(0, count);
}

/**
 * The hash of a label and parts, each behind its length.
 * @param {string} label
 * @param {(Uint8Array | string)[]} parts
 */
export const context = (label, ...parts) => digest(sized(label), ...parts.map(sized));

const nonce = new Uint8Array(12);

/**
 * @param {Uint8Array} key
 * @param {Uint8Array} plaintext
 * @param {Uint8Array} associated
 * @param {Uint8Array} [iv] zeros, because each key is used once
 */
export async function encrypt(key, plaintext, associated, iv = nonce) {
    const made = await subtle().importKey("raw", key, "AES-GCM", false, ["encrypt"]);
    return new Uint8Array(await subtle().encrypt({ name: "AES-GCM", iv, additionalData: associated }, made, plaintext));
}

/**
 * @param {Uint8Array} key
 * @param {Uint8Array} ciphertext
 * @param {Uint8Array} associated
 * @param {Uint8Array} [iv]
 * @returns {Promise<Uint8Array>} rejects if it does not open
 */
export async function decrypt(key, ciphertext, associated, iv = nonce) {
    const made = await subtle().importKey("raw", key, "AES-GCM", false, ["decrypt"]);
    return new Uint8Array(await subtle().decrypt({ name: "AES-GCM", iv, additionalData: associated }, made, ciphertext));
}

// Pairs of keys

/**
 * The two pairs of a device or a recovery key. Public keys and the ID are in hexadecimal.
 * @typedef {{ signs: CryptoKey, agrees: CryptoKey, signing: string, agreement: string, id: string }} Keys
 */

/** @typedef {{ signing: string, agreement: string }} PublicKeys */

/**
 * The ID of a device.
 * @param {PublicKeys} keys
 */
export const deviceID = async ({ signing, agreement }) => hex((await context("nacre device", unhex(signing), unhex(agreement))).slice(0, 16));

/**
 * Makes the keys of a device.
 * @param {boolean} extractable whether a script can read the private ones
 * @returns {Promise<Keys>}
 */
export function makeKeys(extractable) {
    return onCurve(async () => {
        const pair = async (/** @type {string} */ name, /** @type {KeyUsage[]} */ usages) => {
            const made = /** @type {CryptoKeyPair} */ (await subtle().generateKey({ name }, extractable, usages));
            return { secret: made.privateKey, known: hex(new Uint8Array(await subtle().exportKey("raw", made.publicKey))) };
        };
        const signer = await pair("Ed25519", ["sign", "verify"]);
        const agreer = await pair("X25519", ["deriveBits"]);
        const known = { signing: signer.known, agreement: agreer.known };
        return { ...known, signs: signer.secret, agrees: agreer.secret, id: await deviceID(known) };
    });
}

/**
 * The private key of 32 bytes, and its public one.
 * @param {"Ed25519" | "X25519"} name
 * @param {Uint8Array} secret
 */
function pairOf(name, secret) {
    return onCurve(async () => {
        const isSigner = name === "Ed25519";
        const form = joined(unhex(`302e020100300506032b65${isSigner ? "70" : "6e"}04220420`), secret);
        const key = await subtle().importKey("pkcs8", form, { name }, true, [isSigner ? "sign" : "deriveBits"]);
        const { x = "" } = await subtle().exportKey("jwk", key);
        const known = Uint8Array.from(atob(x.replace(/-/g, "+").replace(/_/g, "/")), (sign) => sign.charCodeAt(0));
        return { key, known: hex(known) };
    });
}

/**
 * The keys of two secrets of 32 bytes.
 * @param {Uint8Array} signs
 * @param {Uint8Array} agrees
 * @returns {Promise<Keys>}
 */
export async function keysOf(signs, agrees) {
    const [signer, agreer] = [await pairOf("Ed25519", signs), await pairOf("X25519", agrees)];
    const known = { signing: signer.known, agreement: agreer.known };
    return { ...known, signs: signer.key, agrees: agreer.key, id: await deviceID(known) };
}

/**
 * The two secrets of keys that were made extractable, one behind the other.
 * @param {Keys} keys
 */
export async function secretsOf({ signs, agrees }) {
    const secret = async (/** @type {CryptoKey} */ key) => new Uint8Array(await subtle().exportKey("pkcs8", key)).slice(-32);
    return joined(await secret(signs), await secret(agrees));
}

/**
 * A key for agreement alone, such as an account key.
 * @param {Uint8Array} [secret]
 */
export async function agreementKey(secret = random(32)) {
    const { key, known } = await pairOf("X25519", secret);
    return { secret, agrees: key, agreement: known };
}

/**
 * @param {{ signs: CryptoKey }} keys
 * @param {Uint8Array} message
 */
export const sign = async ({ signs }, message) => new Uint8Array(await subtle().sign("Ed25519", signs, message));

/**
 * A form with its signature.
 * @param {{ signs: CryptoKey }} keys
 * @param {Uint8Array} form
 */
export const signed = async (keys, form) => joined(form, await sign(keys, form));

/** Public keys of Ed25519 of small order without their highest bit: anybody can sign for one. */
const smallOrders = new Set([
    "00".repeat(32), `01${"00".repeat(31)}`, "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a", ...["ec", "ed", "ee"].map((first) => `${first}${"ff".repeat(30)}7f`),
]);

/**
 * @param {string} key
 * @param {Uint8Array} signature
 * @param {Uint8Array} message
 * @returns {Promise<boolean>}
 */
export function verifies(key, signature, message) {
    return onCurve(async () => {
        try {
            const made = await subtle().importKey("raw", unhex(key), { name: "Ed25519" }, true, ["verify"]);
            return await subtle().verify("Ed25519", made, signature, message);
        } catch (error) {
            if (/** @type {any} */ (error)?.name === "NotSupportedError") throw error;
            return false;
        }
    });
}

/**
 * The secret of a private and a public key. Rejects for a key of small order.
 * @param {CryptoKey} agrees
 * @param {string} key
 */
function agreed(agrees, key) {
    return onCurve(async () => {
        const other = await subtle().importKey("raw", unhex(key), { name: "X25519" }, true, []);
        const secret = new Uint8Array(await subtle().deriveBits({ name: "X25519", public: other }, agrees, 256));
        if (equal(secret, new Uint8Array(32))) throw new Fault("a key is of small order");
        return secret;
    });
}

/**
 * Checks a key that others are to seal for.
 * @param {string} key
 */
export async function checkAgreement(key) {
    const { agrees } = await agreementKey(new Uint8Array(32).fill(1));
    await agreed(agrees, key).catch((error) => {
        if (error instanceof Fault && error.code !== "ENCRYPTION_REFUSED") throw error;
        throw new Fault("a key is not one of X25519, or is of small order");
    });
}

/**
 * Checks both public keys of a device or a recovery key.
 * @param {PublicKeys} keys
 */
export async function checkKeys({ signing, agreement }) {
    const bytes = unhex(signing);
    bytes[31] &= 0x7f;
    if (smallOrders.has(hex(bytes))) throw new Fault("a key is not one of Ed25519, or is of small order");
    await checkAgreement(agreement);
}

// HPKE: RFC 9180, base mode, X25519, HKDF-SHA-256, AES-256-GCM

const kem = joined(utf8("KEM"), [0, 0x20]);
const suite = joined(utf8("HPKE"), [0, 0x20, 0, 1, 0, 2]);
const version = utf8("HPKE-v1");

/**
 * The key and the nonce of one message.
 * @param {Uint8Array} shared
 * @param {Uint8Array} parties
 * @param {Uint8Array} info
 */
async function messageKey(shared, parties, info) {
    const labelled = (/** @type {Uint8Array} */ of, /** @type {Uint8Array} */ salt, /** @type {string} */ label, /** @type {Uint8Array} */ secret) =>
        extract(salt, joined(version, of, utf8(label), secret));
    const expanded = (/** @type {Uint8Array} */ of, /** @type {Uint8Array} */ key, /** @type {string} */ label, /** @type {Uint8Array} */ about,
        /** @type {number} */ count) => expand(key, joined(number(count, 2), version, of, utf8(label), about), count);
    const secret = await expanded(kem, await labelled(kem, none, "eae_prk", shared), "shared_secret", parties, 32);
    const about = joined([0], await labelled(suite, none, "psk_id_hash", none), await labelled(suite, none, "info_hash", info));
    const base = await labelled(suite, secret, "secret", none);
    return { key: await expanded(suite, base, "key", about, 32), iv: await expanded(suite, base, "base_nonce", about, 12) };
}

/**
 * Seals for a public key.
 * @param {Uint8Array} secret
 * @param {string} recipient
 * @param {Uint8Array} info
 * @param {Uint8Array} associated
 * @param {{ agrees: CryptoKey, agreement: string }} [ephemeral]
 * @returns {Promise<Uint8Array>} the encapsulated key and the ciphertext
 */
export async function sealFor(secret, recipient, info, associated, ephemeral) {
    const { agrees, agreement } = ephemeral ?? await agreementKey();
    const parties = unhex(agreement + recipient);
    const { key, iv } = await messageKey(await agreed(agrees, recipient), parties, info);
    return joined(unhex(agreement), await encrypt(key, secret, associated, iv));
}

/**
 * Opens what `sealFor` has sealed.
 * @param {Uint8Array} sealed
 * @param {{ agrees: CryptoKey, agreement: string }} recipient
 * @param {Uint8Array} info
 * @param {Uint8Array} associated
 */
export async function openFor(sealed, { agrees, agreement }, info, associated) {
    const encapsulated = sealed.slice(0, 32);
    const { key, iv } = await messageKey(await agreed(agrees, hex(encapsulated)), joined(encapsulated, unhex(agreement)), info);
    return decrypt(key, sealed.slice(32), associated, iv);
}
