/** Seals and opens the encrypted values of records. It is pure: keys, records and the clock come in, values go out. */

import { base64, byBytes, Fault, hex, unbase64 } from "./bytes.js";
import { digest, random } from "./crypto.js";
import { busy } from "./accountexchange.js";
import { sentFile } from "./files.js";
import { admissionOf, isWhole, mightWrite, nextStamp, readRecordManifest, recordManifest } from "./scope.js";
import { keyIDOf, kinds, open, readSealed, seal, valueContext } from "./sealing.js";
import { fieldOf, plaintextOf } from "./values.js";

/** @typedef {import("./scope.js").ZoneKeys} ZoneKeys */
/** @typedef {import("./scope.js").RecordManifest} RecordManifest */
/**
 * The version of a record that a page has seen.
 * @typedef {{ scope: string, number: number, stamp: number, hash: string }} Version
 */
/** @typedef {"changed" | "rolledBack" | "otherKey" | "otherScope" | "plain"} Kind */

const texts = Object.freeze({
    changed: "its encrypted values are not those that were saved together",
    rolledBack: "the server shows an older version than this page has seen",
    otherKey: "its encrypted values are sealed with a key that does not count in its zone",
    otherScope: "its encrypted values were sealed with keys that its zone no longer has",
    plain: "an encrypted field arrived without encryption",
});

/** The reason why a record's encrypted values are not taken. */
export class RecordFault extends Fault {
    /**
     * @param {Kind} kind
     * @param {string} recordName
     */
    constructor(kind, recordName) {
        super(`record '${recordName}': ${texts[kind]}`);
        this.kind = kind;
        this.recordName = recordName;
        this.remedy = "Fetch the record again. If this stays, the server or its data was tampered with: tell its operator";
    }
}

/** @param {any} field of an answer */
export const isSealed = (field) => field?.isEncrypted === true;

/** @param {any} record */
export const hasEncrypted = (record) => Object.values(record?.fields ?? {}).some(isSealed);

/**
 * @param {ZoneKeys} keys
 * @param {any} record
 */
const placeOf = (keys, { recordType, recordName }) => ({ place: keys.place, type: String(recordType), name: String(recordName) });

/**
 * @param {RecordManifest} manifest
 * @returns {Version}
 */
export const versionOf = ({ scope, parts, hash }) => ({ scope, number: parts.number, stamp: parts.stamp, hash });

/**
 * Reads a part of a record whose fault is that of the record.
 * @template T
 * @param {any} record
 * @param {() => T | Promise<T>} work
 */
async function reading(record, work) {
    try {
        return await work();
    } catch (error) {
        if (!(error instanceof Fault)) throw error;
        throw new RecordFault("changed", record.recordName);
    }
}

/**
 * Checks a record of an answer against its manifest, and opens its encrypted values.
 * @param {ZoneKeys} keys
 * @param {any} record
 * @param {{ asked?: string[], kept?: Version, numbersAsStrings?: boolean }} options the fields that were asked for,
 *     without which all were, and the newest version that was seen
 * @returns {Promise<{ manifest: RecordManifest, fields: { [name: string]: any } }>} the fields that are encrypted
 */
export async function openRecord(keys, record, { asked, kept, numbersAsStrings }) {
    const fault = (/** @type {Kind} */ kind) => new RecordFault(kind, record.recordName);
    const manifest = await reading(record, () => readRecordManifest(unbase64(record.nacre?.manifest ?? "", "the manifest")));
    const { parts } = manifest;
    const { scope } = keys.newest;
    if (manifest.scope !== scope) throw fault(kept?.scope === scope ? "rolledBack" : "otherScope");
    const place = placeOf(keys, record);
    const sealed = new Map();
    for (const [name, field] of Object.entries(record.fields ?? {}).filter(([, it]) => isSealed(it))) {
        sealed.set(name, await reading(record, () => readSealed(unbase64(/** @type {any} */ (field).value, "the value"))));
    }
    const hashes = new Map();
    for (const [name, { bytes }] of sealed) hashes.set(name, hex(await digest(bytes)));
    const listed = new Map(parts.files.map(({ name, roots }) => [name, roots]));
    const isLeftOut = (/** @type {string} */ name) => asked !== undefined && !asked.includes(name);
    for (const [name, roots] of listed) {
        const field = record.fields?.[name];
        if (field ? filesIn(field).length !== roots.length : !isLeftOut(name)) throw fault("changed");
    }
    await checkRecord(keys, manifest, record, { hashes, parent: record.parent?.recordName ?? "", asked: asked && new Set(asked) });
    // A zone that came again under its name has another scope, and its records begin anew.
    if (kept?.scope === scope) {
        const isOlder = parts.stamp < kept.stamp || parts.number < kept.number;
        if (isOlder || (parts.stamp === kept.stamp && manifest.hash !== kept.hash)) throw fault("rolledBack");
    }
    if (parts.fields.some(({ name }) => Object.hasOwn(record.fields ?? {}, name) && !sealed.has(name))) throw fault("plain");
    /** @type {{ [name: string]: any }} */
    const fields = {};
    for (const [name, form] of sealed) {
        const key = keys.key(form.keyID);
        if (!key) throw fault("otherKey");
        const bytes = await reading(record, async () => open(form, kinds.value, form.keyID, key.secret, await valueContext(place, name)));
        const field = fieldOf(bytes, numbersAsStrings);
        if (!field || field.type !== record.fields[name].type) throw fault("changed");
        fields[name] = { ...field, isEncrypted: true };
    }
    for (const [name, roots] of listed) {
        const field = record.fields?.[name];
        if (!field) continue;
        const files = filesIn(field).map((asset, place) => ({ ...asset, encryptionRoot: roots[place] }));
        fields[name] = { ...field, value: Array.isArray(field.value) ? files : files[0] };
    }
    return { manifest, fields };
}

