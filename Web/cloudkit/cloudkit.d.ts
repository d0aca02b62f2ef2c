/** Types of CloudKit JS as Nacre serves it. `CloudKit` is also the global of a page that loads the classic script. */

export as namespace CloudKit;

declare const CloudKit: typeof import("./cloudkit") & { logToConsole: boolean; readonly Promise: PromiseConstructor };
export default CloudKit;

// Configuration

export interface Configuration {
    containers: ContainerConfig[];
    services?: Partial<Services>;
    /** The server. Without it: the one that the script came from, or CLOUDKIT_SERVER_URL of the environment. */
    serverURL?: string;
    locale?: string;
}

export interface ContainerConfig {
    containerIdentifier: string;
    environment: Environment;
    apnsEnvironment?: Environment;
    /** One of this and `serverToServerKeyAuth`. */
    apiTokenAuth?: APITokenAuth;
    serverToServerKeyAuth?: ServerToServerKeyAuth;
}

export interface APITokenAuth {
    apiToken: string;
    /** true: the session outlives the tab. */
    persist?: boolean;
    signInButton?: ButtonOptions | null;
    signOutButton?: ButtonOptions | null;
}

export interface ButtonOptions {
    /** The `id` of the element that the button is put into. */
    id?: string;
    theme?: string;
}

/** A key of a server, for the public database. It has one of `privateKeyFile` and `privateKey`. */
export interface ServerToServerKeyAuth {
    keyID: string;
    privateKeyFile?: string;
    /** The key itself, in PEM. */
    privateKey?: string;
    privateKeyPassPhrase?: string;
}

export interface Services {
    fetch: (resource: string, options?: any) => Promise<any>;
    Promise: PromiseConstructor;
    logger: Partial<Record<"info" | "log" | "warn" | "error", (...values: any[]) => void>>;
    authTokenStore: AuthTokenStore;
    /** The module `cloudkit-encryption.mjs`, which opens and seals encrypted values. */
    encryption: EncryptionModule;
    /** Keeps the keys of encrypted values, in place of the browser's database or the memory. */
    keyStore: KeyStore;
    /** Milliseconds since 1970. */
    now: () => number;
    /** Waits before a request is tried again; ends early when the signal says so. */
    pause: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
    /** A number from 0 to 1: pauses of a sync engine are of different length on each device. */
    random: () => number;
}

export interface AuthTokenStore {
    /** Keeps the token of a session; null when it has ended. */
    putToken(containerIdentifier: string, token: string | null): unknown;
    getToken(containerIdentifier: string): string | null | undefined | Promise<string | null | undefined>;
}

/** What `cloudkit-encryption.mjs` exports as `encryption`. */
export type EncryptionModule = (transport: any, core: any) => any;

/** Texts with private keys of this device: keep them where nobody else reads them. */
export interface KeyStore {
    getKeys(name: string): string | null | undefined | Promise<string | null | undefined>;
    putKeys(name: string, text: string): unknown;
}

export function configure(configuration: Configuration): typeof CloudKit;
export function getDefaultContainer(): Container;
export function getContainer(containerIdentifier: string): Container | undefined;
export function getAllContainers(): Container[];

// Constants

export const VERSION: string;
export const BUILD_VERSION: string;
export const WS_API_VERSION: number;
export const CLOUDKIT_LOADED: "cloudkitloaded";
export const DEVELOPMENT_ENVIRONMENT: "development";
export const PRODUCTION_ENVIRONMENT: "production";
export type Environment = "development" | "production";

type Named<T extends string> = { readonly [name in T]: name };

export type DatabaseScope = "PUBLIC" | "PRIVATE" | "SHARED";
export const DatabaseScope: Named<DatabaseScope>;
export type Comparator =
    | "EQUALS" | "NOT_EQUALS" | "LESS_THAN" | "LESS_THAN_OR_EQUALS" | "GREATER_THAN" | "GREATER_THAN_OR_EQUALS" | "NEAR"
    | "CONTAINS_ALL_TOKENS" | "CONTAINS_ANY_TOKENS" | "IN" | "NOT_IN" | "LIST_CONTAINS" | "NOT_LIST_CONTAINS" | "LIST_CONTAINS_ANY"
    | "NOT_LIST_CONTAINS_ANY" | "LIST_CONTAINS_ALL" | "NOT_LIST_CONTAINS_ALL" | "BEGINS_WITH" | "NOT_BEGINS_WITH"
    | "LIST_MEMBER_BEGINS_WITH" | "NOT_LIST_MEMBER_BEGINS_WITH";
