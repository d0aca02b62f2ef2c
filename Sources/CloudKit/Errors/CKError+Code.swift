import Foundation

extension CKError {
    /// What kind of failure it is. Apple: iOS 8, later ones as said.
    public enum Code: Int, Sendable {
        /// Something went wrong inside the framework or the server; trying again does not help.
        case internalError = 1
        /// Some items failed: see `partialErrorsByItemID`. Only old completion blocks say it.
        case partialFailure = 2
        /// The server could not be reached; nothing was sent.
        case networkUnavailable = 3
        /// The connection broke after it was there.
        case networkFailure = 4
        /// The container is not known, or not configured.
        case badContainer = 5
        /// The server cannot answer now: wait `retryAfterSeconds`.
        case serviceUnavailable = 6
        /// Too many requests: wait `retryAfterSeconds`.
        case requestRateLimited = 7
        /// Kept for source compatibility: nothing here needs an entitlement.
        case missingEntitlement = 8
        /// The request needs an account.
        case notAuthenticated = 9
        /// The account may not do this.
        case permissionFailure = 10
        /// There is no such record.
        case unknownItem = 11
        /// The request is malformed; the text names what.
        case invalidArguments = 12
        /// Never returned any more.
        case resultsTruncated = 13
        /// The record on the server is another version: merge into `serverRecord` and save that.
        case serverRecordChanged = 14
        /// The server refuses such requests; trying again does not help.
        case serverRejectedRequest = 15
        /// An asset's file is not there.
        case assetFileNotFound = 16
        /// An asset's file changed while it was saved.
        case assetFileModified = 17
        /// This version of the app is too old for the server.
        case incompatibleVersion = 18
        /// A field that must be unique is not.
        case constraintViolation = 19
        /// The app cancelled the operation.
        case operationCancelled = 20
        /// Throw the cache away and fetch changes from the beginning, without a token.
        case changeTokenExpired = 21
        /// Nothing is wrong with this item: another one of its atomic batch failed.
        case batchRequestFailed = 22
        /// The zone is in use: try again after a few seconds.
        case zoneBusy = 23
        /// The database cannot do this.
        case badDatabase = 24
        /// The storage is full.
        case quotaExceeded = 25
        /// There is no such zone: save it first.
        case zoneNotFound = 26
        /// Too much in one request: halve it and try each half.
        case limitExceeded = 27
        /// The user deleted this zone: ask before uploading it again.
        case userDeletedZone = 28
        /// A share has too many participants.
        case tooManyParticipants = 29
        /// The record is part of another share.
        case alreadyShared = 30
        /// A parent or the target of a reference is missing, or a link blocks the deletion.
        case referenceViolation = 31
        /// The account's administrator does not allow this.
        case managedAccountRestricted = 32
        /// The invitation must be opened by the user first.
        case participantMayNeedVerification = 33
        /// The answer never came, and whether the change happened is unknown: fetch to see.
        case serverResponseLost = 34
        /// An asset's file cannot be read.
        case assetNotAvailable = 35
        /// There is an account, but not ready: wait for `CKAccountChanged`.
        case accountTemporarilyUnavailable = 36
        /// The participant is invited already.
        case participantAlreadyInvited = 37
    }

    public static var internalError: CKError.Code { .internalError }
    public static var partialFailure: CKError.Code { .partialFailure }
    public static var networkUnavailable: CKError.Code { .networkUnavailable }
    public static var networkFailure: CKError.Code { .networkFailure }
    public static var badContainer: CKError.Code { .badContainer }
    public static var serviceUnavailable: CKError.Code { .serviceUnavailable }
    public static var requestRateLimited: CKError.Code { .requestRateLimited }
    public static var missingEntitlement: CKError.Code { .missingEntitlement }
    public static var notAuthenticated: CKError.Code { .notAuthenticated }
    public static var permissionFailure: CKError.Code { .permissionFailure }
    public static var unknownItem: CKError.Code { .unknownItem }
    public static var invalidArguments: CKError.Code { .invalidArguments }
    public static var resultsTruncated: CKError.Code { .resultsTruncated }
    public static var serverRecordChanged: CKError.Code { .serverRecordChanged }
    public static var serverRejectedRequest: CKError.Code { .serverRejectedRequest }
    public static var assetFileNotFound: CKError.Code { .assetFileNotFound }
    public static var assetFileModified: CKError.Code { .assetFileModified }
    public static var incompatibleVersion: CKError.Code { .incompatibleVersion }
    public static var constraintViolation: CKError.Code { .constraintViolation }
    public static var operationCancelled: CKError.Code { .operationCancelled }
    public static var changeTokenExpired: CKError.Code { .changeTokenExpired }
    public static var batchRequestFailed: CKError.Code { .batchRequestFailed }
    public static var zoneBusy: CKError.Code { .zoneBusy }
    public static var badDatabase: CKError.Code { .badDatabase }
    public static var quotaExceeded: CKError.Code { .quotaExceeded }
    public static var zoneNotFound: CKError.Code { .zoneNotFound }
    public static var limitExceeded: CKError.Code { .limitExceeded }
    public static var userDeletedZone: CKError.Code { .userDeletedZone }
    public static var tooManyParticipants: CKError.Code { .tooManyParticipants }
    public static var alreadyShared: CKError.Code { .alreadyShared }
    public static var referenceViolation: CKError.Code { .referenceViolation }
    public static var managedAccountRestricted: CKError.Code { .managedAccountRestricted }
    public static var participantMayNeedVerification: CKError.Code { .participantMayNeedVerification }
    public static var serverResponseLost: CKError.Code { .serverResponseLost }
    public static var assetNotAvailable: CKError.Code { .assetNotAvailable }
    public static var accountTemporarilyUnavailable: CKError.Code { .accountTemporarilyUnavailable }
    public static var participantAlreadyInvited: CKError.Code { .participantAlreadyInvited }
}

extension CKError.Code {
    /// Lets `catch CKError.zoneBusy` match.
    public static func ~= (code: CKError.Code, error: any Error) -> Bool {
        if let error = error as? CKError { return error.code == code }
        let error = error as NSError
        return error.domain == CKErrorDomain && error.code == code.rawValue
    }
}
