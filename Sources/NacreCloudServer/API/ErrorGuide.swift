package import NacreCloudWire

/// An explanation of an error for the developer who meets it. One table serves `nacre explain`, the server's page
/// `/errors` and `docs/errors.md`.
package struct ErrorGuide: Hashable, Sendable {
    /// A code of CloudKit Web Services, or the name of a case of `CKError.Code`.
    package let name: String
    /// Status of an answer whose whole content is this error; nil for an error that only the framework has.
    package let status: Int?
    /// The raw value of the `CKError.Code` that the framework throws, unless the error carries a more exact one.
    package let native: NativeErrorCode
    /// The situation that causes the error.
    package let cause: String
    /// The remedy.
    package let fix: String

    /// The framework's notation, such as `CKError.serverRecordChanged (14)`.
    package var framework: String { "CKError.\(native) (\(native.rawValue))" }

    /// The codes of CloudKit Web Services in alphabetical order, then the framework's by number.
    package static let all = ServerErrorCode.allCases.map(ErrorGuide.init) + NativeErrorCode.allCases.map(ErrorGuide.init)

    /// Finds an error by either kind of code, ignoring case, or by the number of a `CKError.Code`. A code of CloudKit
    /// Web Services comes first.
    package static func find(_ text: String) -> ErrorGuide? {
        if let number = Int(text) { return NativeErrorCode(rawValue: number).map(ErrorGuide.init) }
        return all.first { $0.name.lowercased() == text.lowercased() }
    }

    /// The codes of CloudKit Web Services whose answers have an HTTP status.
    package static func ofAnswers(with status: Int) -> [ErrorGuide] { all.filter { $0.status == status } }

    private init(_ code: ServerErrorCode) {
        (name, status, native) = (code.rawValue, code.status, code.native)
        (cause, fix) = (Self.cause(of: code), Self.fix(of: code))
    }

    private init(_ code: NativeErrorCode) {
        (name, status, native) = ("\(code)", nil, code)
        (cause, fix) = Self.texts(code)
    }

    private static func cause(of code: ServerErrorCode) -> String {
        switch code {
        case .accessDenied:
            "The caller may not do this: no security role of the record type grants it, or the server does not answer under the host's name."
        case .atomicError:
            "Another record or zone of the same atomic batch failed, so nothing of the batch was done."
        case .authenticationFailed:
            "The credential is unknown, revoked, expired, or made for another container or environment; a signature does not fit its request; or the "
                + "page's origin is not one of the API token's."
        case .authenticationRequired:
            "The database belongs to a user, and the request carries none or one that has ended."
        case .badRequest:
            "The request cannot be understood, breaks a rule, or goes beyond a limit. reason and the key at fault say which."
        case .conflict:
            "The record on the server is not the one that the change was made from: its recordChangeTag has moved on."
        case .exists:
            "Something of that name, or a subscription of that content, is there already."
        case .internalError:
            "The server failed. The request changed nothing, or all that it says it changed."
        case .notFound:
            "The record, subscription, asset, record type of a query, or endpoint is not there, or the caller may not know of it."
        case .quotaExceeded:
            "The database holds as many bytes as its quota allows, or the change would go beyond it."
        case .throttled:
            "The caller did more work than its rate allows, saves faster than devices are told, or waits for changes too many times at once."
        case .tryAgainLater:
            "The server cannot do it now: it is starting or ending, or out of room for requests, answers or disk."
        case .validatingReferenceError:
            "A reference leads to no record, or a deletion would leave one behind that must not lose its target."
        case .zoneNotFound:
            "There is no zone of that name in the database."
        }
    }

    private static func fix(of code: ServerErrorCode) -> String {
        switch code {
        case .accessDenied:
            "Ask nacre role why for records; nacre serve takes further names by --host."
        case .atomicError:
            "Look for the item with another code, mend that one, and send the whole batch again."
        case .authenticationFailed:
            "Compare container, environment and origins with nacre token list, and the clock of the machine that signs."
        case .authenticationRequired:
            "Sign in at redirectURL and send ckWebAuthToken beside ckAPIToken, or send an account token."
        case .badRequest:
            "Change what reason names. /limits lists every limit; docs/wire.md lists what each endpoint takes."
        case .conflict:
            "Fetch the record, make the change on that version, and save it again; or use forceUpdate where the last writer may win."
        case .exists:
            "Update it, or take another name; reason names the subscription that is there."
        case .internalError:
            "Look for the request's UUID in the server's log; try again with the same operation."
        case .notFound:
            "Check names, zone, database and environment; nacre schema export shows the record types."
        case .quotaExceeded:
            "Delete records, which is always possible, or ask the administrator: nacre quota set."
        case .throttled:
            "Wait for retryAfter seconds. The framework throws requestRateLimited with that time; nacre rate show tells what is set."
        case .tryAgainLater:
            "Wait for retryAfter seconds and try again; the server's log says what is full."
        case .validatingReferenceError:
            "Save the target before or with the record, and delete what refers to a record before or with it."
        case .zoneNotFound:
            "Make it by zones/modify, or fetch the zones again: it may have been deleted elsewhere."
        }
    }

    private static func texts(_ code: NativeErrorCode) -> (cause: String, fix: String) {
        switch code {
        case .tooManyParticipants:
            ("A share would have more participants than it may.", "Take participants out first; /limits tells how many there may be.")
        case .participantAlreadyInvited: ("Access to a share is asked for by somebody who may take part in it already.", "Accept the share.")
        case .participantMayNeedVerification:
            ("A share is for an address that the account has not verified.", "Follow the link of the verifying mail, or ask for nacre user verify.")
        case .internalError: ("The framework or the server failed.", "Look for the request's UUID in the server's log.")
        case .partialFailure:
            ("Some items of an operation failed, and others did not.", "Look at each item's error in partialErrorsByItemID, or at its result.")
        case .networkUnavailable:
            ("The server was not reached, so nothing was sent to it.", "Check CLOUDKIT_SERVER_URL, and that the server runs; try again.")
        case .networkFailure:
            ("The connection ended before the answer: the server may have done it.", "Try again: what it has done is not done twice.")
        case .badContainer:
            (
                "The server does not know the container, or the app has not said where its server and container are.",
                "Check the variables CLOUDKIT_… against nacre container list and nacre token list."
            )
        case .serviceUnavailable: ("The server cannot do it now.", "Wait for CKErrorRetryAfterKey seconds and try again.")
        case .requestRateLimited: ("The user did more work than the rate allows.", "Wait for CKErrorRetryAfterKey seconds and try again.")
        case .notAuthenticated:
            ("Nobody is signed in, or the account token has ended.", "Set CLOUDKIT_ACCOUNT_TOKEN: nacre user sign-in --account prints one.")
        case .permissionFailure:
            (
                "The user may not do this with the record, zone or database.",
                "Ask nacre role why. Without other grants a record of a public database is changed by its creator alone."
            )
        case .unknownItem:
            ("The record is not there, or was deleted since it was fetched.", "Fetch again; save a new CKRecord to make it anew.")
        case .invalidArguments: ("A value, name or predicate is not allowed.", "The error's description names it.")
        case .serverRecordChanged:
            (
                "The record on the server has changed since it was fetched.",
                "Merge into serverRecord of the error and save that one, or save with changedKeys or allKeys."
            )
        case .serverRejectedRequest: ("The server does not take it, or has an equal subscription.", "The error's description says what.")
        case .assetFileNotFound: ("The file of a CKAsset is not there.", "Keep the file until the record is saved.")
        case .assetFileModified: ("The file of a CKAsset changed while it was sent.", "Save again when it is no longer written.")
        case .operationCancelled: ("The operation was cancelled, or one that it depends on.", "Add a new one if it is still wanted.")
        case .changeTokenExpired:
            (
                "The change token is of another zone, of a zone that was made again, or older than the server remembers; or an administrator has all fetched anew.",
                "Forget the token and what was fetched with it, and fetch everything."
            )
        case .batchRequestFailed:
            ("Another item of the same atomic batch failed, so nothing of it was done.", "Mend the item that has another error, and save all again.")
        case .badDatabase: ("The operation is not for this database.", "Zones and their changes are of the private database.")
        case .quotaExceeded: ("The database is full.", "Delete records, or ask for more room.")
        case .zoneNotFound: ("There is no such zone, or no more.", "Make the zone, or fetch the database's changes.")
        case .limitExceeded:
            ("The request is beyond a limit: too many items, or too large.", "Split it in halves and send both; /limits lists the limits.")
        case .referenceViolation:
            ("A reference leads to no record, or a deletion would leave one without its target.", "Save targets first, delete referrers first.")
        case .serverResponseLost:
            ("The answer to an operation is no longer kept: it may have been applied.", "Fetch what it was about before you send it again.")
        case .assetNotAvailable: ("The file of a record cannot be had: it was replaced, or its URL has expired.", "Fetch the record again.")
        case .managedAccountRestricted:
            ("The account is shut out; only its status tells, the rest is notAuthenticated.", "Ask an administrator: nacre user state sets it back.")
        case .accountTemporarilyUnavailable:
            ("There is an account, and an administrator has made it unavailable.", "Keep what you have, send nothing, and wait for CKAccountChanged.")
        case .alreadyShared:
            ("The record or zone is shared already, or hangs on what is.", "Fetch its share and change that one; a record is in one share at most.")
        case .zoneBusy:
            ("Many write into the zone; here tests alone order it: nacre fault, TestFault.", "Wait for CKErrorRetryAfterKey seconds and try again.")
        case .userDeletedZone: ("The user purged the zone: nacre zone purge.", "Forget what you keep of it; ask the user before you save it.")
        case .missingEntitlement, .resultsTruncated, .incompatibleVersion, .constraintViolation:
            ("CloudKit has it; this server and this framework do not raise it.", "Handle it as Apple's documentation says.")
        }
    }
}