export const QueryFilterComparator: Named<Comparator>;
export type ReferenceAction = "NONE" | "DELETE_SELF" | "VALIDATE";
export const ReferenceAction: Named<ReferenceAction>;
export const ShareParticipantAcceptanceStatus: Named<"ACCEPTED" | "PENDING" | "UNKNOWN">;
export type Permission = "NONE" | "READ_ONLY" | "READ_WRITE" | "UNKNOWN";
export const ShareParticipantPermission: Named<Permission>;
export const ShareParticipantType: Named<"OWNER" | "PRIVATE_USER" | "PUBLIC_USER" | "UNKNOWN">;
export const ShareRecordType: {
    readonly NAME: "cloudkit.share"; readonly TITLE_FIELD_NAME: "cloudkit.title"; readonly TYPE_FIELD_NAME: "cloudkit.type";
    readonly THUMBNAIL_IMAGE_DATA_FIELD_NAME: "cloudkit.thumbnailImageData";
};
export const SubscriptionType: { readonly QUERY: "query"; readonly RECORD_ZONE: "zone"; readonly DATABASE: "database" };
export const AppleIDButtonTheme: {
    readonly MEDIUM: "medium"; readonly BLACK: "black"; readonly WHITE: "white"; readonly WHITE_WITH_OUTLINE: "white-with-outline";
};

// Values

export interface ZoneID { zoneName: string; ownerRecordName?: string; zoneType?: string }

export interface Location {
    latitude: number; longitude: number; horizontalAccuracy?: number; verticalAccuracy?: number; altitude?: number; speed?: number; course?: number;
    /** Milliseconds since 1970. */
    timestamp?: number;
}

export interface Reference { recordName: string; action?: ReferenceAction; zoneID?: ZoneID }

export interface Asset {
    fileChecksum: string; size: number; receipt?: string; wrappingKey?: string; referenceChecksum?: string;
    /** Any file name may stand for `${f}`. */
    downloadURL?: string;
    /** Of an encrypted file, whose bytes `fetchFile` opens: what they are checked with. A plain file has none. */
    encryptionRoot?: string;
}

/** A value of a request. A date is sent in milliseconds, bytes in base64; a file is sent first. */
export type Value = string | number | boolean | Date | ArrayBuffer | ArrayBufferView | Location | Reference | Asset | Blob | null;
export interface Field { value: any; type?: string; isEncrypted?: boolean }
export type FieldToSave = { value: Value | Value[]; type?: string; isEncrypted?: boolean } | Value | Value[];

/** The values of answers by the types of their fields: bytes are in base64, times in milliseconds since 1970. */
export interface ValuesReceived {
    STRING: string; INT64: number; DOUBLE: number; TIMESTAMP: number; BYTES: string; LOCATION: Location; REFERENCE: Reference; ASSETID: Asset;
    STRING_LIST: string[]; INT64_LIST: number[]; DOUBLE_LIST: number[]; TIMESTAMP_LIST: number[]; BYTES_LIST: string[];
    LOCATION_LIST: Location[]; REFERENCE_LIST: Reference[]; ASSETID_LIST: Asset[];
}
/** The values that a save takes in their place. */
export interface ValuesToSave extends Omit<ValuesReceived, "TIMESTAMP" | "BYTES" | "ASSETID" | `${"TIMESTAMP" | "BYTES" | "ASSETID"}_LIST`> {
    TIMESTAMP: number | Date; BYTES: string | ArrayBuffer | ArrayBufferView; ASSETID: Asset | Blob;
    TIMESTAMP_LIST: (number | Date)[]; BYTES_LIST: (string | ArrayBuffer | ArrayBufferView)[]; ASSETID_LIST: (Asset | Blob)[];
}
export type FieldType = keyof ValuesReceived;
/** A field of an answer whose type a schema tells. `nacre schema types` writes it, and the two that follow. */
export interface TypedField<T extends FieldType> { value: ValuesReceived[T]; type: T; isEncrypted?: false }
/** Such a field of a record to save. null takes its value away. */
export type TypedFieldToSave<T extends FieldType> = TypedField<T> | { value: ValuesToSave[T] | null; type?: T } | ValuesToSave[T] | null;
/** An encrypted field. Without the module for encrypted values its value is sealed, in base64, and goes back as it came. */
export interface SealedField<T extends FieldType> { value: ValuesReceived[T] | string; type: T; isEncrypted: true }

export interface Stamp { timestamp: number; userRecordName: string; deviceID?: string }

export interface RecordToSave {
    recordType?: string;
    recordName?: string;
    recordChangeTag?: string;
    fields?: { [name: string]: FieldToSave | undefined };
    zoneID?: ZoneID;
    parent?: { recordName: string };
    manifest?: string;
    createShortGUID?: boolean;
    forRecord?: { recordName: string; recordChangeTag?: string };
    publicPermission?: Permission;
    participants?: ParticipantToSave[];
    [member: string]: any;
}

