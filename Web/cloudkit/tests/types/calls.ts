/** Calls as pages write them, for the compiler alone; and the library against its declarations. */

import CloudKit, { CKError, Database, QueryFilterComparator } from "../../cloudkit";
import source from "../../src/module.js";

const configured: typeof CloudKit = CloudKit.configure({
    locale: "en-us",
    containers: [{
        containerIdentifier: "iCloud.com.example.Notes",
        environment: "development",
        apiTokenAuth: { apiToken: "abc", persist: true, signInButton: { id: "in", theme: "black" }, signOutButton: null },
    }],
    services: { fetch: globalThis.fetch, Promise: globalThis.Promise, logger: console },
});
configured.configure({
    serverURL: "https://cloud.example",
    containers: [{
        containerIdentifier: "iCloud.com.example.Notes", environment: CloudKit.PRODUCTION_ENVIRONMENT,
        serverToServerKeyAuth: { keyID: "1", privateKeyFile: "eckey.pem", privateKeyPassPhrase: "secret" },
    }],
    services: { authTokenStore: { putToken: (container: string, token: string | null) => {}, getToken: async () => undefined } },
});

export async function calls(database: Database): Promise<string> {
    const container = CloudKit.getDefaultContainer();
    const user = await container.setUpAuth();
    const name: string | undefined = user?.nameComponents?.givenName;
    const saved = await container.privateCloudDatabase.saveRecords({
        recordType: "Note",
        fields: {
            text: { value: "bread" }, at: new Date(), picture: new Blob([]), tags: { value: ["a"], type: "STRING_LIST" }, gone: { value: null },
        },
    }, { zoneID: "Notes", onProgress: ({ loaded, total }) => loaded / total });
    if (saved.hasErrors) throw saved.errors[0];
    await database.saveRecords(saved.records.map((record) => ({ ...record, fields: { ...record.fields, text: { value: "wine" } } })));
    let page = await database.performQuery({
        recordType: "Note", filterBy: { fieldName: "text", comparator: QueryFilterComparator.BEGINS_WITH, fieldValue: { value: "b" } },
        sortBy: [{ systemFieldName: "createdTimestamp", ascending: false }],
    }, { resultsLimit: 20, signal: new AbortController().signal });
    while (page.moreComing) page = await database.performQuery(page);
    const { share } = await database.shareWithUI({
        record: saved.records[0], zoneID: { zoneName: "Notes" }, shareTitle: "Trip", supportedAccess: ["PRIVATE"], supportedPermissions: ["READ_WRITE"],
    });
    const shared: string | undefined = share?.participants?.[0]?.participantId;
    for await (const record of database.queryRecords({ recordType: "Note" })) console.log(record.fields.text.value);
    const changes = await database.fetchRecordZoneChanges([{ zoneID: { zoneName: "Notes" } }, { zoneID: "Other", resultsLimit: 5 }]);
    await database.fetchRecordZoneChanges(changes.zones.filter(({ moreComing }) => moreComing));
    await database.newRecordsBatch({ zoneID: "Notes", atomic: true }).create({ recordType: "Note" }).delete(["a", "b"]).commit();
    try {
        await container.acceptShares([{ value: "abc", shouldFetchRootRecord: true }, "def"]);
    } catch (error) {
        if (error instanceof CKError && error.ckErrorCode === CKError.ACCESS_DENIED) return error.reason ?? "";
    }
    // @ts-expect-error a scope is none of its own
    container.getDatabaseWithDatabaseScope("OTHER");
    // @ts-expect-error a comparator is one of the enumeration
    await database.performQuery({ recordType: "Note", filterBy: [{ fieldName: "a", comparator: "LIKE", fieldValue: { value: 1 } }] });
    return name ?? "";
}

/** An app with an engine: how its delegate is called, and what it answers. */
export async function syncing(database: Database, text: (name: string) => string | undefined) {
    const engine = new CloudKit.SyncEngine({
        database, store: CloudKit.SyncEngine.indexedDBStore(),
        delegate: {
            handleEvent(event, { state }) {
                switch (event.type) {
                    case "fetchedRecordZoneChanges": return event.modifications.map(({ record }) => record.fields.text?.value);
                    case "sentRecordZoneChanges":
                        return event.failedRecordSaves.map(({ error }) => error.serverRecord?.recordChangeTag);
                    case "accountChange":
                        if (event.changeType === "signIn") state.add({ pendingDatabaseChanges: [{ type: "saveZone", zoneID: "Notes" }] });
                        return event.currentUser;
                    default: return undefined;
                }
            },
            nextRecordZoneChangeBatch: ({ options: { scope } }, { state }) => CloudKit.SyncEngine.batch(
                state.pendingRecordZoneChanges.filter((change) => scope.contains(change)),
                ({ recordName, zoneID }) => ({ recordType: "Note", recordName, zoneID, fields: { text: text(recordName) } }),
            ),
        },
    });
    await engine.fetchChanges({ scope: { zoneIDs: "Notes" }, signal: new AbortController().signal });
    // @ts-expect-error a change has a type of its own
    engine.state.add({ pendingRecordZoneChanges: [{ type: "save", recordID: { recordName: "a" } }] });
}

/** Each member of the declarations is in the library, with arguments and results that fit. */
type Public<T> = { [name in keyof T]: T[name] };
type Instances = {
    Container: InstanceType<typeof source.Container>; Database: InstanceType<typeof source.Database>; SyncEngine: InstanceType<typeof source.SyncEngine>;
};
type Declared = {
    Container: Public<import("../../cloudkit").Container>; Database: Public<Database>; SyncEngine: Public<import("../../cloudkit").SyncEngine>;
};
export const container: keyof Declared["Container"] extends keyof Instances["Container"] ? true : never = true;
export const containerBack: keyof Instances["Container"] extends keyof Declared["Container"] ? true : never = true;
export const database: keyof Declared["Database"] extends keyof Instances["Database"] ? true : never = true;
export const databaseBack: keyof Instances["Database"] extends keyof Declared["Database"] ? true : never = true;
export const engine: keyof Declared["SyncEngine"] extends keyof Instances["SyncEngine"] ? true : never = true;
export const engineBack: keyof Instances["SyncEngine"] extends keyof Declared["SyncEngine"] ? true : never = true;
export const namespace: Exclude<keyof typeof CloudKit, "default"> extends keyof typeof source ? true : never = true;
export const namespaceBack: Exclude<keyof typeof source, "Promise"> extends keyof typeof CloudKit ? true : never = true;
