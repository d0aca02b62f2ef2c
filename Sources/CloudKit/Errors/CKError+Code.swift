import Foundation

extension CKError {
    /// The kind of a failure. Apple: iOS 8, except codes that say another version.
    public enum Code: Int, Sendable {
        /// An error inside the framework or the server. A retry does not help.
        case internalError = 1
        /// Some items failed: see `partialErrorsByItemID`. Old completion blocks and `CKSyncEngine` report it.
        case partialFailure = 2
        /// The server could not be reached; nothing was sent.
        case networkUnavailable = 3
        /// An existing connection broke.
        case networkFailure = 4
        /// The container is not known, or not configured.
        case badContainer = 5
        /// The server cannot answer now: wait `retryAfterSeconds`.
        case serviceUnavailable = 6
        /// Too many requests: wait `retryAfterSeconds`.
        case requestRateLimited = 7
        /// Exists for source compatibility: this framework needs no entitlements.
        case missingEntitlement = 8
        /// The request needs an account.
        case notAuthenticated = 9
        /// The account may not do this.
        case permissionFailure = 10
        /// There is no such record.
        case unknownItem = 11
        /// The request is malformed; the text names the fault.
        case invalidArguments = 12
        /// No longer used.
        case resultsTruncated = 13
        /// The server has another version of the record: merge into `serverRecord` and save that.
        case serverRecordChanged = 14
        /// The server refuses requests of this kind; a retry does not help.
        case serverRejectedRequest = 15
        /// An asset's file does not exist.
        case assetFileNotFound = 16
        /// An asset's file changed while it was saved.
        case assetFileModified = 17
        /// This version of the app is too old for the server.
        case incompatibleVersion = 18
        /// The value of a unique field is already used.
        case constraintViolation = 19
        /// The app cancelled the operation.
        case operationCancelled = 20
        /// The token is too old: discard the cache and fetch changes from the beginning, without a token.
        case changeTokenExpired = 21
        /// This item has no fault: another item of its atomic batch failed.
        case batchRequestFailed = 22
        /// The zone is in use: try again after a few seconds.
        case zoneBusy = 23
        /// The database cannot do this.
        case badDatabase = 24
        /// The storage is full.
        case quotaExceeded = 25
        /// There is no such zone: save it first.
        case zoneNotFound = 26
        /// The request is too large: halve it and try each half.
        case limitExceeded = 27
        /// The user deleted this zone: ask the user before uploading it again.
        case userDeletedZone = 28
        /// A share has too many participants.
        case tooManyParticipants = 29
        /// The record is part of another share.
        case alreadyShared = 30
        /// A parent or the target of a reference is missing, or a link blocks the deletion.
        case referenceViolation = 31
        /// The account's administrator does not allow this.
        case managedAccountRestricted = 32
        /// The user must verify the address of the invitation first.
        case participantMayNeedVerification = 33
        /// The answer got lost, so it is unknown whether the change was made: fetch to find out.
        case serverResponseLost = 34
        /// An asset's file cannot be read.
        case assetNotAvailable = 35
        /// There is an account that is not ready: wait for `CKAccountChanged`.
        case accountTemporarilyUnavailable = 36
        /// The participant is invited already.
        case participantAlreadyInvited = 37
    }