export interface RecordReceived {
    recordName: string;
    recordType: string;
    recordChangeTag: string;
    fields: { [name: string]: Field };
    created: Stamp;
    modified: Stamp;
    deleted: boolean;
    zoneID?: ZoneID;
    parent?: { recordName: string };
    /** Of encrypted values, in base64: keep it with the record that is saved back. */
    manifest?: string;
    share?: { recordName: string; zoneID?: ZoneID };
    shortGUID?: string;
    /** This and the following members are those of a share. */
    publicPermission?: Permission;
    participants?: Participant[];
    owner?: Participant;
    currentUserParticipant?: Participant;
    [member: string]: any;
}

export interface NameComponents { givenName?: string; familyName?: string; [part: string]: any }
export interface UserLookupInfo { emailAddress?: string; phoneNumber?: string; userRecordName?: string }
export interface UserIdentity { userRecordName?: string; nameComponents?: NameComponents; lookupInfo?: UserLookupInfo }
/** One without a `participantId` is whom the page adds: only such a participant gets the keys of encrypted values. */
export interface ParticipantToSave {
    userIdentity?: UserIdentity; permission?: Permission; type?: string; acceptanceStatus?: string;
    [member: string]: any;
}
export interface Participant extends ParticipantToSave { participantId: string; userIdentity: UserIdentity }

export interface Filter { fieldName?: string; systemFieldName?: string; comparator: Comparator; fieldValue: FieldToSave; distance?: number }
export interface SortDescriptor {
    fieldName?: string; systemFieldName?: string; ascending?: boolean; relativeLocation?: Location | { value: Location };
}
export interface Query { recordType: string; filterBy?: Filter | Filter[]; sortBy?: SortDescriptor | SortDescriptor[] }

export interface RecordZone { zoneID: ZoneID; syncToken?: string; atomic?: boolean; deleted?: boolean }

export interface NotificationInfo {
    alertBody?: string; alertLocalizationKey?: string; alertLocalizationArgs?: string[]; alertActionLocalizationKey?: string;
    alertLaunchImage?: string; soundName?: string; shouldBadge?: boolean; shouldSendContentAvailable?: boolean; additionalFields?: string[];
    category?: string;
}
export interface Subscription {
    subscriptionID: string; subscriptionType: "query" | "zone" | "database"; query?: Query; zoneID?: ZoneID; zoneWide?: boolean;
    firesOn?: ("create" | "update" | "delete")[]; firesOnce?: boolean; notificationInfo?: NotificationInfo;
}
export type SubscriptionToSave = Omit<Subscription, "subscriptionID" | "zoneID"> & { subscriptionID?: string; zoneID?: ZoneID | string };

export interface RecordInfo {
    shortGUID: { value: string }; containerIdentifier: string; environment: Environment; databaseScope: DatabaseScope; zoneID: ZoneID;
    rootRecordName?: string; rootRecord?: RecordReceived; share: RecordReceived; ownerIdentity: UserIdentity; participantPermission: Permission;
    participantStatus: string; participantType: string; webpageURL?: string;
    potentialMatchList?: { participantId: string; contactInformation: UserLookupInfo }[];
}

export function toRecordReference(record: string | { recordName?: string; zoneID?: ZoneID }, action?: ReferenceAction): Reference;

// Options

export interface Cancelling {
    /** Ends the request; its promise rejects with the signal's reason. */
    signal?: AbortSignal;
}
export interface InZone extends Cancelling { zoneID?: ZoneID | string }
export interface Reading extends InZone {
    desiredKeys?: string[];
    /** Numbers of answers as texts: those beyond 2^53 are exact then. */
    numbersAsStrings?: boolean;
}
export interface WebPushOptions extends Cancelling {
    /** The URL of the page's service worker, or its registration. Without it: /cloudkit-worker.js. */
    serviceWorker?: string | URL | { readonly scope: string; readonly pushManager: object };
}
export interface UploadProgress { recordName: string; fieldName: string; file: Blob; /** Bytes. */ loaded: number; /** Bytes. */ total: number }
export interface Saving extends Reading {
    /** true: all of the request's changes are made or none; in custom zones. */
    atomic?: boolean;
    onProgress?: (progress: UploadProgress) => void;
}
export interface Querying extends Reading { zoneWide?: boolean; resultsLimit?: number; continuationMarker?: string }
export interface DatabaseChangesOptions extends Cancelling { syncToken?: string; resultsLimit?: number }
export interface RecordZoneChangesOptions extends Cancelling {
    zoneID: ZoneID | string; syncToken?: string; desiredKeys?: string[]; desiredRecordTypes?: string[]; resultsLimit?: number;
    numbersAsStrings?: boolean;
}

