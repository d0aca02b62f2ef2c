/** Plaintexts: values of fields with their type and padding, and as the web services write them. */

import { Fault, joined, number, textOf, unbase64, base64, utf8 } from "./bytes.js";

const types = ["STRING", "BYTES", "INT64", "DOUBLE", "TIMESTAMP", "LOCATION"];
const listType = 128;
/** Seconds from 1970-01-01 to 2001-01-01. */
const epoch = 978_307_200;

/**
 * The length to which bytes are padded.
 * @param {number} count of bytes with the first one of the padding
 */
export function bucket(count) {
    if (count <= 256) return Math.ceil(count / 16) * 16;
    const step = 2 ** (Math.floor(Math.log2(count)) - 4);
    return Math.ceil(count / step) * step;
}

/** @param {Uint8Array} value */
export function padded(value) {
    const bytes = new Uint8Array(bucket(value.length + 1));
    bytes.set(value);
    bytes[value.length] = 0x80;
    return bytes;
}

/**
 * @param {Uint8Array} bytes
 * @returns {Uint8Array | undefined} nothing for bytes that `padded` does not make
 */
export function unpadded(bytes) {
    let end = bytes.length - 1;
    while (end >= 0 && bytes[end] === 0) end -= 1;
    return end >= 0 && bytes[end] === 0x80 && bucket(end + 1) === bytes.length ? bytes.subarray(0, end) : undefined;
}

/** @param {number[]} values */
function doubles(...values) {
    const view = new DataView(new ArrayBuffer(values.length * 8));
    values.forEach((value, place) => view.setFloat64(place * 8, value));
    return new Uint8Array(view.buffer);
}

/**
 * Reads as many `Double`s as the bytes must have.
 * @param {Uint8Array} bytes
 * @param {number} count
 */
function readDoubles(bytes, count) {
    if (bytes.length !== count * 8) return undefined;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    return Array.from({ length: count }, (_, place) => view.getFloat64(place * 8));
}

/** @param {string} field */
const wrong = (field) => new Fault(`the encrypted field '${field}' has a value that is not of its type`, "INVALID_ARGUMENTS");

/**
 * The bytes of one value.
 * @param {string} type
 * @param {any} value as JSON has it
 * @param {string} field
 * @returns {Uint8Array}
 */
function encoded(type, value, field) {
    const isNumber = Number.isFinite(value);
    switch (type) {
        case "STRING":
            if (typeof value === "string") return utf8(value);
            break;
        case "BYTES":
            if (typeof value === "string" && /^[A-Za-z0-9+/]*={0,2}$/.test(value) && value.length % 4 === 0) return unbase64(value, field);
            break;
        case "INT64": {
            // A text has the digits that a number would lose.
            if (!(Number.isSafeInteger(value) || (typeof value === "string" && /^-?\d{1,19}$/.test(value)))) break;
            const integer = BigInt(value);
            if (BigInt.asIntN(64, integer) !== integer) break;
            const view = new DataView(new ArrayBuffer(8));
            view.setBigInt64(0, integer);
            return new Uint8Array(view.buffer);
        }
        case "DOUBLE":
            if (isNumber) return doubles(value);
            if (typeof value === "string" && value.trim() !== "" && Number.isFinite(Number(value))) return doubles(Number(value));
            break;
        case "TIMESTAMP":
            if (isNumber) return doubles(value / 1000 - epoch);
            break;
        default: {
            // Parts that are missing become those that CLLocation calls invalid.
            const { latitude, longitude, altitude = 0, horizontalAccuracy = 0, verticalAccuracy = -1, course = -1, speed = -1 } = value ?? {};
            const seconds = (value?.timestamp ?? 0) / 1000 - epoch;
            const parts = [latitude, longitude, altitude, horizontalAccuracy, verticalAccuracy, course, speed, seconds];
            if (parts.every(Number.isFinite)) return doubles(...parts);
        }
    }
    throw wrong(field);
}

/**
 * The type of a field's value where none is given. Numbers are of two types, so theirs must be.
 * @param {any} value
 * @param {string} field
 * @returns {string}
 */
function typeOf(value, field) {
    if (typeof value === "string") return "STRING";
    if (typeof value === "object" && value !== null && "latitude" in value) return "LOCATION";
    if (Array.isArray(value) && value.length > 0) return `${typeOf(value[0], field)}_LIST`;
    throw new Fault(`the encrypted field '${field}' needs a type, such as INT64`, "INVALID_ARGUMENTS");
}

