/** Arguments of methods as the parts of a request. */

import { ReferenceAction } from "./constants.js";
import { invalid } from "./error.js";

/**
 * @param {any} value one item, or an array of them
 * @returns {any[]}
 */
export const list = (value) => (Array.isArray(value) ? value : [value]);

/**
 * @param {any} value a zone's name, its ID, or a zone
 * @returns {import("../cloudkit").ZoneID}
 */
export function zoneIDOf(value) {
    const named = value?.zoneID ?? value;
    const zoneID = typeof named === "string" ? { zoneName: named } : named;
    if (typeof zoneID !== "object" || zoneID === null || typeof zoneID.zoneName !== "string" || zoneID.zoneName === "") {
        throw invalid("a zone is its name, its zoneID, or an object with a zoneID");
    }
    return zoneID;
}

/** @param {any} options */
export const zoneIDIn = (options) => (options.zoneID === undefined || options.zoneID === null ? undefined : zoneIDOf(options.zoneID));

/**
 * @param {any} value a record, or its name
 * @returns {any}
 */
export function recordOf(value) {
    const record = typeof value === "string" ? { recordName: value } : value;
    if (typeof record !== "object" || record === null || (record.recordName !== undefined && typeof record.recordName !== "string")) {
        throw invalid("a record is an object, or its name");
    }
    return record;
}

/** @param {any} value */
export function namedRecordOf(value) {
    const record = recordOf(value);
    if (!record.recordName) throw invalid("the record has no recordName");
    return record;
}

/**
 * @param {any} value a subscription, or its ID
 * @returns {{ subscriptionID: string }}
 */
export function subscriptionIDOf(value) {
    const subscriptionID = typeof value === "string" ? value : value?.subscriptionID;
    if (typeof subscriptionID !== "string") throw invalid("a subscription is an object with a subscriptionID, or the ID");
    return { subscriptionID };
}

/**
 * @param {any} value a short GUID, one with what is wanted of its root record, or the URL of a share
 * @returns {{ value: string }}
 */
export function shortGUIDOf(value) {
    const shortGUID = typeof value === "string" ? { value } : value;
    if (typeof shortGUID?.value !== "string") throw invalid("a short GUID is a text, or an object with the text as value");
    return { ...shortGUID, value: shortGUID.value.replace(/[?#].*$/, "").replace(/^.*\//, "") };
}

/** @param {any} value */
export const isFile = (value) => typeof Blob !== "undefined" && value instanceof Blob;

/** @param {any} value */
const isBytes = (value) => value instanceof ArrayBuffer || ArrayBuffer.isView(value);

/**
 * Tells a value that stands without the object that its type stands in.
 * @param {any} field
 */
function isBare(field) {
    if (typeof field !== "object") return true;
    return Array.isArray(field) || field instanceof Date || isBytes(field) || isFile(field)
        || (!("value" in field) && ["latitude", "recordName", "fileChecksum"].some((name) => name in field));
}

/**
 * A field as the object of its value and type.
 * @param {any} field
 */
export function wrapped(field) {
    return field === null || !isBare(field) ? field ?? { value: null } : { value: field };
}

/** @param {ArrayBuffer | ArrayBufferView} bytes */
export function base64(bytes) {
    const view = ArrayBuffer.isView(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : new Uint8Array(bytes);
    let text = "";
    for (let start = 0; start < view.length; start += 0x8000) text += String.fromCharCode(...view.subarray(start, start + 0x8000));
    return btoa(text);
}

/**
 * @param {any} value
 * @param {string} name the field's
 * @returns {{ value: any, type?: string }}
 */
function encodedValue(value, name) {
    if (value instanceof Date) {
        if (Number.isNaN(value.getTime())) throw invalid(`field '${name}' has a date that is not valid`);
        return { value: value.getTime(), type: "TIMESTAMP" };
    }
    if (isBytes(value)) return { value: base64(value), type: "BYTES" };
    if (typeof value === "number" && !Number.isFinite(value)) throw invalid(`field '${name}' has a number that is not finite`);
    return { value };
}

/**
 * A field as JSON has it: dates in milliseconds, bytes in base64.
 * @param {any} field
 * @param {string} name
 */
export function encodedField(field, name) {
    const { value, ...rest } = wrapped(field);
    if (!Array.isArray(value)) return { ...encodedValue(value, name), ...rest };
    const elements = value.map((element) => encodedValue(element, name));
    const type = elements[0]?.type;
    return { value: elements.map((element) => element.value), ...(type ? { type: `${type}_LIST` } : {}), ...rest };
}

/**
 * A record as a request has it. Members that only answers have are left out.
 * @param {any} record
 */
export function encodedRecord(record) {
    const { fields, pluginFields, created, modified, deleted, ...rest } = record;
    if (fields === undefined) return rest;
    if (typeof fields !== "object" || fields === null) throw invalid("the fields of a record are an object");
    const named = Object.entries(fields).filter(([, field]) => field !== undefined);
    return { ...rest, fields: Object.fromEntries(named.map(([name, field]) => [name, encodedField(field, name)])) };
}

/** @param {any} filter */
function encodedFilter(filter) {
    const { fieldName, systemFieldName, fieldValue } = filter ?? {};
    return fieldValue === undefined ? filter : { ...filter, fieldValue: encodedField(fieldValue, fieldName ?? systemFieldName) };
}

/**
 * A query whose values are as JSON has them.
 * @param {any} query
 */
export function encodedQuery(query) {
    if (typeof query?.recordType !== "string") throw invalid("a query has a recordType");
    if (query.filterBy === undefined || query.filterBy === null) return query;
    return { ...query, filterBy: list(query.filterBy).map(encodedFilter) };
}

/**
 * A reference to a record, for a field's value.
 * @param {any} record a record, or its name
 * @param {string} [action]
 */
export function toRecordReference(record, action = ReferenceAction.NONE) {
    const { recordName, zoneID } = namedRecordOf(record);
    return zoneID ? { recordName, action, zoneID } : { recordName, action };
}

/** A version 4 UUID. `crypto.randomUUID` is missing on pages without HTTPS. */
export function uuid() {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5").toUpperCase();
}