/**
 * The values of a field of one file or of a list.
 * @param {any} field
 * @returns {any[]}
 */
const filesIn = ({ value }) => (Array.isArray(value) ? value : [value]);

/**
 * A record of an answer with its files changed, in copies.
 * @param {any} record
 * @param {(asset: any, field: string) => any} change
 */
function withFiles(record, change) {
    if (!record.fields) return record;
    const fields = Object.entries(record.fields).map(([name, field]) => {
        const isFile = (/** @type {any} */ value) => (value?.fileChecksum ?? value?.encryptionRoot) !== undefined;
        if (!filesIn(field).some(isFile)) return [name, field];
        const files = filesIn(field).map((value) => (isFile(value) ? change(value, name) : value));
        return [name, { ...field, value: Array.isArray(field.value) ? files : files[0] }];
    });
    return { ...record, fields: Object.fromEntries(fields) };
}

/**
 * A record of an answer without the roots that only this library may give its files: the server could give some.
 * @param {any} record
 */
export const withoutRoots = (record) => withFiles(record, ({ encryptionRoot, ...asset }) => asset);

/**
 * A record as a page gets it that cannot open its values. A sealed value that were saved back would be sealed twice.
 * Sealed files have no address, under which there are no bytes that the page could use.
 * @param {any} record
 * @param {string | undefined} manifest
 */
export async function withoutSealed(record, manifest) {
    const listed = new Set(manifest === undefined ? [] : (await readBase(record, manifest)).parts.files.map(({ name }) => name));
    const fields = Object.fromEntries(Object.entries(record.fields ?? {}).filter(([, field]) => !isSealed(field)));
    const closed = withFiles({ ...record, fields }, ({ downloadURL, ...asset }, name) => (listed.has(name) ? asset : { ...asset, downloadURL }));
    return { ...closed, manifest };
}

/**
 * Checks a manifest, and what came with it.
 * @param {ZoneKeys} keys
 * @param {RecordManifest} manifest
 * @param {any} record
 * @param {{ hashes: Map<string, string>, parent: string, asked?: Set<string> }} shown
 */
async function checkRecord(keys, manifest, record, shown) {
    const key = keys.key(manifest.parts.keyID);
    if (!key) throw new RecordFault("otherKey", record.recordName);
    if (!await isWhole(manifest, key, placeOf(keys, record), shown)) throw new RecordFault("changed", record.recordName);
    if (!await mightWrite(manifest, keys.chain, keys.logs)) throw new RecordFault("otherKey", record.recordName);
}

/**
 * Reads the manifest that a page's record has.
 * @param {any} record
 * @param {string} text
 */
export const readBase = (record, text) => reading(record, () => readRecordManifest(unbase64(text, "the manifest")));

/**
 * Reads the manifest that a save builds on. It is checked again, because a page may have kept it elsewhere. One of
 * another scope, or of a version that readers take no more, cannot be: its hash alone counts, by which the server tells
 * versions apart.
 * @param {ZoneKeys} keys
 * @param {any} record
 * @param {string} text
 */
export async function baseOf(keys, record, text) {
    const base = await readBase(record, text);
    if (base.scope !== keys.newest.scope || base.version < keys.manifest.oldest) return base;
    await checkRecord(keys, base, record, { hashes: new Map(), parent: base.parts.parent, asked: new Set() });
    return base;
}

