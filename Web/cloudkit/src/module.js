/** The library as a module. */

import { CloudKit, setScriptURL } from "./cloudkit.js";

setScriptURL(import.meta.url);

export default CloudKit;
export const {
    VERSION, BUILD_VERSION, WS_API_VERSION, CLOUDKIT_LOADED, DEVELOPMENT_ENVIRONMENT, PRODUCTION_ENVIRONMENT, AppleIDButtonTheme, DatabaseScope,
    QueryFilterComparator, ReferenceAction, ShareParticipantAcceptanceStatus, ShareParticipantPermission, ShareParticipantType, ShareRecordType,
    SubscriptionType, configure, getAllContainers, getContainer, getDefaultContainer, toRecordReference, CKError, Container, Database,
    RecordsBatchBuilder, SyncEngine, Response, RecordsResponse, QueryResponse, RecordZonesResponse, SubscriptionsResponse, UserIdentitiesResponse,
    RecordInfosResponse, DatabaseChangesResponse, RecordZoneChangesResponse, Notification, QueryNotification, RecordZoneNotification,
} = CloudKit;