export interface SharingUIOptions extends Cancelling {
    /** The root record, or the share's own; without it the whole zone is shared. */
    record?: string | { recordName?: string; zoneID?: ZoneID; [member: string]: any };
    /** May be left out if the record has it. */
    zoneID?: ZoneID | string;
    /** The title and the type of a share that the page makes. */
    shareTitle?: string;
    shareType?: string;
    /** Passed over. */
    shareThumbnail?: any;
    supportedAccess?: ("PRIVATE" | "PUBLIC")[];
    supportedPermissions?: ("READ_WRITE" | "READ_ONLY")[];
}
export interface SharingUIResult {
    /** The share when the user is done; null if nothing is shared. */
    share: RecordReceived | null;
}

type OneOrMany<T> = T | T[];
type RecordOrName = string | { recordName?: string; [member: string]: any };
type ZoneOrName = string | ZoneID | { zoneID: ZoneID };
type SubscriptionOrID = string | { subscriptionID?: string; [member: string]: any };
export type ShortGUID = string | { value: string; shouldFetchRootRecord?: boolean; rootRecordDesiredKeys?: string[] };

// Classes

export class Container {
    private constructor();
    readonly containerIdentifier: string;
    readonly environment: Environment;
    readonly apnsEnvironment: Environment;
    readonly publicCloudDatabase: Database;
    readonly privateCloudDatabase: Database;
    readonly sharedCloudDatabase: Database;
    /** The keys of encrypted values; undefined without `services.encryption`. */
    readonly keys: AccountKeys | undefined;
    getDatabaseWithDatabaseScope(scope: DatabaseScope): Database;
    getConfig(): Readonly<ContainerConfig>;
    toString(): string;

    setUpAuth(): Promise<UserIdentity | null>;
    whenUserSignsIn(): Promise<UserIdentity>;
    whenUserSignsOut(): Promise<undefined>;
    /** Begins a session with a web auth token that the app has from elsewhere, in place of another one. */
    signIn(webAuthToken: string, options?: Cancelling): Promise<UserIdentity>;
    /** Ends the session, here and on the server. */
    signOut(options?: Cancelling): Promise<void>;

    fetchCurrentUserIdentity(options?: Cancelling): Promise<UserIdentity>;
    discoverAllUserIdentities(options?: Cancelling): Promise<UserIdentitiesResponse>;
    discoverUserIdentities(lookupInfos: OneOrMany<UserLookupInfo>, options?: Cancelling): Promise<UserIdentitiesResponse>;
    discoverUserIdentityWithEmailAddress(emailAddresses: OneOrMany<string>, options?: Cancelling): Promise<UserIdentitiesResponse>;
    discoverUserIdentityWithPhoneNumber(phoneNumbers: OneOrMany<string>, options?: Cancelling): Promise<UserIdentitiesResponse>;
    discoverUserIdentityWithUserRecordName(userRecordNames: OneOrMany<string>, options?: Cancelling): Promise<UserIdentitiesResponse>;

    fetchRecordInfos(shortGUIDs: OneOrMany<ShortGUID>, options?: Cancelling): Promise<RecordInfosResponse>;
    acceptShares(shortGUIDs: OneOrMany<ShortGUID>, options?: Cancelling): Promise<RecordInfosResponse>;
    /** Asks the owners of shares for access. */
    requestShareAccess(shortGUIDs: OneOrMany<ShortGUID>, options?: Cancelling): Promise<RecordInfosResponse>;

    readonly isRegisteredForNotifications: boolean;
    registerForNotifications(): Promise<this>;
    unregisterForNotifications(): void;
    addNotificationListener(listener: (notification: Notification | QueryNotification | RecordZoneNotification) => void): void;
    removeNotificationListener(listener: (notification: any) => void): void;
    /** Has the browser show notifications, also while no page is open. Asks the user: call it from a click. */
    registerForWebPush(options?: WebPushOptions): Promise<this>;
    unregisterForWebPush(options?: Cancelling): Promise<void>;
}

export class Database {
    private constructor();
    readonly containerIdentifier: string;
    readonly databaseScope: DatabaseScope;
    toString(): string;

    /** This and the methods that read take the type of their records, such as one of `nacre schema types`. */
    saveRecords<R extends RecordReceived = RecordReceived>(records: OneOrMany<RecordToSave>, options?: Saving): Promise<RecordsResponse<R>>;
    fetchRecords<R extends RecordReceived = RecordReceived>(records: OneOrMany<RecordOrName>, options?: Reading): Promise<RecordsResponse<R>>;
    deleteRecords(records: OneOrMany<RecordOrName>, options?: Saving): Promise<RecordsResponse>;
    /** The bytes of a file of a record, opened and checked if it is encrypted. Then `zoneID` is that of the record. */
    fetchFile(asset: Asset, options?: Cancelling & { zoneID?: ZoneID | string }): Promise<Blob>;
    newRecordsBatch(options?: Saving): RecordsBatchBuilder;
    performQuery<R extends RecordReceived = RecordReceived>(query: Query | QueryResponse<R>, options?: Querying): Promise<QueryResponse<R>>;
    queryPages<R extends RecordReceived = RecordReceived>(query: Query, options?: Querying): AsyncGenerator<QueryResponse<R>, void, undefined>;
    queryRecords<R extends RecordReceived = RecordReceived>(query: Query, options?: Querying): AsyncGenerator<R, void, undefined>;