/**
 * Seals the encrypted values of a save under the newest key, and makes the record's manifest anew from the one that was
 * read. Fields that the save leaves alone keep their hashes.
 * @param {ZoneKeys} keys
 * @param {any} record as a request has it, with plain values in its encrypted fields
 * @param {{ base?: RecordManifest, hasAllKeys: boolean, now: number }} options the manifest that was read, and whether
 *     the record comes with every key that it is to have
 * @returns {Promise<{ record: any, version: Version }>} the record to send
 */
export async function sealRecord(keys, record, { base, hasAllKeys, now }) {
    const { newest, device, manifest: { number } } = keys;
    const place = placeOf(keys, record);
    const keyID = keyIDOf(newest.scope, newest.version);
    const salt = random(32);
    /** @type {{ [name: string]: any }} */
    const fields = { ...record.fields };
    const hashes = new Map();
    for (const [name, field] of Object.entries(record.fields ?? {})) {
        if (!isSealed(field)) continue;
        if (field.value === null || field.value === undefined) {
            fields[name] = { value: null };
            continue;
        }
        const { type, bytes } = plaintextOf(field, name);
        const sealed = await seal(kinds.value, keyID, newest.secret, await valueContext(place, name), bytes, salt);
        fields[name] = { value: base64(sealed), type, isEncrypted: true, nacre: { keyID } };
        hashes.set(name, hex(await digest(sealed)));
    }
    const kept = base?.scope === newest.scope ? base.parts : undefined;
    const left = hasAllKeys ? [] : (kept?.fields ?? []).filter(({ name }) => !Object.hasOwn(fields, name));
    // Values and files of another scope can be opened by nobody, and no manifest of this one may list them.
    const ended = kept === undefined ? base?.parts : undefined;
    const lost = [...ended?.fields ?? [], ...ended?.files ?? []].filter(({ name }) => !hashes.has(name));
    for (const { name } of lost) fields[name] ??= { value: null };
    const files = (kept?.files ?? []).filter(({ name }) => !hasAllKeys && !Object.hasOwn(fields, name));
    for (const [name, field] of Object.entries(record.fields ?? {})) {
        if (isSealed(field)) continue;
        if (filesIn(field).some((file) => sentFile(file) && sentFile(file)?.keyID !== keyID)) throw busy();
        if (ended?.files.some((known) => known.name === name) && filesIn(field).some((file) => file?.fileChecksum !== undefined && !sentFile(file))) {
            throw new RecordFault("otherScope", record.recordName);
        }
        const roots = rootsOf(record, name, kept?.files.find((known) => known.name === name)?.roots);
        if (roots.length > 0) files.push({ name, roots });
    }
    const stamp = nextStamp(now, base?.parts.stamp);
    const parts = {
        keyID, number, stamp, writer: device.id, parent: parentOf(record, base),
        fields: [...left, ...[...hashes].map(([name, hash]) => ({ name, hash }))],
        files: files.sort((one, other) => byBytes(one.name, other.name)),
        admission: await admissionOf(base, { scope: newest.scope, number, stamp }, place, device, keys.isOwn),
    };
    const form = await recordManifest(parts, newest, place, device);
    const sent = { ...record, fields, nacre: { ...record.nacre, manifest: base64(form), base: base && base64(await digest(base.bytes)) } };
    return { record: sent, version: versionOf(await readRecordManifest(form)) };
}

/**
 * The roots of a field of a save: those of files that were sent for it, and of those that go back as they were answered.
 * @param {any} record
 * @param {string} name the field's
 * @param {string[]} [before] the roots of the manifest that was read
 * @returns {string[]} none for plain files, and for other values
 */
function rootsOf(record, name, before = []) {
    const files = filesIn(record.fields[name]);
    const isOld = (/** @type {any} */ file) => file?.fileChecksum !== undefined && file.receipt === undefined;
    // A page that had no keys as it read the record has no roots, and nothing tells in which order it has the files.
    if (files.length === 1 && before.length === 1 && isOld(files[0]) && files[0].encryptionRoot === undefined) return before;
    const roots = files.map((file) => sentFile(file)?.root ?? before.find((root) => root === file?.encryptionRoot));
    if (before.length > 0 && files.some((file, place) => isOld(file) && roots[place] === undefined)) {
        throw new Fault(`'${name}' has files that were read without their keys: fetch the record anew, and save it again`, "INVALID_ARGUMENTS");
    }
    const known = roots.flatMap((root) => root ?? []);
    if (known.length === 0 || known.length === files.length) return known;
    throw new Fault(`'${name}' has plain files beside encrypted ones`, "INVALID_ARGUMENTS");
}

/**
 * The name of the parent that a record has after a save; empty for none.
 * @param {any} record
 * @param {RecordManifest} [base]
 */
export function parentOf({ parent, nacre }, base) {
    if (nacre?.clearsParent) return "";
    return parent?.recordName ?? base?.parts.parent ?? "";
}
