/// Databases as the admin API shows them: queries, records, zones, schemas. What a page asks twice is here once.

import { api } from "./api.js";
import { readSchema } from "./ckdb.js";

/// A database: `{ container, environment, database, user }`, in a shared one with the `owner` of the zone that is asked for.
const place = ({ container, environment, database, user }) => ({ container, environment, database, ...(database === "public" ? {} : { user }) });

/// What CloudKit answers to a request in a database.
export async function answer(path, place, request, options) {
    return JSON.parse((await api.post(path, { ...place, request: JSON.stringify(request) }, options)).answer);
}

/// Marks the files of a record that its manifest lists as sealed, as encrypted values are marked. Answers the record.
/// docs/encryption.md has the manifest: fixed parts, the parent, names with a hash, and names with a list of hashes.
export function sealed(record) {
    const bytes = Uint8Array.from(atob(record.nacre?.manifest ?? ""), (one) => one.charCodeAt());
    let at = 54;
    const number = () => bytes[at++] << 8 | bytes[at++];
    const name = (end = number() + at) => new TextDecoder().decode(bytes.subarray(at, at = end));
    const times = (body) => { for (let left = number(); left-- > 0;) body(); };
    name();
    times(() => { name(); at += 32; });
    times(() => {
        const held = record.fields?.[name()];
        if (held?.value) held.isEncrypted = true;
        at += 32 * number();
    });
    return record;
}

/// A record or zone of an answer; throws what stands in its place. `onConflict` are other words for a conflict.
export function taken(one, onConflict) {
    const { reason, serverErrorCode: code, nacre } = one;
    if (!code) return one;
    throw Object.assign(new Error(reason), { reason, code, remedy: nacre?.remedy, field: nacre?.field, ...(code === "CONFLICT" ? onConflict : {}) });
}

/// Asks for the manifests of records too.
const details = { nacre: { details: true } };

/// A page of a query: `{ records, marker, lines }`. `withoutIndexes` also finds what no index allows apps to ask for.
export async function query(of, request, { withoutIndexes, ...options } = {}) {
    const found = await api.post("query/explain", { ...place(of), request: JSON.stringify({ ...request, ...details }), showsRecords: true, ...(withoutIndexes
        ? { withoutIndexes } : {}) }, options);
    const { records, continuationMarker: marker } = JSON.parse(found.answer);
    return { records: records.map(sealed), marker, lines: found.lines };
}

/// A record; null if there is none.
export async function lookup(of, recordName, zone, options) {
    const request = { ...inZone(zone, of.owner), ...details, records: [{ recordName }] };
    const [found] = (await answer("records/lookup", place(of), request, options)).records;
    return found.serverErrorCode === "NOT_FOUND" ? null : { zoneID: zoneID(zone, of.owner), ...sealed(taken(found)) };
}

/// The zone that a request names. Answers to a request of one zone do not name it again.
const zoneID = (zone, ownerRecordName) => ({ zoneName: zone || "_defaultZone", ownerRecordName });

const inZone = (zone, ownerRecordName) => (zone && zone !== "_defaultZone" ? { zoneID: zoneID(zone, ownerRecordName) } : {});

/// Saves or deletes records of one zone; answers each record or its error. In a public database it does so in the name of `of.author`.
export async function modify(of, operations, zone, options) {
    const request = { ...inZone(zone, of.owner), ...details, operations };
    const user = of.database === "public" ? { user: of.author } : {};
    const { records } = await answer("records/modify", { ...place(of), ...user }, request, options);
    return records.map((one) => ({ zoneID: zoneID(zone, of.owner), ...sealed(one) }));
}

/// The answer with the bytes of a file of a record; `at` is `{ zone, record, field, index }`.
export const file = (of, at, options) => api.file("assets/content", { ...place(of), owner: of.owner, ...at }, options);

/// Sends a file for a field, in the name of `of.author` in a public database; the value that a save puts there.
export async function sendFile(of, { zone, record, recordType, field }, file, options) {
    const sent = await api.send("assets/upload", { ...place(of), user: of.author ?? of.user, zone, owner: of.owner, record, recordType, field },
        file, options);
    return JSON.parse(sent.answer).singleFile;
}

export async function zones(of, options) {
    return (await answer("zones/list", place(of), {}, options)).zones;
}

/// A page of a zone's feed: `{ records, syncToken, moreComing }`.
export async function changes(of, zone, syncToken, options) {
    const request = { zones: [{ zoneID: { zoneName: zone, ownerRecordName: of.owner }, ...(syncToken ? { syncToken } : {}), resultsLimit: 100 }] };
    return taken((await answer("zones/changes", place(of), request, options)).zones[0]);
}

/// The schema of a place, read: with its text, version and which indexes are built.
export async function schema({ container, environment }, options) {
    const answer = await api.get("schema", { container, environment }, options);
    return { ...answer, ...readSchema(answer.text) };
}

/// What to take for an answer if a user has not opened the container, so that nothing is theirs there; throws every other error.
export const orNothing = (nothing) => (error) => {
    if (error.code !== "NOT_FOUND" || error.field !== "user" || !/has no name/.test(error.reason)) throw error;
    return nothing;
};

/// Types that a query may ask for.
export const isAsked = (type) => type.name !== "Users" && type.name !== "cloudkit.share";

/// The addresses of accounts, for fields that take a user.
export async function accounts(options) {
    const { list } = await api.all("users", {}, "users", options);
    return list.filter((user) => !user.isDeleted).map((user) => user.email).sort();
}