    saveRecordZones(zones: OneOrMany<ZoneOrName>, options?: Cancelling): Promise<RecordZonesResponse>;
    fetchRecordZones(zones: OneOrMany<ZoneOrName>, options?: Cancelling): Promise<RecordZonesResponse>;
    fetchAllRecordZones(options?: Cancelling): Promise<RecordZonesResponse>;
    deleteRecordZones(zones: OneOrMany<ZoneOrName>, options?: Cancelling): Promise<RecordZonesResponse>;

    fetchDatabaseChanges(options?: DatabaseChangesOptions): Promise<DatabaseChangesResponse>;
    fetchRecordZoneChanges(options: OneOrMany<RecordZoneChangesOptions>, more?: Cancelling): Promise<RecordZoneChangesResponse>;
    databaseChanges(options?: DatabaseChangesOptions): AsyncGenerator<DatabaseChangesResponse, void, undefined>;
    recordZoneChanges(options: RecordZoneChangesOptions): AsyncGenerator<RecordZoneChanges, void, undefined>;

    saveSubscriptions(subscriptions: OneOrMany<SubscriptionToSave>, options?: Cancelling): Promise<SubscriptionsResponse>;
    fetchSubscriptions(subscriptions: OneOrMany<SubscriptionOrID>, options?: Cancelling): Promise<SubscriptionsResponse>;
    fetchAllSubscriptions(options?: Cancelling): Promise<SubscriptionsResponse>;
    deleteSubscriptions(subscriptions: OneOrMany<SubscriptionOrID>, options?: Cancelling): Promise<SubscriptionsResponse>;

    /** Shows the server's page of a share in a dialog. Rejects with `SHARE_UI_TIMEOUT` if the page does not come up. */
    shareWithUI(options: SharingUIOptions): Promise<SharingUIResult>;
}

export class RecordsBatchBuilder {
    private constructor();
    create(records: OneOrMany<RecordToSave>, options?: BatchOptions): this;
    createOrUpdate(records: OneOrMany<RecordToSave>, options?: BatchOptions): this;
    update(records: OneOrMany<RecordToSave>, options?: BatchOptions): this;
    forceUpdate(records: OneOrMany<RecordToSave>, options?: BatchOptions): this;
    replace(records: OneOrMany<RecordToSave>, options?: BatchOptions): this;
    forceReplace(records: OneOrMany<RecordToSave>, options?: BatchOptions): this;
    delete(records: OneOrMany<RecordOrName>): this;
    forceDelete(records: OneOrMany<RecordOrName>): this;
    commit(): Promise<RecordsResponse>;
}
export interface BatchOptions { desiredKeys?: string[]; desiredKey?: string[] }

// Responses

export class Response {
    readonly isResponse: true;
    readonly hasErrors: boolean;
    readonly errors: CKError[];
}
export class RecordsResponse<R extends RecordReceived = RecordReceived> extends Response {
    readonly isRecordsResponse: true;
    readonly records: R[];
    readonly numbersAsStrings: boolean;
}
export class QueryResponse<R extends RecordReceived = RecordReceived> extends RecordsResponse<R> {
    readonly isQueryResponse: true;
    readonly query: Query;
    readonly zoneID?: ZoneID;
    readonly zoneWide?: boolean;
    readonly resultsLimit?: number;
    readonly desiredKeys?: string[];
    readonly continuationMarker?: string;
    readonly moreComing: boolean;
}
export class RecordZonesResponse extends Response {
    readonly isRecordZonesResponse: true;
    readonly zones: RecordZone[];
}
export class SubscriptionsResponse extends Response {
    readonly isSubscriptionsResponse: true;
    readonly subscriptions: Subscription[];
}
export class UserIdentitiesResponse extends Response {
    readonly isUserIdentitiesResponse: true;
    readonly users: UserIdentity[];
}
export class RecordInfosResponse extends Response {
    readonly isRecordInfosResponse: true;
    readonly results: RecordInfo[];
}
export class DatabaseChangesResponse extends Response {
    readonly isDatabaseChangesResponse: true;
    readonly zones: RecordZone[];
    readonly syncToken: string;
    readonly moreComing: boolean;
    readonly resultsLimit?: number;
}
export interface RecordZoneChanges {
    readonly zoneID: ZoneID;
    readonly records: RecordReceived[];
    readonly errors: CKError[];
    readonly syncToken: string;
    readonly moreComing: boolean;
    readonly desiredKeys?: string[];
    readonly desiredRecordTypes?: string[];
    readonly resultsLimit?: number;
    readonly numbersAsStrings?: boolean;
}
export class RecordZoneChangesResponse extends Response {
    readonly isRecordZoneChangesResponse: true;
    readonly zones: RecordZoneChanges[];
}

