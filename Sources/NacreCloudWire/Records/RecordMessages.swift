/// The reason why one operation of a request cannot be read: a value that does not fit its type, or an invalid field
/// name.
///
/// The fault fails its record, as an error of the container's rules would, and not the request.
package struct OperationFault: Error, Equatable, Sendable {
    package var recordName: String?
    package var error: ServerError

    package init(recordName: String?, error: ServerError) {
        self.recordName = recordName
        self.error = error
    }
}

/// `POST records/modify`.
package struct RecordsModifyRequest: Equatable, Sendable {
    /// The operations in the order sent. Those that could not be read keep their place, so that the answer has one
    /// result for each.
    package var operations: [Result<RecordOperation, OperationFault>]
    package var zoneID: ZoneID
    /// nil: true, if the zone supports it.
    package var atomic: Bool?
    package var desiredKeys: [String]?
    package var numbersAsStrings: Bool
    package var `extension`: RequestExtension

    package init(
        operations: [RecordOperation], zoneID: ZoneID = .defaultZone, atomic: Bool? = nil, desiredKeys: [String]? = nil,
        numbersAsStrings: Bool = false, extension: RequestExtension = RequestExtension()
    ) {
        self.operations = operations.map { .success($0) }
        self.zoneID = zoneID
        self.atomic = atomic
        self.desiredKeys = desiredKeys
        self.numbersAsStrings = numbersAsStrings
        self.extension = `extension`
    }
}

/// `POST records/lookup`.
package struct RecordsLookupRequest: Equatable, Sendable {
    package struct Item: Equatable, Sendable {
        package var recordName: String
        package var desiredKeys: [String]?

        package init(recordName: String, desiredKeys: [String]? = nil) {
            self.recordName = recordName
            self.desiredKeys = desiredKeys
        }
    }

    package var records: [Item]
    package var zoneID: ZoneID
    package var desiredKeys: [String]?
    package var numbersAsStrings: Bool
    package var `extension`: RequestExtension

    package init(
        records: [Item], zoneID: ZoneID = .defaultZone, desiredKeys: [String]? = nil, numbersAsStrings: Bool = false,
        extension: RequestExtension = RequestExtension()
    ) {
        self.records = records
        self.zoneID = zoneID
        self.desiredKeys = desiredKeys
        self.numbersAsStrings = numbersAsStrings
        self.extension = `extension`
    }
}

/// The result for one record of a request, or a record's entry in a feed.
package enum RecordResult: Equatable, Sendable {
    case record(Record)
    case deleted(Tombstone)
    /// `recordName` is nil if the request gave none and none was made.
    case failure(recordName: String?, ServerError)
}

/// The answer to `records/modify` and `records/lookup`: one result for each item, in the order of the request.
package struct RecordsResponse: Equatable, Sendable {
    package var records: [RecordResult]
    /// The caught-up token of the zone's feed, where the URL's query asked for it (`getCurrentSyncToken=true`).
    package var syncToken: String?

    package init(records: [RecordResult], syncToken: String? = nil) {
        self.records = records
        self.syncToken = syncToken
    }
}
