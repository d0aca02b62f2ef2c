/// `POST changes/database`.
package struct ChangesDatabaseRequest: Equatable, Sendable {
    /// nil: from the beginning.
    package var syncToken: String?
    package var resultsLimit: Int?
    package var `extension`: RequestExtension

    package init(syncToken: String? = nil, resultsLimit: Int? = nil, extension: RequestExtension = RequestExtension()) {
        self.syncToken = syncToken
        self.resultsLimit = resultsLimit
        self.extension = `extension`
    }
}

package struct ChangesDatabaseResponse: Equatable, Sendable {
    package struct ChangedZone: Equatable, Sendable {
        package var zoneID: ZoneID
        /// nil: the zone exists, and is new or changed.
        package var deletion: ZoneDeletionReason?

        package init(zoneID: ZoneID, deletion: ZoneDeletionReason? = nil) {
            self.zoneID = zoneID
            self.deletion = deletion
        }
    }

    package var zones: [ChangedZone]
    package var syncToken: String
    package var moreComing: Bool

    package init(zones: [ChangedZone], syncToken: String, moreComing: Bool) {
        self.zones = zones
        self.syncToken = syncToken
        self.moreComing = moreComing
    }
}

/// `POST changes/zone`. Options missing in a zone come from the request (merged where it is decoded).
package struct ChangesZoneRequest: Equatable, Sendable {
    package struct Item: Equatable, Sendable {
        package var zoneID: ZoneID
        /// nil: from the beginning.
        package var syncToken: String?
        package var resultsLimit: Int?
        package var desiredKeys: [String]?
        package var desiredRecordTypes: [String]?
        package var reverse: Bool
        package var numbersAsStrings: Bool

        package init(
            zoneID: ZoneID, syncToken: String? = nil, resultsLimit: Int? = nil, desiredKeys: [String]? = nil,
            desiredRecordTypes: [String]? = nil, reverse: Bool = false, numbersAsStrings: Bool = false
        ) {
            self.zoneID = zoneID
            self.syncToken = syncToken
            self.resultsLimit = resultsLimit
            self.desiredKeys = desiredKeys
            self.desiredRecordTypes = desiredRecordTypes
            self.reverse = reverse
            self.numbersAsStrings = numbersAsStrings
        }
    }

    package var zones: [Item]
    package var `extension`: RequestExtension

    package init(zones: [Item], extension: RequestExtension = RequestExtension()) {
        self.zones = zones
        self.extension = `extension`
    }
}

package struct ChangesZoneResponse: Equatable, Sendable {
    package struct Page: Equatable, Sendable {
        package var zoneID: ZoneID
        package var records: [RecordResult]
        package var syncToken: String
        package var moreComing: Bool
        /// Whether the page ends inside a commit; its token must not be kept then. On the wire
        /// `nacre.midCommit`.
        package var isMidCommit: Bool
        /// On the wire `nacre.clientChangeToken`.
        package var clientChangeToken: [UInt8]?

        package init(
            zoneID: ZoneID, records: [RecordResult], syncToken: String, moreComing: Bool, isMidCommit: Bool = false,
            clientChangeToken: [UInt8]? = nil
        ) {
            self.zoneID = zoneID
            self.records = records
            self.syncToken = syncToken
            self.moreComing = moreComing
            self.isMidCommit = isMidCommit
            self.clientChangeToken = clientChangeToken
        }
    }

    package enum Result: Equatable, Sendable {
        case page(Page)
        case failure(ZoneID, ServerError)
    }

    package var zones: [Result]

    package init(zones: [Result]) {
        self.zones = zones
    }
}