// Notifications

/** A notification. One without a `subscriptionID` says that others were left out: fetch the changes. */
export class Notification {
    readonly notificationID?: string;
    /** The last is of a database's subscription, and of one without a `subscriptionID`. */
    readonly notificationType: "NOTIFICATION_TYPE_QUERY" | "NOTIFICATION_TYPE_RECORD_ZONE" | "NOTIFICATION_TYPE_DATABASE";
    readonly containerIdentifier: string;
    readonly subscriptionID?: string;
    readonly zoneID?: ZoneID;
    readonly alertBody?: string;
    readonly alertLocalizationKey?: string;
    readonly alertLocalizationArgs?: string[];
    readonly alertActionLocalizationKey?: string;
    readonly alertLaunchImage?: string;
    readonly soundName?: string;
    readonly badge?: number;
    readonly category?: string;
    readonly isQueryNotification: boolean;
    readonly isRecordZoneNotification: boolean;
}
export class QueryNotification extends Notification {
    readonly recordName: string;
    readonly recordFields?: { [name: string]: any };
    readonly queryNotificationReason:
        "QUERY_NOTIFICATION_REASON_RECORD_CREATED" | "QUERY_NOTIFICATION_REASON_RECORD_UPDATED" | "QUERY_NOTIFICATION_REASON_RECORD_DELETED";
    readonly isPublicDatabase: boolean;
}
export class RecordZoneNotification extends Notification {}

// Sync engine

/** A record's name and its zone; without a zone it is in the default zone. */
export interface RecordID { recordName: string; zoneID?: ZoneID | string }
export interface PendingRecordZoneChange { type: "saveRecord" | "deleteRecord"; recordID: RecordID }
export interface PendingDatabaseChange { type: "saveZone" | "deleteZone"; zoneID: ZoneID | string }
export interface PendingChanges { pendingRecordZoneChanges?: PendingRecordZoneChange[]; pendingDatabaseChanges?: PendingDatabaseChange[] }

/** Everything, or a part: some zones, all zones but some, or for a send some records. */
export interface SyncScope {
    zoneIDs?: OneOrMany<ZoneOrName>;
    allExcluding?: OneOrMany<ZoneOrName>;
    recordIDs?: OneOrMany<RecordID>;
}
export interface FetchChangesOptions extends Cancelling {
    scope?: SyncScope;
    /** Zones to fetch first, in this order. */
    prioritizedZoneIDs?: ZoneOrName[];
}
export interface SendChangesOptions extends Cancelling { scope?: SyncScope }

export interface SyncContext {
    readonly reason: "manual" | "scheduled";
    readonly options: {
        readonly scope: { contains(item: PendingRecordZoneChange | RecordID | ZoneID): boolean };
        readonly prioritizedZoneIDs: ZoneID[];
    };
}

/** Records to save and to delete, sent together with one request for each zone. */
export interface RecordZoneChangeBatch {
    recordsToSave?: RecordToSave[];
    recordIDsToDelete?: RecordID[];
    /** Whether the changes in each zone are made all or none. */
    atomicByZone?: boolean;
}

type ZoneDeletionReason = "deleted" | "purged" | "encryptedDataReset";
export type SyncEvent =
    | { type: "stateUpdate"; stateSerialization: string }
    | { type: "accountChange"; changeType: "signIn"; currentUser: string; previousUser?: undefined }
    | { type: "accountChange"; changeType: "signOut"; currentUser?: undefined; previousUser: string }
    | { type: "accountChange"; changeType: "switchAccounts"; currentUser: string; previousUser: string }
    | { type: "fetchedDatabaseChanges"; modifications: { zoneID: ZoneID }[]; deletions: { zoneID: ZoneID; reason: ZoneDeletionReason }[] }
    | { type: "fetchedRecordZoneChanges"; modifications: { record: RecordReceived & { zoneID: ZoneID } }[];
        deletions: { recordID: { recordName: string; zoneID: ZoneID }; recordType?: string }[]; }
    | { type: "sentDatabaseChanges"; savedZones: { zoneID: ZoneID }[]; failedZoneSaves: { zone: { zoneID: ZoneID }; error: CKError }[];
        deletedZoneIDs: ZoneID[]; failedZoneDeletes: { zoneID: ZoneID; error: CKError }[]; }
    | { type: "sentRecordZoneChanges"; savedRecords: (RecordReceived & { zoneID: ZoneID })[];
        failedRecordSaves: { record: RecordToSave; error: CKError }[]; deletedRecordIDs: { recordName: string; zoneID: ZoneID }[];
        failedRecordDeletes: { recordID: { recordName: string; zoneID: ZoneID }; error: CKError }[]; }
    | { type: "willFetchChanges" | "didFetchChanges" | "willSendChanges" | "didSendChanges"; context: SyncContext }
    | { type: "willFetchRecordZoneChanges"; zoneID: ZoneID }
    | { type: "didFetchRecordZoneChanges"; zoneID: ZoneID; error?: CKError };

