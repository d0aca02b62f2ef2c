package import NacreCloudStorage
package import NacreCloudWire

/// The errors with which rules refuse a request, one per situation, with CloudKit's own code and text if known.
///
/// Reasons are static. The name at fault is in `field` or in the item itself.
extension ServerError {
    // MARK: Callers and databases

    static let notInPublicDatabase = ServerError(
        .badRequest, "endpoint not applicable in the database type 'publicdb'", native: .badDatabase,
        remedy: "The public database has one zone and no change feed: use the private database.")

    static let notInSharedDatabase = ServerError(
        .badRequest, "endpoint not applicable in the database type 'shareddb'", native: .badDatabase,
        remedy: "Zones are made in their owner's private database.")

    /// CloudKit: the answer to every fault of a signed request.
    static let keyIsForPublicDatabase = ServerError(
        .authenticationFailed, "Authentication failed", remedy: "A server-to-server key is for the public database alone.")

    static func anotherUsersZone(_ zoneID: ZoneID) -> ServerError {
        ServerError(
            .badRequest, "PrivateDB can't be used to access another user's zone", field: "zoneID",
            remedy: "Use the shared database for zones of other users.")
    }

    /// - Parameter end: the reason for which its user, and not an app, has removed the zone. CloudKit: a code of its
    ///   own for a purge, and a key of the error for a reset. On this server: the texts.
    package static func zoneNotFound(_ zoneID: ZoneID, end: ZoneRow.State? = nil) -> ServerError {
        switch end {
        case .purged:
            ServerError(
                .zoneNotFound, "Zone was purged by its user", native: .userDeletedZone, field: "zoneID",
                remedy: "Remove what is kept of the zone, and ask the user before the zone is saved anew.")
        case .encryptedDataReset:
            ServerError(
                .zoneNotFound, ServerError.encryptedDataResetReason, internalCode: InternalErrorCode.zoneNotFound, field: "zoneID",
                remedy: "Save the zone anew, and upload what the app keeps of it.")
        case .live, .deleted, nil:
            ServerError(
                .zoneNotFound, "Zone does not exist", internalCode: InternalErrorCode.zoneNotFound, field: "zoneID",
                remedy: "Save the zone before its records; its name is case-sensitive.")
        }
    }

    // MARK: Requests

    package static func tooManyItems(_ count: Int, limit: Int, field: String) -> ServerError {
        ServerError(
            .badRequest,
            "Your request contains \(count) items which is more than the maximum number of items in a single request (\(limit))",
            native: .limitExceeded, internalCode: 2023, field: field, remedy: "Split the request in halves and send both.")
    }

    static let answerTooLarge = ServerError(
        .badRequest, "the records that your request names are more than one answer may have (\(Limits.answerBytes) bytes)", native: .limitExceeded,
        internalCode: 2023, remedy: "Split the request in halves and send both.")

    static let looksAtTooMuch = ServerError(
        .badRequest, "the records that your request is about are more than one request may look through (\(Limits.unansweredBytes) bytes)",
        native: .limitExceeded, internalCode: 2023, remedy: "Split the request in halves and send both.")

    static let tellsTooMany = ServerError(
        .badRequest, "the zones that your request deletes have more than \(Limits.participantsTold) participants", native: .limitExceeded,
        internalCode: 2023, field: "operations", remedy: "Split the request in halves and send both.")

    /// - Parameter isOne: Whether a single record has all these references, so that the request cannot be split.
    static func refersToTooMuch(_ what: String, isOne: Bool) -> ServerError {
        ServerError(
            .badRequest, "the records that your request refers to are more than one request may look for (\(what))", native: .limitExceeded,
            internalCode: 2023,
            remedy: isOne
                ? "Save the record with fewer references; those with action NONE do not count." : "Split the request in halves and send both.")
    }

    static let requestTooLarge = ServerError(
        .badRequest, "request size exceeds the limit", native: .limitExceeded, internalCode: 2023, field: "operations",
        remedy: "Split the request in halves and send both; assets do not count.")

    static func repeatedItem(field: String) -> ServerError {
        ServerError(
            .badRequest, "only one operation per item is allowed in a request", field: field, remedy: "Name each record or zone once.")
    }

    static func repeatedName(field: String) -> ServerError {
        ServerError(
            .badRequest, "a name stands in '\(field)' more than once", field: field,
            remedy: "Name each record or zone once in a request, and use its answer as often as you need it.")
    }

    package static func missing(_ field: String) -> ServerError {
        ServerError(.badRequest, "missing required field", field: field, remedy: "Give \(field).")
    }

    static func notSupported(_ field: String, _ what: String) -> ServerError {
        ServerError(.badRequest, "\(what) is not supported by this version of the server", field: field, remedy: "Leave \(field) out.")
    }

