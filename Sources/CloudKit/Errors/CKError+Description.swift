import Foundation

extension CKError: CustomStringConvertible {
    /// The error in the form of CloudKit's logs, without addresses and identifiers. A partial failure has one more line
    /// for each item, sorted by text.
    public var description: String {
        var parts = ["<CKError: \"\(code.title)\" (\(numbers))"]
        if let text = userInfo[NSLocalizedDescriptionKey] as? String { parts.append("\"\(text)\"") }
        for key in DetailKey.allCases {
            if let value = userInfo[key.rawValue] { parts.append("\(key.rawValue) = \(value)") }
        }
        if let seconds = retryAfterSeconds { parts.append("retry after \(seconds) s") }
        if let underlying = userInfo[NSUnderlyingErrorKey] as? NSError, underlying.domain != CKError.internalErrorDomain {
            parts.append("underlying = \(underlying.domain) \(underlying.code)")
        }
        if let items = partialErrorsByItemID, !items.isEmpty {
            let lines = items.map { "    \(Self.name(ofItem: $0.key.base)) = \($0.value)" }.sorted()
            parts.append("partial errors: {\n\(lines.joined(separator: "\n"))\n}")
        }
        return parts.joined(separator: "; ") + ">"
    }

    private static func name(ofItem id: Any) -> String {
        switch id {
        case let id as CKRecord.ID: "\(id.recordName):(\(id.zoneID.zoneName):\(id.zoneID.ownerName))"
        case let id as CKRecordZone.ID: "\(id.zoneName):(\(id.ownerName))"
        default: "\(id)"
        }
    }

    /// The code, with the finer code behind a slash if there is one: 14/2004.
    private var numbers: String {
        guard let finer = internalCode else { return "\(errorCode)" }
        return "\(errorCode)/\(finer)"
    }
}

extension CKError.Code {
    /// The code's name in CloudKit's logs.
    var title: String {
        switch self {
        case .internalError: "Internal Error"
        case .partialFailure: "Partial Failure"
        case .networkUnavailable: "Network Unavailable"
        case .networkFailure: "Network Failure"
        case .badContainer: "Bad Container"
        case .serviceUnavailable: "Service Unavailable"
        case .requestRateLimited: "Request Rate Limited"
        case .missingEntitlement: "Missing Entitlement"
        case .notAuthenticated: "Not Authenticated"
        case .permissionFailure: "Permission Failure"
        case .unknownItem: "Unknown Item"
        case .invalidArguments: "Invalid Arguments"
        case .resultsTruncated: "Results Truncated"
        case .serverRecordChanged: "Server Record Changed"
        case .serverRejectedRequest: "Server Rejected Request"
        case .assetFileNotFound: "Asset File Not Found"
        case .assetFileModified: "Asset File Modified"
        case .incompatibleVersion: "Incompatible Version"
        case .constraintViolation: "Constraint Violation"
        case .operationCancelled: "Operation Cancelled"
        case .changeTokenExpired: "Change Token Expired"
        case .batchRequestFailed: "Batch Request Failed"
        case .zoneBusy: "Zone Busy"
        case .badDatabase: "Bad Database"
        case .quotaExceeded: "Quota Exceeded"
        case .zoneNotFound: "Zone Not Found"
        case .limitExceeded: "Limit Exceeded"
        case .userDeletedZone: "User Deleted Zone"
        case .tooManyParticipants: "Too Many Participants"
        case .alreadyShared: "Already Shared"
        case .referenceViolation: "Reference Violation"
        case .managedAccountRestricted: "Managed Account Restricted"
        case .participantMayNeedVerification: "Participant May Need Verification"
        case .serverResponseLost: "Server Response Lost"
        case .assetNotAvailable: "Asset Not Available"
        case .accountTemporarilyUnavailable: "Account Temporarily Unavailable"
        case .participantAlreadyInvited: "Participant Already Invited"
        }
    }
}