/** The app's side of a sync engine. The engine goes on when a call's promise is fulfilled; one that rejects ends the fetch or send. */
export interface SyncEngineDelegate {
    handleEvent(event: SyncEvent, engine: SyncEngine): unknown;
    /** The next records to send; null if there are none. */
    nextRecordZoneChangeBatch(context: SyncContext, engine: SyncEngine):
        RecordZoneChangeBatch | null | undefined | Promise<RecordZoneChangeBatch | null | undefined>;
    /** Asked before each zone; without it the options of the fetch count. */
    nextFetchChangesOptions?(context: SyncContext, engine: SyncEngine): FetchChangesOptions | SyncContext["options"] | Promise<FetchChangesOptions>;
}

/** A place for the states of engines, by their names, which all tabs of an origin share. */
export interface SyncStore {
    /** The state that was kept last, and the edits that came since, in their order. Numbers begin with 1 and only grow. */
    load(name: string): Promise<{ state?: string; edits: { number: number; text: string }[]; generation?: string }>;
    /**
     * Keeps a state and forgets the edits up to a number, both or neither. Edits of another generation stay: a store that
     * can be deleted while a page runs makes one anew each time, and counts from 1 in it.
     */
    keep(name: string, state: string, last: number, generation?: string): Promise<void>;
    /** Adds an edit. */
    add(name: string, text: string): Promise<void>;
}

export interface SyncEngineConfiguration {
    /** A private or shared database. */
    database: Database;
    delegate: SyncEngineDelegate;
    /** The state of the last stateUpdate that the app has kept. Left out at the first visit, and with a store. */
    stateSerialization?: string | null;
    /** Whether the engine fetches and sends by itself. */
    automaticallySync?: boolean;
    /** The ID of the user's database subscription, if there is none yet. */
    subscriptionID?: string;
    /** Keeps the state in place of the app. Of the tabs with the same store one engine runs. */
    store?: SyncStore;
    /** In place of `navigator.locks`. */
    locks?: LockManager;
}

/** What is pending. In a tab whose engine waits for its turn: what this tab has added. */
export interface SyncEngineState {
    readonly pendingRecordZoneChanges: { type: "saveRecord" | "deleteRecord"; recordID: { recordName: string; zoneID: ZoneID } }[];
    readonly pendingDatabaseChanges: { type: "saveZone" | "deleteZone"; zoneID: ZoneID }[];
    /** Whether the engine asks for batches although nothing is pending. */
    hasPendingUntrackedChanges: boolean;
    readonly zoneIDsWithUnfetchedServerChanges: ZoneID[];
    add(changes: PendingChanges): void;
    remove(changes: PendingChanges): void;
}

/** `CKSyncEngine` for the web: keeps an app's local records and a database in step. */
export class SyncEngine {
    constructor(configuration: SyncEngineConfiguration);
    readonly database: Database;
    readonly state: SyncEngineState;
    /** Fetches; fulfilled when the delegate has handled all events. Never awaited by the delegate. */
    fetchChanges(options?: FetchChangesOptions): Promise<void>;
    /** Sends; fulfilled when the delegate has handled all events. Never awaited by the delegate. */
    sendChanges(options?: SendChangesOptions): Promise<void>;
    cancelOperations(): void;
    /** Ends the engine: another tab's may run then. Never awaited by the delegate. */
    stop(): Promise<void>;
    /** A batch of the first pending changes, 200 at most. A record that the provider does not have is left out. */
    static batch(
        pendingChanges: PendingRecordZoneChange[],
        recordProvider: (recordID: { recordName: string; zoneID: ZoneID }) => RecordToSave | null | undefined | Promise<RecordToSave | null | undefined>,
    ): Promise<RecordZoneChangeBatch | null>;
    /** A store of states in IndexedDB. */
    static indexedDBStore(name?: string): SyncStore;
}

// Keys of encrypted values