/**
 * The plaintext of a field, and its type.
 * @param {{ value: any, type?: string }} given as JSON has it
 * @param {string} field its name
 */
export function plaintextOf({ value, type: given }, field) {
    const type = given ?? typeOf(value, field);
    const isList = type.endsWith("_LIST");
    const of = isList ? type.slice(0, -5) : type;
    const place = types.indexOf(of) + 1;
    if (place === 0 && type !== "UNKNOWN_LIST") {
        throw new Fault(`the encrypted field '${field}' has type ${type}, which is never encrypted`, "INVALID_ARGUMENTS");
    }
    if (!isList) return { type, bytes: padded(joined([place], encoded(type, value, field))) };
    if (!Array.isArray(value)) throw wrong(field);
    if (type === "UNKNOWN_LIST") {
        if (value.length > 0) throw wrong(field);
        return { type, bytes: padded(Uint8Array.of(listType)) };
    }
    const elements = value.map((element) => encoded(of, element, field)).flatMap((bytes) => [number(bytes.length, 4), bytes]);
    return { type, bytes: padded(joined([listType + place], number(value.length, 4), ...elements)) };
}

/**
 * One value of its bytes.
 * @param {string} type
 * @param {Uint8Array} bytes
 * @param {boolean} numbersAsStrings
 * @returns {any} undefined for bytes that are none
 */
function decoded(type, bytes, numbersAsStrings) {
    const date = (/** @type {number} */ seconds) => Math.round((seconds + epoch) * 1000);
    switch (type) {
        case "STRING": return textOf(bytes);
        case "BYTES": return base64(bytes);
        case "INT64": {
            if (bytes.length !== 8) return undefined;
            const integer = new DataView(bytes.buffer, bytes.byteOffset, 8).getBigInt64(0);
            return numbersAsStrings ? String(integer) : Number(integer);
        }
        case "DOUBLE": {
            const [value] = readDoubles(bytes, 1) ?? [];
            return numbersAsStrings && value !== undefined ? String(value) : value;
        }
        case "TIMESTAMP": {
            const [seconds] = readDoubles(bytes, 1) ?? [];
            return seconds === undefined ? undefined : date(seconds);
        }
        default: {
            const parts = readDoubles(bytes, 8);
            if (!parts) return undefined;
            const [latitude, longitude, altitude, horizontalAccuracy, verticalAccuracy, course, speed, seconds] = parts;
            return { latitude, longitude, altitude, horizontalAccuracy, verticalAccuracy, course, speed, timestamp: date(seconds) };
        }
    }
}

/**
 * The elements of a list. Nothing is made for a count that the bytes do not have.
 * @param {Uint8Array} bytes
 */
function elementsOf(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    if (bytes.length < 4 || view.getUint32(0) > (bytes.length - 4) / 4) return undefined;
    const elements = [];
    let place = 4;
    for (let left = view.getUint32(0); left > 0; left -= 1) {
        if (place + 4 > bytes.length) return undefined;
        const end = place + 4 + view.getUint32(place);
        if (end > bytes.length) return undefined;
        elements.push(bytes.subarray(place + 4, end));
        place = end;
    }
    return place === bytes.length ? elements : undefined;
}

/**
 * The field of a plaintext.
 * @param {Uint8Array} bytes
 * @param {boolean} [numbersAsStrings]
 * @returns {{ value: any, type: string } | undefined} nothing for other bytes than `plaintextOf` makes
 */
export function fieldOf(bytes, numbersAsStrings = false) {
    const plain = unpadded(bytes);
    if (!plain) return undefined;
    const [first] = plain;
    const rest = plain.subarray(1);
    if (first === listType) return rest.length === 0 ? { value: [], type: "UNKNOWN_LIST" } : undefined;
    const type = types[(first & ~listType) - 1];
    if (!type) return undefined;
    if (first < listType) {
        const value = decoded(type, rest, numbersAsStrings);
        return value === undefined ? undefined : { value, type };
    }
    const value = elementsOf(rest)?.map((element) => decoded(type, element, numbersAsStrings));
    return !value || value.includes(undefined) ? undefined : { value, type: `${type}_LIST` };
}
