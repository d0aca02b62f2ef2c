import NacreCloudStorage
import NacreCloudWire
import NacreEncryptionForms

/// The errors of requests about keys. On this server: CloudKit has no such requests.
extension ServerError {
    static let keysAreInPrivateDatabase = ServerError(
        .badRequest, "endpoint not applicable in the database type", native: .badDatabase, field: "database",
        remedy: "Keys are kept in their user's private database.")

    static func malformedKey(_ field: String, _ fault: FormFault) -> ServerError {
        ServerError(.badRequest, "the bytes are not the form that belongs here", field: field, remedy: "\(fault).")
    }

    static func statementRefused(_ fault: KeyLogFault) -> ServerError {
        switch fault {
        case .notNext:
            ServerError(
                .conflict, "the statement does not follow the newest one", field: "statement",
                remedy: "Read the log with keys/log, and make the statement anew.")
        case .tooLong:
            ServerError(
                .badRequest, "the account has as many statements or devices as it may have", native: .limitExceeded, internalCode: 2023,
                field: "statement", remedy: "\(fault).")
        default: ServerError(.badRequest, "the statement is not valid in this log", field: "statement", remedy: "\(fault).")
        }
    }

    static let tooManyStatements = ServerError(
        .badRequest, "the account has as many statements as it may have (\(Limits.keyStatementsPerAccount))", native: .limitExceeded,
        internalCode: 2023, field: "statement", remedy: "Removals of devices and a reset are still taken.")

    static let otherAccountsStatement = ServerError(
        .badRequest, "the statement is of another account", field: "statement",
        remedy: "The first statement names the container, the environment and the user who sends it.")

    static let accountHasKeys = ServerError(
        .conflict, "the account has keys", field: "statement",
        remedy: "Add this device with a device of the account or its recovery key, or end the log with a signed reset.")

    static func wrapsRefused(_ reason: String) -> ServerError {
        ServerError(.badRequest, "the sealed keys are not those that belong with it", field: "wraps", remedy: reason)
    }

    static func olderKeyRefused(isNeeded: Bool) -> ServerError {
        ServerError(
            .badRequest, "the older key is not the one that belongs with it", field: "olderKey",
            remedy: isNeeded
                ? "Seal the key before under the new one, and name the new one." : "Leave olderKey out where there is no new key.")
    }

    static let treeIsSmaller = ServerError(
        .badRequest, ServerError.treeIsSmallerReason, field: "treeSize",
        remedy: "The server has lost statements about keys, or shows another tree: keep the head that you have seen, and tell its operator.")

    // MARK: Enrolment

    static let enrolmentMessageTooLarge = ServerError(
        .badRequest, "the message is larger than one may be (\(Limits.enrolmentMessageBytes) bytes)", native: .limitExceeded,
        internalCode: 2023, field: "message")

    static let tooManyEnrolments = ServerError(
        .badRequest, "as many devices wait to be enrolled as may at a time (\(Limits.enrolmentsPerAccount))", native: .limitExceeded,
        internalCode: 2023, field: "message", remedy: "Wait: each is forgotten after \(Int(Limits.enrolmentSeconds)) seconds.")

    static let tooManyEnrolmentsOfOne = ServerError(
        .badRequest, "this sign-in waits to be enrolled as often as it may at a time (\(Limits.enrolmentsPerSignIn))", native: .limitExceeded,
        internalCode: 2023, field: "message", remedy: "Wait: each is forgotten after \(Int(Limits.enrolmentSeconds)) seconds.")

    static let enrolmentNotFound = ServerError(
        .notFound, "no device waits for this message", field: "message",
        remedy: "A commitment is kept for \(Int(Limits.enrolmentSeconds)) seconds. Begin anew, with another random number.")

    static let enrolmentOpenedTooEarly = ServerError(
        .badRequest, "the commitment has no answer yet", field: "message",
        remedy: "Wait for the answer: an opening before it gives the code away.")

