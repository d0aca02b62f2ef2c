/// Queries as code: Swift, CloudKit JS, curl and nacre.

import { print, request, schemaName } from "./predicate.js";
import { here } from "./router.js";
import { store } from "./store.js";
import { empty, linkButton } from "./ui.js";

/// A text as one word of a shell.
export const shell = (text) => `'${String(text).replaceAll("'", "'\\''")}'`;
const swift = (text) => `"${String(text).replace(/["\\]/g, "\\$&").replaceAll("\n", "\\n")}"`;

const swiftZone = (zone, owner) => `CKRecordZone.ID(zoneName: ${swift(zone)}${owner ? `, ownerName: ${swift(owner)}` : ""})`;

/// `[title, text]` of a query `{ container, environment, database, zone, owner, type, conditions, sort, fields }`.
export function ofQuery(query) {
    const { container, environment, database, zone, owner, type, conditions, sort } = query;
    const body = request({ ...query, limit: 100 });
    const near = conditions.filter((one) => one.operator === "NEAR");
    const others = conditions.filter((one) => one.operator !== "NEAR");
    const format = [...(others.length ? [print(others)] : []),
        ...near.map((one) => `distanceToLocation:fromLocation:(${one.field}, %@) < ${one.value[2] ?? 1000}`)].join(" AND ");
    const predicate = format === "" ? "NSPredicate(value: true)"
        : `NSPredicate(format: ${swift(format)}${near.map((one) => `, CLLocation(latitude: ${one.value[0]}, longitude: ${one.value[1]})`).join("")})`;
    const key = sort?.replace(/^-/, "");
    const zoneLine = zone && zone !== "*" && zone !== "_defaultZone" ? `, inZoneWith: ${swiftZone(zone, owner)}` : "";
    return [
        ["Swift", [
            `let database = CKContainer(identifier: ${swift(container)}).${database}CloudDatabase`,
            `let query = CKQuery(recordType: ${swift(type)}, predicate: ${predicate})`,
            ...(sort ? [`query.sortDescriptors = [NSSortDescriptor(key: ${swift(key)}, ascending: ${!sort.startsWith("-")})]`] : []),
            `let (results, cursor) = try await database.records(matching: query${zoneLine})`].join("\n")],
        ["JavaScript", [
            `const database = CloudKit.getContainer(${JSON.stringify(container)}).${database}CloudDatabase;`,
            `const answer = await database.performQuery(${JSON.stringify(body.query, null, 4)}, ${JSON.stringify({ ...(body.zoneID ? { zoneID: body.zoneID } : {}), ...(body.zoneWide ? { zoneWide: true } : {}), resultsLimit: 100 })});`].join("\n")],
        ["curl", [
            `curl -sS -H "Authorization: Bearer $CLOUDKIT_ACCOUNT_TOKEN" \\`,
            `    "$CLOUDKIT_SERVER_URL/database/1/${container}/${environment}/${database}/records/query" \\`,
            `    --data ${shell(JSON.stringify(body))}`].join("\n")],
        ["nacre", ["nacre record query", `--container ${container} --environment ${environment} --database ${database}`,
            ...(zone && zone !== "*" ? [`--zone ${shell(zone)}`] : []), ...(owner ? [`--owner ${owner}`] : []),
            ...(body.query.filterBy ?? []).map((filter) => `--filter ${shell(`${filter.fieldName ?? "*"} ${filter.comparator} ${filter.comparator === "NEAR"
                ? `${filter.fieldValue.value.latitude},${filter.fieldValue.value.longitude},${filter.distance}`
                    : typeof filter.fieldValue.value === "object" || filter.fieldValue.type === "TIMESTAMP"
                    ? JSON.stringify(filter.fieldValue) : filter.fieldValue.value}`)}`),
            ...(sort ? [`--sort ${shell(`${schemaName(key)} ${sort.startsWith("-") ? "DESC" : "ASC"}`)}`] : []), shell(type)].join(" \\\n    ")],
    ];
}

/// `[title, text]` of one record.
export function ofRecord({ container, environment, database, record }) {
    const zone = record.zoneID?.zoneName;
    const isCustom = zone && zone !== "_defaultZone";
    const owner = database === "shared" ? record.zoneID?.ownerRecordName : undefined;
    const body = { ...(isCustom ? { zoneID: { zoneName: zone, ownerRecordName: owner } } : {}), records: [{ recordName: record.recordName }] };
    return [
        ["Swift", [
            `let database = CKContainer(identifier: ${swift(container)}).${database}CloudDatabase`,
            `let recordID = CKRecord.ID(recordName: ${swift(record.recordName)}${isCustom ? `, zoneID: ${swiftZone(zone, owner)}` : ""})`,
            "let record = try await database.record(for: recordID)"].join("\n")],
        ["JavaScript", [
            `const database = CloudKit.getContainer(${JSON.stringify(container)}).${database}CloudDatabase;`,
            `const answer = await database.fetchRecords([${JSON.stringify(record.recordName)}]${isCustom ? `, ${JSON.stringify({ zoneID: body.zoneID })}` : ""});`].join("\n")],
        ["curl", [
            `curl -sS -H "Authorization: Bearer $CLOUDKIT_ACCOUNT_TOKEN" \\`,
            `    "$CLOUDKIT_SERVER_URL/database/1/${container}/${environment}/${database}/records/lookup" \\`,
            `    --data ${shell(JSON.stringify(body))}`].join("\n")],
        ["nacre", ["nacre record get", `--container ${container} --environment ${environment} --database ${database}`,
            ...(isCustom ? [`--zone ${shell(zone)}`] : []), ...(owner ? [`--owner ${owner}`] : []), shell(record.recordName)].join(" \\\n    ")],
    ];
}

/// The lines that save a first record: for screens that are empty.
export function firstRecord({ container, environment }) {
    return [
        ["Swift", [`// The app asks this server: CLOUDKIT_SERVER_URL=${store.server.get()?.publicURL ?? ""}`,
            `let database = CKContainer(identifier: ${swift(container)}).privateCloudDatabase`, `let note = CKRecord(recordType: "Note")`,
            `note["text"] = "Hello"`, "try await database.save(note)"].join("\n")],
        ["nacre", `nacre up ${container}${environment === "production" ? " --environment production" : ""}\neval "$(nacre env)"\nnacre record put --type Note --set 'text=Hello' first`],
        ["curl", `eval "$(nacre env)"\ncurl -sS -H "Authorization: Bearer $CLOUDKIT_ACCOUNT_TOKEN" \\\n    "$CLOUDKIT_SERVER_URL/database/1/${container}/${environment}/private/records/modify" \\\n    --data '{"operations":[{"operationType":"create","record":{"recordType":"Note","fields":{"text":{"value":"Hello"}}}}]}'`],
    ];
}

/// What a place without types says; `add` is a button that adds one.
export const noTypes = (route, add) => (route.isProduction
    ? empty("No types yet", "Deploy development's schema to bring its types here.", [],
        [linkButton("Deploy", here("deploy"), { asks: "POST schema/deploy" })])
    : empty("No types yet", "The first save of an app makes its types and fields. These lines save a record:", firstRecord(route.place),
        [add, linkButton("Write a schema", here("ckdb"))]));
