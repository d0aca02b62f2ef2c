/** Names and values that pages use in place of texts. */

export const CLOUDKIT_LOADED = "cloudkitloaded";
export const DEVELOPMENT_ENVIRONMENT = "development";
export const PRODUCTION_ENVIRONMENT = "production";
/** The version of the Web Services API. */
export const WS_API_VERSION = 1;

/**
 * @template {string} T
 * @param {T[]} names
 * @returns {{ readonly [name in T]: name }}
 */
function named(names) {
    return /** @type {any} */ (Object.freeze(Object.fromEntries(names.map((name) => [name, name]))));
}

/** Themes of buttons. A button has its theme in `data-theme`; the page styles it. */
export const AppleIDButtonTheme = Object.freeze(/** @type {const} */ ({
    MEDIUM: "medium", BLACK: "black", WHITE: "white", WHITE_WITH_OUTLINE: "white-with-outline",
}));

export const DatabaseScope = named(["PUBLIC", "PRIVATE", "SHARED"]);

export const QueryFilterComparator = named([
    "EQUALS", "NOT_EQUALS", "LESS_THAN", "LESS_THAN_OR_EQUALS", "GREATER_THAN", "GREATER_THAN_OR_EQUALS", "NEAR",
    "CONTAINS_ALL_TOKENS", "CONTAINS_ANY_TOKENS", "IN", "NOT_IN", "LIST_CONTAINS", "NOT_LIST_CONTAINS", "LIST_CONTAINS_ANY",
    "NOT_LIST_CONTAINS_ANY", "LIST_CONTAINS_ALL", "NOT_LIST_CONTAINS_ALL", "BEGINS_WITH", "NOT_BEGINS_WITH",
    "LIST_MEMBER_BEGINS_WITH", "NOT_LIST_MEMBER_BEGINS_WITH",
]);

export const ReferenceAction = named(["NONE", "DELETE_SELF", "VALIDATE"]);

export const ShareParticipantAcceptanceStatus = named(["ACCEPTED", "PENDING", "UNKNOWN"]);

export const ShareParticipantPermission = named(["NONE", "READ_ONLY", "READ_WRITE", "UNKNOWN"]);

export const ShareParticipantType = named(["OWNER", "PRIVATE_USER", "PUBLIC_USER", "UNKNOWN"]);

export const ShareRecordType = Object.freeze(/** @type {const} */ ({
    NAME: "cloudkit.share", TITLE_FIELD_NAME: "cloudkit.title", TYPE_FIELD_NAME: "cloudkit.type",
    THUMBNAIL_IMAGE_DATA_FIELD_NAME: "cloudkit.thumbnailImageData",
}));

export const SubscriptionType = Object.freeze(/** @type {const} */ ({ QUERY: "query", RECORD_ZONE: "zone", DATABASE: "database" }));

/** Codes that a server answers. */
export const serverErrorCodes = /** @type {const} */ ([
    "ACCESS_DENIED", "ATOMIC_ERROR", "AUTHENTICATION_FAILED", "AUTHENTICATION_REQUIRED", "BAD_REQUEST", "CONFLICT", "EXISTS", "INTERNAL_ERROR",
    "NOT_FOUND", "QUOTA_EXCEEDED", "THROTTLED", "TRY_AGAIN_LATER", "UNIQUE_FIELD_ERROR", "VALIDATING_REFERENCE_ERROR", "ZONE_NOT_FOUND",
]);

/** Codes of faults that this library finds by itself. */
export const localErrorCodes = /** @type {const} */ ([
    "AUTH_PERSIST_ERROR", "CONFIGURATION_ERROR", "ENCRYPTION_KEYS_REQUIRED", "ENCRYPTION_REFUSED", "INVALID_ARGUMENTS", "NETWORK_ERROR",
    "OPERATION_CANCELLED", "PARTIAL_FAILURE", "SERVICE_UNAVAILABLE", "SHARE_UI_TIMEOUT", "SIGN_IN_FAILED",
    "UNEXPECTED_SERVER_RESPONSE", "UNKNOWN_ERROR",
]);