export interface KeysStatus {
    /** "ended": a reset has ended the account's keys, and this device begins the next ones. */
    keys: "none" | "ended" | "here" | "elsewhere" | "removed";
    /** That of the account key, from 1. */
    generation?: number;
    devices: number;
    /** Whether this device has recovery words that its user has not seen. */
    hasUnseenWords: boolean;
    /** A line on the user's next step. */
    next: string;
    /**
     * Two heads that the server has signed of its tree of logs, in hexadecimal, which were not shown to be of one tree. Of
     * one size and with two roots, they prove to anybody that it has shown two.
     */
    treesInDoubt?: [string, string];
}
/** `statement` is the number of the statement that added it. */
export interface KeysDevice { id: string; statement: number; isThis: boolean }
export interface KeysFingerprint { userRecordName: string; fingerprint: string; statement: number; head: string; isEnrolled: boolean }
/** A device that waits to be let in, by the name that it shows. */
export interface WaitingDevice { name: string; commitment: string }
export interface ComparingOptions extends Cancelling {
    /** Shows the code of this device to the user, and returns what the user read on the other device and typed in. */
    compare: (code: string) => string | null | undefined | Promise<string | null | undefined>;
}

/** The keys of the user's account. Methods that change them are for the user to ask for. */
export interface AccountKeys {
    status(options?: Cancelling): Promise<KeysStatus>;
    devices(options?: Cancelling): Promise<KeysDevice[]>;
    fingerprint(options?: Cancelling & { userRecordName?: string }): Promise<KeysFingerprint>;
    begin(options?: Cancelling): Promise<void>;
    /** Waits ten minutes at most. `waiting` is told the name under which the other device lists this one. */
    enrol(options: ComparingOptions & { waiting?: (name: string) => void }): Promise<void>;
    enrolWithRecoveryWords(words: string, options?: Cancelling): Promise<void>;
    waiting(options?: Cancelling): Promise<WaitingDevice[]>;
    /** Resolves with the new device's ID. */
    approve(device: WaitingDevice, options: ComparingOptions): Promise<string>;
    remove(id: string, options?: Cancelling): Promise<void>;
    recoveryWords(options?: Cancelling): Promise<{ words: string[]; fingerprint: string }>;
    forgetRecoveryWords(options?: Cancelling): Promise<void>;
    /**
     * For a server that was put back from a backup: takes its tree of logs as it is now, and forgets what this device has
     * seen of logs and zones' keys. Compare fingerprints again.
     */
    trustTree(options?: Cancelling): Promise<void>;
}

// Errors

export type ServerErrorCode =
    | "ACCESS_DENIED" | "ATOMIC_ERROR" | "AUTHENTICATION_FAILED" | "AUTHENTICATION_REQUIRED" | "BAD_REQUEST" | "CONFLICT" | "EXISTS"
    | "INTERNAL_ERROR" | "NOT_FOUND" | "QUOTA_EXCEEDED" | "THROTTLED" | "TRY_AGAIN_LATER" | "UNIQUE_FIELD_ERROR"
    | "VALIDATING_REFERENCE_ERROR" | "ZONE_NOT_FOUND";
export type LocalErrorCode =
    | "AUTH_PERSIST_ERROR" | "CONFIGURATION_ERROR" | "INVALID_ARGUMENTS" | "NETWORK_ERROR" | "OPERATION_CANCELLED" | "PARTIAL_FAILURE"
    | "AUTH_PERSIST_ERROR" | "CONFIGURATION_ERROR" | "ENCRYPTION_KEYS_REQUIRED" | "ENCRYPTION_REFUSED" | "INVALID_ARGUMENTS" | "NETWORK_ERROR"
    | "SERVICE_UNAVAILABLE" | "SHARE_UI_TIMEOUT" | "SIGN_IN_FAILED" | "UNEXPECTED_SERVER_RESPONSE" | "UNKNOWN_ERROR";
export type ErrorCode = ServerErrorCode | LocalErrorCode;

export interface CKErrorFields {
    ckErrorCode: string;
    reason?: string;
    serverErrorCode?: string;
    extensionErrorCode?: string;
    uuid?: string;
    recordName?: string;
    subscriptionID?: string;
    zoneID?: ZoneID;
    shortGUID?: string;
    redirectURL?: string;
    /** Seconds. */
    retryAfter?: number;
    /** The record that stood against a save: of CONFLICT. */
    serverRecord?: RecordReceived;
    /** A line on what to do. */
    remedy?: string;
    /** The code of the framework's `CKError.Code`, if the server has said one. */
    nativeCode?: number;
    /** The finer code that CloudKit's own logs show. */
    internalCode?: number;
    /** The errors of items: of PARTIAL_FAILURE, and of a request for records that cannot be sealed. */
    errors?: CKError[];
}

interface CKErrorConstructor extends Named<ErrorCode> {
    new (fields: Partial<CKErrorFields> & { ckErrorCode: string }, cause?: unknown): CKError;
    readonly prototype: CKError;
}
export interface CKError extends Error, CKErrorFields {
    readonly isError: true;
    readonly isCKError: true;
    readonly isServerError: boolean;
    readonly isServerExtensionError: boolean;
    toJSON(): CKErrorFields;
    toString(): string;
}
export const CKError: CKErrorConstructor;
