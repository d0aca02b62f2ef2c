/** Bytes of forms, as `docs/encryption.md` has them: how they are put together and read. */

/** The reason why something of encryption is refused. `encryption.js` makes an error of the library of it. */
export class Fault extends Error {
    /** @type {string | undefined} a line on what to do */
    remedy;
    /** @type {string | undefined} the record that is refused */
    recordName;
    /** @type {Fault[] | undefined} those of the records for which a request is refused */
    all;

    /**
     * @param {string} reason
     * @param {typeof import("../constants.js").localErrorCodes[number] | "ACCESS_DENIED"} [code]
     * @param {unknown} [cause]
     */
    constructor(reason, code = "ENCRYPTION_REFUSED", cause = undefined) {
        super(reason, { cause });
        this.code = code;
    }
}

/** @param {(Uint8Array | number[])[]} parts */
export function joined(...parts) {
    const bytes = new Uint8Array(parts.reduce((count, part) => count + part.length, 0));
    let place = 0;
    for (const part of parts) {
        bytes.set(part, place);
        place += part.length;
    }
    return bytes;
}

/** @param {Uint8Array} bytes */
export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** @param {string} text hexadecimal digits */
export const unhex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/** @param {Uint8Array} bytes */
export function base64(bytes) {
    let text = "";
    for (let start = 0; start < bytes.length; start += 0x8000) text += String.fromCharCode(...bytes.subarray(start, start + 0x8000));
    return btoa(text);
}

/**
 * @param {unknown} text
 * @param {string} what names it in the fault
 */
export function unbase64(text, what) {
    try {
        return Uint8Array.from(atob(/** @type {string} */ (text)), (sign) => sign.charCodeAt(0));
    } catch {
        throw new Fault(`${what} is not base64`);
    }
}

/** @param {string} text */
export const utf8 = (text) => new TextEncoder().encode(text);

/**
 * @param {Uint8Array} bytes
 * @returns {string | undefined} nothing for bytes that are no UTF-8
 */
export function textOf(bytes) {
    try {
        return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
        return undefined;
    }
}

/**
 * Compares without telling by the time how much is equal.
 * @param {Uint8Array} one
 * @param {Uint8Array} other
 */
export function equal(one, other) {
    if (one.length !== other.length) return false;
    let difference = 0;
    for (let place = 0; place < one.length; place += 1) difference |= one[place] ^ other[place];
    return difference === 0;
}

/**
 * Puts names in the order of their bytes.
 * @param {string} one
 * @param {string} other
 */
export function byBytes(one, other) {
    const [first, second] = [hex(utf8(one)), hex(utf8(other))];
    return first < second ? -1 : first > second ? 1 : 0;
}

/** The longest `text` of a form, in bytes. */
export const textBytes = 255;
/** Bytes of a signature, which is the last part of its form. */
export const signatureBytes = 64;

/**
 * An integer, the highest byte first.
 * @param {number} value below 2^53
 * @param {number} count of bytes
 */
export function number(value, count) {
    const bytes = new Uint8Array(count);
    for (let place = count - 1, rest = value; place >= 0; place -= 1, rest = Math.floor(rest / 256)) bytes[place] = rest % 256;
    return bytes;
}

/**
 * Bytes, or a text, behind their length.
 * @param {Uint8Array | string} part
 */
export function sized(part) {
    const bytes = typeof part === "string" ? utf8(part) : part;
    if (bytes.length > 0xffff) throw new Fault("a part of a form is too long", "INVALID_ARGUMENTS");
    return joined(number(bytes.length, 2), bytes);
}

/**
 * A text of 255 bytes at most.
 * @param {string} value
 * @param {string} what names it in the error
 */
export function name(value, what) {
    const bytes = utf8(value);
    if (bytes.length > textBytes) throw new Fault(`${what} has more than ${textBytes} bytes`, "INVALID_ARGUMENTS");
    return sized(bytes);
}

/** @param {Uint8Array[]} elements */
export function listed(elements) {
    if (elements.length > 0xffff) throw new Fault("a list is too long", "INVALID_ARGUMENTS");
    return joined(number(elements.length, 2), ...elements);
}

/** Reads the parts of a form, one after the other. A fault names the form alone: one error for all. */
export class Reader {
    #bytes;
    #what;
    #place = 0;

    /**
     * @param {Uint8Array} bytes
     * @param {string} what names the form in faults
     */
    constructor(bytes, what) {
        this.#bytes = bytes;
        this.#what = what;
    }

    /** @returns {Fault} */
    get fault() {
        return new Fault(`${this.#what} cannot be read`);
    }

    /** @param {number} count */
    take(count) {
        if (count > this.#bytes.length - this.#place) throw this.fault;
        this.#place += count;
        return this.#bytes.slice(this.#place - count, this.#place);
    }

    /** @param {number} count */
    hex(count) {
        return hex(this.take(count));
    }

    /** @param {number} count of bytes */
    integer(count) {
        const value = this.take(count).reduce((sum, byte) => sum * 256 + byte, 0);
        // An honest form has no number above: logs, versions and clocks are far below.
        if (value > Number.MAX_SAFE_INTEGER) throw this.fault;
        return value;
    }

    /** A version or a generation, which begin at 1. */
    version() {
        const value = this.integer(4);
        if (value === 0) throw this.fault;
        return value;
    }

    sized() {
        return this.take(this.integer(2));
    }

    text() {
        const bytes = this.sized();
        const text = bytes.length > textBytes ? undefined : textOf(bytes);
        if (text === undefined) throw this.fault;
        return text;
    }

    name() {
        const text = this.text();
        if (text === "") throw this.fault;
        return text;
    }

    /**
     * @template T
     * @param {() => T} element reads one, of a byte at least
     */
    list(element) {
        return Array.from({ length: this.integer(2) }, element);
    }

    rest() {
        return this.take(this.#bytes.length - this.#place);
    }

    /** Nothing may follow the last part. */
    end() {
        if (this.#place !== this.#bytes.length) throw this.fault;
    }

    /**
     * Reads the suite and the kind.
     * @param {number[]} kinds
     */
    kind(...kinds) {
        const [suite, kind] = this.take(2);
        if (suite !== 1 || !kinds.includes(kind)) throw this.fault;
        return kind;
    }
}

/**
 * Checks that names rise in the order of their bytes, and so that none is there twice.
 * @param {Reader} reader
 * @param {string[]} names
 */
export function checkOrder(reader, names) {
    if (names.some((next, place) => place > 0 && byBytes(names[place - 1], next) >= 0)) throw reader.fault;
}

/**
 * An entry of a map that is an object, also where the name is one such as `__proto__`.
 * @template T
 * @param {{ [name: string]: T }} map
 * @param {string} name
 * @returns {T | undefined}
 */
export const entry = (map, name) => (Object.hasOwn(map, name) ? map[name] : undefined);

/**
 * A map with another entry. Of more than the most entries, the oldest goes.
 * @template T
 * @param {{ [name: string]: T }} map
 * @param {string} name
 * @param {T | undefined} value nothing takes the entry away
 * @param {number} max
 * @returns {{ [name: string]: T }}
 */
export function withEntry(map, name, value, max) {
    const entries = Object.entries(map).filter(([other]) => other !== name);
    if (value !== undefined && entries.length >= max) entries.shift();
    return Object.fromEntries(value === undefined ? entries : [...entries, [name, value]]);
}
