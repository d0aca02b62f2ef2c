/** Sealed values, and keys that are sealed under other keys: kinds 1, 6, 8 and 9. */

import { equal, Fault, hex, joined, number, Reader, unhex } from "./bytes.js";
import { context, decrypt, encrypt, expand, extract, random } from "./crypto.js";

export const kinds = Object.freeze({ value: 1, olderKey: 6, chunk: 8, link: 9 });

/**
 * The one error of all that cannot be opened.
 * @returns {Fault}
 */
export const cannotBeOpened = () => new Fault("it cannot be opened");

/**
 * The name of a key: 40 hexadecimal digits.
 * @param {string} scope
 * @param {number} version
 */
export const keyIDOf = (scope, version) => scope + hex(number(version, 4));

/**
 * @param {number} kind
 * @param {string} keyID
 * @param {Uint8Array} key
 * @param {Uint8Array} about the context
 * @param {Uint8Array} plaintext
 * @param {Uint8Array} [salt]
 */
export async function seal(kind, keyID, key, about, plaintext, salt = random(32)) {
    const both = await expand(await extract(salt, key), about, 64);
    const head = joined([1, kind], unhex(keyID), salt, both.slice(32));
    return joined(head, await encrypt(both.slice(0, 32), plaintext, head));
}

/**
 * Reads a form without opening it.
 * @param {Uint8Array} bytes
 */
export function readSealed(bytes) {
    const reader = new Reader(bytes, "a sealed value");
    const kind = reader.kind(kinds.value, kinds.olderKey, kinds.chunk, kinds.link);
    const scope = reader.hex(16);
    const version = reader.version();
    const salt = reader.take(32);
    const commitment = reader.take(32);
    const ciphertext = reader.rest();
    if (ciphertext.length < 16) throw reader.fault;
    return { kind, keyID: keyIDOf(scope, version), version, salt, commitment, ciphertext, head: bytes.slice(0, 86), bytes };
}

/** @typedef {ReturnType<typeof readSealed>} Sealed */

/**
 * @param {Sealed} sealed
 * @param {number} kind
 * @param {string} keyID
 * @param {Uint8Array} key
 * @param {Uint8Array} about the context
 * @returns {Promise<Uint8Array>} the plaintext
 */
export async function open(sealed, kind, keyID, key, about) {
    if (sealed.kind !== kind || sealed.keyID !== keyID) throw cannotBeOpened();
    const both = await expand(await extract(sealed.salt, key), about, 64);
    if (!equal(both.slice(32), sealed.commitment)) throw cannotBeOpened();
    return decrypt(both.slice(0, 32), sealed.ciphertext, sealed.head).catch(() => { throw cannotBeOpened(); });
}

/**
 * The context of a field's value.
 * @param {RecordPlace} record
 * @param {string} field
 */
export const valueContext = ({ place, type, name }, field) => context("nacre value", place, type, name, field);

/** @typedef {{ place: Uint8Array, type: string, name: string }} RecordPlace */
