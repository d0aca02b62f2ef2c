/// An error of the server: for web clients a code of a closed set and a reason; for the framework its own code as
/// well.
///
/// `reason` is static text (CloudKit's own where it is known); variable values have members of their own.
package struct ServerError: Error, Equatable, Sendable {
    package var code: ServerErrorCode
    package var reason: String
    /// Seconds to wait before a retry.
    package var retryAfter: Int?
    /// The URL where a user can sign in.
    package var redirectURL: String?
    /// `CKError.Code`'s raw value.
    package var nativeCode: Int
    /// The finer code that CloudKit's own logs show beside it, such as 2004.
    package var internalCode: Int?
    /// The request's key, or the record's field, that is at fault.
    package var field: String?
    /// The remedy in one line for people.
    package var remedy: String?
    /// The server's record, when a save met another version.
    package var serverRecord: Box<Record>?

    /// The reason of a save under a key that is not the newest of its scope. Clients know it by this text: they fetch
    /// the keys, and seal again.
    package static let keyIsNotNewestReason: String = "the key of this encrypted value is not the newest of its scope"

    /// The reason of a save that is sealed for another scope than that of the record's place. Clients know it by this
    /// text: they look for the record's share, and seal again.
    package static let otherScopeReason: String = "the record is sealed for another scope than that of its zone or share"

    /// The reason of a save without a manifest that changes what the record's manifest binds. Clients know it by this
    /// text: one that has not seen the record fetches it, and makes the manifest anew.
    package static let manifestMissingReason: String = "the record has a manifest, and this change needs a new one"

    /// The reason of a request about a zone that went with a reset of its user's keys. Clients know it by this text.
    package static let encryptedDataResetReason: String = "Zone was deleted because its user has reset encrypted data"

    /// The reason of a request that names a larger tree of logs than the server has. Clients know it by this text.
    package static let treeIsSmallerReason: String = "the tree of logs is smaller than the one that this client has seen"

    package init(
        _ code: ServerErrorCode, _ reason: String, native: NativeErrorCode? = nil, internalCode: Int? = nil, field: String? = nil,
        remedy: String? = nil, retryAfter: Int? = nil, redirectURL: String? = nil, serverRecord: Record? = nil
    ) {
        self.code = code
        self.reason = reason
        self.nativeCode = (native ?? code.native).rawValue
        self.internalCode = internalCode
        self.field = field
        self.remedy = remedy
        self.retryAfter = retryAfter
        self.redirectURL = redirectURL
        self.serverRecord = serverRecord.map(Box.init)
    }
}

/// Keeps a large value out of line, so that the type that contains it stays small.
package final class Box<Value: Equatable & Sendable>: Equatable, Sendable {
    package let value: Value

    package init(_ value: Value) {
        self.value = value
    }

    package static func == (left: Box, right: Box) -> Bool { left.value == right.value }
}

/// `serverErrorCode`: the closed set of fourteen that web clients decode. CloudKit: Web Services Reference, "Error
/// Codes".
package enum ServerErrorCode: String, Hashable, Sendable, CaseIterable {
    case accessDenied = "ACCESS_DENIED"
    case atomicError = "ATOMIC_ERROR"
    case authenticationFailed = "AUTHENTICATION_FAILED"
    case authenticationRequired = "AUTHENTICATION_REQUIRED"
    case badRequest = "BAD_REQUEST"
    case conflict = "CONFLICT"
    case exists = "EXISTS"
    case internalError = "INTERNAL_ERROR"
    case notFound = "NOT_FOUND"
    case quotaExceeded = "QUOTA_EXCEEDED"
    case throttled = "THROTTLED"
    case tryAgainLater = "TRY_AGAIN_LATER"
    case validatingReferenceError = "VALIDATING_REFERENCE_ERROR"
    case zoneNotFound = "ZONE_NOT_FOUND"

    /// The HTTP status of an answer that consists of this error.
    package var status: Int {
        switch self {
        case .badRequest, .atomicError: 400
        case .authenticationFailed: 401
        case .accessDenied: 403
        case .notFound, .zoneNotFound: 404
        case .conflict, .exists: 409
        case .validatingReferenceError: 412
        case .quotaExceeded: 413
        case .authenticationRequired: 421
        case .throttled: 429
        case .internalError: 500
        case .tryAgainLater: 503
        }
    }

    /// The framework's code, where the code that throws the error does not give a more exact one.
    package var native: NativeErrorCode {
        switch self {
        case .accessDenied: .permissionFailure
        case .atomicError: .batchRequestFailed
        case .authenticationFailed, .authenticationRequired: .notAuthenticated
        case .badRequest: .invalidArguments
        case .conflict, .exists: .serverRecordChanged
        case .internalError: .internalError
        case .notFound: .unknownItem
        case .quotaExceeded: .quotaExceeded
        case .throttled: .requestRateLimited
        case .tryAgainLater: .serviceUnavailable
        case .validatingReferenceError: .referenceViolation
        case .zoneNotFound: .zoneNotFound
        }
    }
}

/// Finer codes that a client decides by. CloudKit's logs show them beside `CKError.Code`.
package enum InternalErrorCode {
    /// The zone does not exist. Beside `changeTokenExpired`: the zone of the token does not, but another of its name.
    package static let zoneNotFound = 2036
}

/// `CKError.Code`, by its raw values. CloudKit: CKError.h.
package enum NativeErrorCode: Int, Hashable, Sendable, CaseIterable {
    case internalError = 1
    case partialFailure = 2
    case networkUnavailable = 3
    case networkFailure = 4
    case badContainer = 5
    case serviceUnavailable = 6
    case requestRateLimited = 7
    case missingEntitlement = 8
    case notAuthenticated = 9
    case permissionFailure = 10
    case unknownItem = 11
    case invalidArguments = 12
    case resultsTruncated = 13
    case serverRecordChanged = 14
    case serverRejectedRequest = 15
    case assetFileNotFound = 16
    case assetFileModified = 17
    case incompatibleVersion = 18
    case constraintViolation = 19
    case operationCancelled = 20
    case changeTokenExpired = 21
    case batchRequestFailed = 22
    case zoneBusy = 23
    case badDatabase = 24
    case quotaExceeded = 25
    case zoneNotFound = 26
    case limitExceeded = 27
    case userDeletedZone = 28
    case tooManyParticipants = 29
    case alreadyShared = 30
    case referenceViolation = 31
    case managedAccountRestricted = 32
    case participantMayNeedVerification = 33
    case serverResponseLost = 34
    case assetNotAvailable = 35
    case accountTemporarilyUnavailable = 36
    case participantAlreadyInvited = 37
}