    /// `CKError.Code.internalError`, to be caught by its name.
    public static var internalError: CKError.Code { .internalError }
    /// `CKError.Code.partialFailure`, to be caught by its name.
    public static var partialFailure: CKError.Code { .partialFailure }
    /// `CKError.Code.networkUnavailable`, to be caught by its name.
    public static var networkUnavailable: CKError.Code { .networkUnavailable }
    /// `CKError.Code.networkFailure`, to be caught by its name.
    public static var networkFailure: CKError.Code { .networkFailure }
    /// `CKError.Code.badContainer`, to be caught by its name.
    public static var badContainer: CKError.Code { .badContainer }
    /// `CKError.Code.serviceUnavailable`, to be caught by its name.
    public static var serviceUnavailable: CKError.Code { .serviceUnavailable }
    /// `CKError.Code.requestRateLimited`, to be caught by its name.
    public static var requestRateLimited: CKError.Code { .requestRateLimited }
    /// `CKError.Code.missingEntitlement`, to be caught by its name.
    public static var missingEntitlement: CKError.Code { .missingEntitlement }
    /// `CKError.Code.notAuthenticated`, to be caught by its name.
    public static var notAuthenticated: CKError.Code { .notAuthenticated }
    /// `CKError.Code.permissionFailure`, to be caught by its name.
    public static var permissionFailure: CKError.Code { .permissionFailure }
    /// `CKError.Code.unknownItem`, to be caught by its name.
    public static var unknownItem: CKError.Code { .unknownItem }
    /// `CKError.Code.invalidArguments`, to be caught by its name.
    public static var invalidArguments: CKError.Code { .invalidArguments }
    /// `CKError.Code.resultsTruncated`, to be caught by its name.
    public static var resultsTruncated: CKError.Code { .resultsTruncated }
    /// `CKError.Code.serverRecordChanged`, to be caught by its name.
    public static var serverRecordChanged: CKError.Code { .serverRecordChanged }
    /// `CKError.Code.serverRejectedRequest`, to be caught by its name.
    public static var serverRejectedRequest: CKError.Code { .serverRejectedRequest }
    /// `CKError.Code.assetFileNotFound`, to be caught by its name.
    public static var assetFileNotFound: CKError.Code { .assetFileNotFound }
    /// `CKError.Code.assetFileModified`, to be caught by its name.
    public static var assetFileModified: CKError.Code { .assetFileModified }
    /// `CKError.Code.incompatibleVersion`, to be caught by its name.
    public static var incompatibleVersion: CKError.Code { .incompatibleVersion }
    /// `CKError.Code.constraintViolation`, to be caught by its name.
    public static var constraintViolation: CKError.Code { .constraintViolation }
    /// `CKError.Code.operationCancelled`, to be caught by its name.
    public static var operationCancelled: CKError.Code { .operationCancelled }
    /// `CKError.Code.changeTokenExpired`, to be caught by its name.
    public static var changeTokenExpired: CKError.Code { .changeTokenExpired }
    /// `CKError.Code.batchRequestFailed`, to be caught by its name.
    public static var batchRequestFailed: CKError.Code { .batchRequestFailed }
    /// `CKError.Code.zoneBusy`, to be caught by its name.
    public static var zoneBusy: CKError.Code { .zoneBusy }
    /// `CKError.Code.badDatabase`, to be caught by its name.
    public static var badDatabase: CKError.Code { .badDatabase }
    /// `CKError.Code.quotaExceeded`, to be caught by its name.
    public static var quotaExceeded: CKError.Code { .quotaExceeded }
    /// `CKError.Code.zoneNotFound`, to be caught by its name.
    public static var zoneNotFound: CKError.Code { .zoneNotFound }
    /// `CKError.Code.limitExceeded`, to be caught by its name.
    public static var limitExceeded: CKError.Code { .limitExceeded }
    /// `CKError.Code.userDeletedZone`, to be caught by its name.
    public static var userDeletedZone: CKError.Code { .userDeletedZone }
    /// `CKError.Code.tooManyParticipants`, to be caught by its name.
    public static var tooManyParticipants: CKError.Code { .tooManyParticipants }
    /// `CKError.Code.alreadyShared`, to be caught by its name.
    public static var alreadyShared: CKError.Code { .alreadyShared }
    /// `CKError.Code.referenceViolation`, to be caught by its name.
    public static var referenceViolation: CKError.Code { .referenceViolation }
    /// `CKError.Code.managedAccountRestricted`, to be caught by its name.
    public static var managedAccountRestricted: CKError.Code { .managedAccountRestricted }
    /// `CKError.Code.participantMayNeedVerification`, to be caught by its name.
    public static var participantMayNeedVerification: CKError.Code { .participantMayNeedVerification }
    /// `CKError.Code.serverResponseLost`, to be caught by its name.
    public static var serverResponseLost: CKError.Code { .serverResponseLost }
    /// `CKError.Code.assetNotAvailable`, to be caught by its name.
    public static var assetNotAvailable: CKError.Code { .assetNotAvailable }
    /// `CKError.Code.accountTemporarilyUnavailable`, to be caught by its name.
    public static var accountTemporarilyUnavailable: CKError.Code { .accountTemporarilyUnavailable }
    /// `CKError.Code.participantAlreadyInvited`, to be caught by its name.
    public static var participantAlreadyInvited: CKError.Code { .participantAlreadyInvited }
}

extension CKError.Code {
    /// Matches an error with this code, as in `catch CKError.zoneBusy`.
    public static func ~= (code: CKError.Code, error: any Error) -> Bool {
        if let error = error as? CKError { return error.code == code }
        let error = error as NSError
        return error.domain == CKErrorDomain && error.code == code.rawValue
    }
}