    static let operationReused = ServerError(
        .badRequest, "operation ID was used for another request", field: "nacre.operationID",
        remedy: "Make a new ID for each operation; send the same bytes when you retry one.")

    /// The answer to a request that was repeated so late that its first result may be forgotten.
    static let responseLost = ServerError(
        .badRequest, "whether this operation was applied is not known any more", native: .serverResponseLost, field: "nacre.operationID",
        remedy: "Fetch what it was to change, and send what is still missing as a new operation.")

    // MARK: Records

    /// CloudKit: reason and code of its server, as apps log them (25/2035).
    package static func quotaExceeded(isPublic: Bool) -> ServerError {
        ServerError(
            .quotaExceeded, "Quota exceeded", internalCode: 2035,
            remedy: isPublic
                ? "The container's public database is full: delete records of it, or ask its administrator for more: nacre quota set --public."
                : "The user's private database is full: delete records of it, or ask the administrator for more: nacre quota set --user.")
    }

    static let recordNotFound = ServerError(.notFound, "Record not found", internalCode: 2003)

    // The answer to either error contains the server's record: see `ShownRecords.error`.
    static let recordExists = ServerError(
        .conflict, "record to insert already exists", internalCode: 2004,
        remedy: "Fetch the record, put your changes into it and save that one.")

    static let recordChanged = ServerError(
        .conflict, "client oplock error updating record", internalCode: 2004,
        remedy: "Put your changes into the server's record and save that one.")

    /// Other records of the request are answered anyway. See `docs/decisions/records-damage.md`.
    static let recordDamaged = ServerError(
        .internalError, "record is damaged on the server", field: "recordName",
        remedy: "Save it whole over what is there (savePolicy .allKeys, or forceReplace), or delete it. The administrator: nacre check --repair.")

    static let recordDamagedBeneathMerge = ServerError(
        .internalError, "record is damaged on the server: there is nothing that changed fields could be put into", field: "recordName",
        remedy: "Save it with all its fields (savePolicy .allKeys, or forceReplace), or delete it. The administrator: nacre check --repair.")

    static let recordDamagedInPublic = ServerError(
        .internalError, "record is damaged on the server, and with it whose it was", field: "recordName",
        remedy: "The administrator can take it away with nacre check --remove-lost; then it can be saved anew.")

    /// Worded like CloudKit's errors for CREATE and WRITE.
    static let readNotPermitted = ServerError(
        .accessDenied, "READ operation not permitted", internalCode: 2007,
        remedy: "The grants of the record's type say which roles may read it. The administrator: nacre role why.")

    static let createNotPermitted = ServerError(
        .accessDenied, "CREATE operation not permitted", internalCode: 2007,
        remedy: "The grants of the record type say which roles may make records of it. The administrator: nacre role why.")

    static let writeNotPermitted = ServerError(
        .accessDenied, "WRITE operation not permitted", internalCode: 2007,
        remedy: "The grants of the record's type say which roles may change it: by default its creator alone. The administrator: nacre role why.")

    /// CloudKit: only the server makes and deletes user records. On this server: the text.
    static let userRecordStays = ServerError(
        .accessDenied, "user records cannot be deleted", internalCode: 2007, field: "recordName",
        remedy: "Clear the fields of the user record instead.")

    /// CloudKit: roles are assigned by an administrator. On this server: the text.
    static let rolesAreGiven = ServerError(
        .accessDenied, "field 'roles' of a user record cannot be changed", internalCode: 2007, field: UserRecord.rolesField,
        remedy: "Leave the field out: an administrator gives roles to users.")

    static let typeChanged = ServerError(
        .badRequest, "record type cannot be changed", field: "recordType",
        remedy: "Save the record under its own type, or make a new record.")

    static let recordTooLarge = ServerError(
        .badRequest, "record size exceeds the limit", native: .limitExceeded, internalCode: 2023, field: "fields",
        remedy: "A record's values may take 1 MB in all.")

    static func noEncryptionInPublic(_ field: String) -> ServerError {
        ServerError(
            .badRequest, "encrypted fields are not supported in the public database", field: field,
            remedy: "Keep encrypted values in the private database.")
    }

    package static func sealedWithoutKey(_ field: String) -> ServerError {
        ServerError(
            .badRequest, "encrypted fields need a key: this server keeps sealed values only", field: field,
            remedy: "Encrypt the value on the device and name its key, or send it back as it was answered.")
    }

    static let manifestTooLarge = ServerError(
        .badRequest, "record manifest exceeds the limit", native: .limitExceeded, internalCode: 2023, field: "nacre.manifest",
        remedy: "It may take \(Limits.recordManifestBytes) bytes: keep fewer encrypted fields and files in one record.")

    static let manifestUnreadable = ServerError(
        .badRequest, "record manifest cannot be read", field: "nacre.manifest",
        remedy: "Write it in the form of docs/encryption.md, of a suite that this server knows.")

