/// `POST records/modify`.
package struct RecordsModifyRequest: Hashable, Sendable {
    package var operations: [RecordOperation]
    package var zoneID: ZoneID
    /// nil: true, where the zone can.
    package var atomic: Bool?
    package var desiredKeys: [String]?
    package var numbersAsStrings: Bool
    package var `extension`: RequestExtension

    package init(
        operations: [RecordOperation], zoneID: ZoneID = .defaultZone, atomic: Bool? = nil, desiredKeys: [String]? = nil,
        numbersAsStrings: Bool = false, extension: RequestExtension = RequestExtension()
    ) {
        self.operations = operations
        self.zoneID = zoneID
        self.atomic = atomic
        self.desiredKeys = desiredKeys
        self.numbersAsStrings = numbersAsStrings
        self.extension = `extension`
    }
}

/// `POST records/lookup`.
package struct RecordsLookupRequest: Hashable, Sendable {
    package struct Item: Hashable, Sendable {
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

/// What became of one record of a request, or what a feed says of one.
package enum RecordResult: Hashable, Sendable {
    case record(Record)
    case deleted(Tombstone)
    /// `recordName` is nil when the request gave none and none was made.
    case failure(recordName: String?, ServerError)
}

/// The answer to `records/modify` and `records/lookup`: one result for each thing asked, in the order asked.
package struct RecordsResponse: Hashable, Sendable {
    package var records: [RecordResult]

    package init(records: [RecordResult]) {
        self.records = records
    }
}
