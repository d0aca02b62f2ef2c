/** Each method of the reference, in each of the forms in which it may be called, for the compiler alone. */

import CloudKit, {
    CKError, Container, Database, DatabaseChangesResponse, Notification, QueryNotification, QueryResponse, RecordInfosResponse,
    RecordsResponse, RecordZoneChangesResponse, RecordZoneNotification, RecordZonesResponse, SubscriptionsResponse, UserIdentitiesResponse,
    UserIdentity,
} from "../../cloudkit";

export async function containers(container: Container): Promise<void> {
    const found: Container | undefined = CloudKit.getContainer("iCloud.a.b");
    const all: Container[] = CloudKit.getAllContainers();
    CloudKit.logToConsole = found === all[0];
    const scope: Database = container.getDatabaseWithDatabaseScope(CloudKit.DatabaseScope.SHARED);
    container.setUpAuth().then((user: UserIdentity | null) => user?.userRecordName);
    container.whenUserSignsIn().then((user: UserIdentity) => user.nameComponents?.familyName, (error: CKError) => error.ckErrorCode);
    container.whenUserSignsOut().then(() => scope.toString());
    const users: UserIdentitiesResponse[] = [
        await container.discoverAllUserIdentities(), await container.discoverUserIdentities([{ emailAddress: "a@b.c" }, { userRecordName: "_a" }]),
        await container.discoverUserIdentityWithEmailAddress("a@b.c"), await container.discoverUserIdentityWithEmailAddress(["a@b.c"]),
        await container.discoverUserIdentityWithPhoneNumber("1"), await container.discoverUserIdentityWithUserRecordName("_a"),
    ];
    const infos: RecordInfosResponse[] = [
        await container.fetchRecordInfos("guid"), await container.fetchRecordInfos([{ value: "guid", rootRecordDesiredKeys: ["text"] }]),
        await container.acceptShares("guid"), await container.acceptShares(["guid"]),
    ];
    for (const { rootRecord, share, participantStatus } of infos.flatMap(({ results }) => results)) {
        console.log(rootRecord?.recordName, share.publicPermission, share.currentUserParticipant?.permission, participantStatus);
    }
    console.log(users.flatMap((response) => response.users.map(({ lookupInfo }) => lookupInfo?.emailAddress)), container.getConfig().apnsEnvironment);
    const listener = (notification: Notification | QueryNotification | RecordZoneNotification) => {
        if (notification instanceof QueryNotification) console.log(notification.recordName, notification.recordFields?.text);
        console.log(notification.subscriptionID, notification.zoneID?.zoneName, notification.alertLocalizationArgs?.length);
    };
    container.addNotificationListener(listener);
    await container.registerForNotifications();
    container.unregisterForNotifications();
    container.removeNotificationListener(listener);
}

export async function records(database: Database): Promise<void> {
    const record = { recordType: "Note", recordName: "a", fields: { text: { value: "bread" } } };
    const reading = { zoneID: { zoneName: "Notes", ownerRecordName: "_a" }, desiredKeys: ["text"], numbersAsStrings: true };
    const answers: RecordsResponse[] = [
        await database.saveRecords(record), await database.saveRecords([record], reading), await database.fetchRecords("a"),
        await database.fetchRecords(["a", "b"], reading), await database.fetchRecords(record), await database.deleteRecords("a"),
        await database.deleteRecords([record], { zoneID: "Notes" }),
        await database.newRecordsBatch().create(record).createOrUpdate([record]).update(record, { desiredKeys: ["text"] }).forceUpdate(record)
            .replace(record).forceReplace(record).delete("a").forceDelete([record]).commit(),
    ];
    for (const { created, modified, fields, recordChangeTag, deleted } of answers.flatMap((answer) => answer.records)) {
        console.log(created.userRecordName, new Date(modified.timestamp), fields.text?.value, recordChangeTag, deleted);
    }
    const place = { latitude: 52.5, longitude: 13.4 };
    const page: QueryResponse = await database.performQuery({
        recordType: "Note",
        filterBy: [
            { fieldName: "place", comparator: "NEAR", fieldValue: { value: place }, distance: 500 },
            { systemFieldName: "recordName", comparator: CloudKit.QueryFilterComparator.IN, fieldValue: { value: ["a", "b"] } },
        ],
        sortBy: { fieldName: "place", relativeLocation: place },
    }, { ...reading, zoneWide: true, resultsLimit: 5, continuationMarker: "marker" });
    await database.performQuery(page, { resultsLimit: page.resultsLimit });
}

export async function zones(database: Database): Promise<void> {
    const answers: RecordZonesResponse[] = [
        await database.saveRecordZones("a"), await database.saveRecordZones([{ zoneID: { zoneName: "a" } }]), await database.fetchRecordZones("a"),
        await database.fetchRecordZones([{ zoneName: "a" }]), await database.fetchAllRecordZones(), await database.deleteRecordZones(["a"]),
    ];
    const [zone] = answers.flatMap((answer) => answer.zones);
    const changed: DatabaseChangesResponse = await database.fetchDatabaseChanges();
    await database.fetchDatabaseChanges({ syncToken: changed.syncToken, resultsLimit: 5 });
    const changes: RecordZoneChangesResponse = await database.fetchRecordZoneChanges({
        zoneID: zone.zoneID, syncToken: zone.syncToken, desiredKeys: ["text"], desiredRecordTypes: ["Note"], resultsLimit: 5,
    });
    await database.fetchRecordZoneChanges(changes.zones);
    const subscriptions: SubscriptionsResponse[] = [
        await database.saveSubscriptions({
            subscriptionType: CloudKit.SubscriptionType.QUERY, query: { recordType: "Note" }, firesOn: ["create", "update"], firesOnce: true,
            notificationInfo: { alertLocalizationKey: "NEW", alertLocalizationArgs: ["text"], shouldBadge: true, additionalFields: ["text"] },
        }),
        await database.saveSubscriptions([{ subscriptionType: "zone", zoneID: zone.zoneID, subscriptionID: "a" }]),
        await database.fetchSubscriptions("a"), await database.fetchSubscriptions([{ subscriptionID: "a" }]),
        await database.fetchAllSubscriptions(), await database.deleteSubscriptions(["a"]),
    ];
    console.log(subscriptions.flatMap((answer) => answer.subscriptions.map(({ subscriptionID }) => subscriptionID)));
}

export function errors(error: CKError): string[] {
    const { isCKError, isServerError, serverErrorCode, zoneID, recordName, subscriptionID, redirectURL, retryAfter, uuid } = error;
    console.log(isCKError, isServerError, zoneID?.zoneName, recordName, subscriptionID, redirectURL, retryAfter, uuid, error.toJSON());
    return [serverErrorCode ?? CKError.UNKNOWN_ERROR, error.reason ?? error.toString()];
}