    /// - Parameter part: `answer` or `opening`.
    static func enrolmentGoesOn(_ part: String) -> ServerError {
        ServerError(
            .conflict, "the commitment has another \(part)", field: "message", remedy: "Begin anew, with another random number.")
    }

    // MARK: Scopes

    static let noKeys = ServerError(
        .badRequest, "the account has no keys", field: "manifest", remedy: "Begin the account's log with keys/append.")

    static let otherZonesManifest = ServerError(
        .badRequest, "the manifest is of another zone", field: "manifest",
        remedy: "A manifest names the container, the environment, the user who sends it, and the zone of the request.")

    static let sharedByLink = ServerError(
        .badRequest, "keys of links to shares of records are not built yet", field: "manifest",
        remedy: "The link of such a scope has no permission, and it has no links.")

    static let otherSharesManifest = ServerError(
        .badRequest, "the manifest is of the scope of another share", field: "manifest",
        remedy: "The scope of a share of records has a root, and an ID that is made of the share's name. Name the share of the manifest.")

    static let tooManyScopes = ServerError(
        .badRequest, "the zone has as many scopes of shares as it may have (\(Limits.recordSharesPerZone))", native: .limitExceeded,
        internalCode: 2023, field: "share", remedy: "Those of shares that have ended count too. Share records of another zone.")

    static func valueOfOtherScope(_ field: String) -> ServerError {
        ServerError(
            .badRequest, "the value is sealed for another scope than the record's manifest", field: field,
            remedy: "Seal all encrypted values of a record for its new zone or share, or clear them.")
    }

    /// - Parameter isShared: whether the record is below the root of a share that has a scope.
    static func otherScope(_ part: String, isShared: Bool) -> ServerError {
        ServerError(
            .badRequest, otherScopeReason, field: part,
            remedy: isShared
                ? "The record is in a share of records: seal it with the keys of that share."
                : "The record is in no share of records that has keys: seal it with the keys of the zone.")
    }

    static let scopeManifestTooLarge = ServerError(
        .badRequest, "the manifest is larger than one may be (\(Limits.scopeManifestBytes) bytes)", native: .limitExceeded, internalCode: 2023,
        field: "manifest", remedy: "Seal old data anew, and raise the oldest version.")

    static let tooManyManifests = ServerError(
        .badRequest, "the scope has as many manifests as it may have (\(ScopeAddition.manifestsPerScope))", native: .limitExceeded,
        internalCode: 2023, field: "manifest")

    static let scopeManifestFromTheFuture = ServerError(
        .badRequest, "the stamp of the manifest lies more than a day ahead", field: "manifest",
        remedy: "Set the device's clock, make the manifest anew, and send it again.")

    static func versionLeftOut(next: UInt32) -> ServerError {
        ServerError(.badRequest, "a version of the key is left out", field: "manifest", remedy: "The next version is \(next).")
    }

    static func manifestRefused(_ fault: ScopeFault) -> ServerError {
        guard case .notNext = fault else {
            return ServerError(.badRequest, "the manifest is not valid in this scope", field: "manifest", remedy: "\(fault).")
        }
        return ServerError(
            .conflict, "the manifest does not follow the newest one", field: "manifest",
            remedy: "Read the scope with keys/scopes/list and the log with keys/log, and make the manifest anew.")
    }

    // MARK: Links

    static func linksRefused(_ reason: String) -> ServerError {
        ServerError(.badRequest, "the links are not those that belong with it", field: "links", remedy: reason)
    }

    static func joiningRefused(_ reason: String) -> ServerError {
        ServerError(.badRequest, "the word of who joins does not belong here", field: "joining", remedy: reason)
    }

    static let linkHasOtherKey = ServerError(
        .conflict, "the link opens another key now", field: "joining",
        remedy: "Read the scope with keys/scopes/list, and join anew. A one-time link that was used opens nothing.")
}