    static let manifestBaseUnreadable = ServerError(
        .badRequest, "base is not the hash of a record manifest", field: "nacre.base",
        remedy: "Give the SHA-256 of the manifest that you have read, 32 bytes, or leave it out of a save of all keys.")

    /// - Parameter part: an encrypted field, or `parent`.
    static func manifestMissing(_ part: String) -> ServerError {
        ServerError(
            .badRequest, manifestMissingReason, field: part,
            remedy: "This client has no keys of this zone: save the record's other fields alone, or save from a device that has the keys.")
    }

    static func manifestNeeded(_ field: String) -> ServerError {
        ServerError(
            .badRequest, "an encrypted value needs a record manifest", field: field,
            remedy: "Save it from a device that has the keys of this zone, with a manifest in nacre.manifest that lists it.")
    }

    static let manifestFromTheFuture = ServerError(
        .badRequest, "the stamp of the record manifest lies more than a day ahead", field: "nacre.manifest",
        remedy: "Set the device's clock, make the manifest anew, and save again.")

    /// - Parameter part: an encrypted field, or `parent`.
    static func manifestDiffers(_ part: String) -> ServerError {
        ServerError(
            .badRequest, "record manifest does not fit the record that this save makes", field: part,
            remedy: "List each encrypted field that the record has after the save, with the hash of its value, the roots of its sealed files, "
                + "and its parent.")
    }

    /// - Parameter part: the encrypted field, or `nacre.manifest`.
    static func keyIsNotNewest(_ part: String) -> ServerError {
        ServerError(
            .badRequest, keyIsNotNewestReason, field: part,
            remedy: "Fetch the keys of the zone, or make some if it has none. Seal under the newest, and save again.")
    }

    static func parentNotFound(_ name: String) -> ServerError {
        ServerError(
            .validatingReferenceError, "parent record does not exist", internalCode: 2025, field: "parent",
            remedy: "Save the parent before or together with its child.")
    }

    static let parentRing = ServerError(
        .badRequest, "the record would be above its own parent", native: .referenceViolation, field: "parent",
        remedy: "Give the record a parent that does not hang on it.")

    /// See `docs/decisions/records-references.md`.
    static func targetNotFound(_ field: String) -> ServerError {
        ServerError(
            .validatingReferenceError, "referenced record does not exist", internalCode: 2025, field: field,
            remedy: "Save the target before or together with the record that refers to it, or refer with action NONE.")
    }

    static func deleteViolatesReference(_ name: String) -> ServerError {
        ServerError(
            .validatingReferenceError, "Record delete would violate validating reference ([\(name)]), rejecting update", internalCode: 2025,
            field: "recordName",
            remedy: "Delete the records that name it as their parent or refer to it with action VALIDATE before or together with it.")
    }

    static let tooManyOwningReferences = ServerError(
        .badRequest, "Limit exceeded for number of owning references to single record", native: .limitExceeded, internalCode: 2023,
        field: "fields", remedy: "At most \(Limits.owningReferences) records may refer to one with action DELETE_SELF.")

    package static let atomicFailure = ServerError(
        .atomicError, "atomic batch operation failed", internalCode: 2024,
        remedy: "Mend the item that has an error of its own and send the batch again.")

    static let lostSinceSaved = ServerError(
        .notFound, "record was saved by this operation and deleted since", internalCode: 2003)

    // MARK: Zones

    static let cannotDeleteDefaultZone = ServerError(
        .badRequest, "cannot delete the default zone", field: "zoneID", remedy: "Delete its records.")

    static let tooManyZones = ServerError(
        .badRequest, "The database has more zones than one request is answered for (\(Limits.zonesPerList))", native: .limitExceeded,
        internalCode: 2023, remedy: "Learn of the zones by changes/database, which answers in pages, and query one zone at a time.")

    static let noRoomForZones = ServerError(
        .badRequest, "The database has as many zones as it may have (\(Limits.zonesPerDatabase))", native: .limitExceeded, internalCode: 2023,
        field: "zoneID", remedy: "Delete zones that are not in use, or keep more records in each.")

    // MARK: Changes

    static let noFeedInDefaultZone = ServerError(
        .badRequest, "cannot get changes in default zone", field: "zoneID", remedy: "Keep records whose changes you follow in a custom zone.")

    static let unknownToken = ServerError(
        .badRequest, "Unknown sync continuation type", field: "syncToken",
        remedy: "Send a token as it was given, to the endpoint that gave it.")

    package static let tokenExpired = ServerError(
        .badRequest, "change token expired", native: .changeTokenExpired, internalCode: 2026, field: "syncToken",
        remedy: "Drop what you cached of the zone and fetch again without a token.")

    /// The token is of a zone that is gone, or of another one.
    static var tokenOfAnotherZone: ServerError {
        var error = tokenExpired
        error.internalCode = InternalErrorCode.zoneNotFound
        return error
    }
}
