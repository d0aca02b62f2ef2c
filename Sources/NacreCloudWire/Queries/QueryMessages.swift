/// `POST records/query`.
package struct RecordsQueryRequest: Equatable, Sendable {
    package var query: Query
    /// nil: every zone of the database if `zoneWide`, otherwise the default zone.
    package var zoneID: ZoneID?
    package var zoneWide: Bool
    package var resultsLimit: Int?
    /// The cursor at the end of the last page; sent with the same query.
    package var continuationMarker: String?
    package var desiredKeys: [String]?
    package var numbersAsStrings: Bool
    package var `extension`: RequestExtension

    package init(
        query: Query, zoneID: ZoneID? = nil, zoneWide: Bool = false, resultsLimit: Int? = nil, continuationMarker: String? = nil,
        desiredKeys: [String]? = nil, numbersAsStrings: Bool = false, extension: RequestExtension = RequestExtension()
    ) {
        self.query = query
        self.zoneID = zoneID
        self.zoneWide = zoneWide
        self.resultsLimit = resultsLimit
        self.continuationMarker = continuationMarker
        self.desiredKeys = desiredKeys
        self.numbersAsStrings = numbersAsStrings
        self.extension = `extension`
    }
}

/// The answer to `records/query`: every record with its zone.
package struct RecordsQueryResponse: Equatable, Sendable {
    /// A record that cannot be answered. On the wire it stands in the array of records, behind them.
    package struct Failure: Equatable, Sendable {
        package var recordName: String
        package var zoneID: ZoneID?
        package var error: ServerError

        package init(recordName: String, zoneID: ZoneID?, error: ServerError) {
            self.recordName = recordName
            self.zoneID = zoneID
            self.error = error
        }
    }

    package var records: [Record]
    package var failures: [Failure]
    /// Present while there may be more.
    package var continuationMarker: String?
    /// The caught-up token of the zone's feed, where the URL's query asked for it (`getCurrentSyncToken=true`).
    package var syncToken: String?

    package init(records: [Record], failures: [Failure] = [], continuationMarker: String? = nil, syncToken: String? = nil) {
        self.records = records
        self.failures = failures
        self.continuationMarker = continuationMarker
        self.syncToken = syncToken
    }
}
