/// `POST records/query`.
package struct RecordsQueryRequest: Hashable, Sendable {
    package var query: Query
    /// nil: every zone of the database when `zoneWide`, else the default zone.
    package var zoneID: ZoneID?
    package var zoneWide: Bool
    package var resultsLimit: Int?
    /// Where the page before ended; sent with the same query.
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

/// The answer to `records/query`: every record with the zone that it is in.
package struct RecordsQueryResponse: Hashable, Sendable {
    package var records: [Record]
    /// Present while there may be more.
    package var continuationMarker: String?
    /// The caught-up token of the zone's feed, where the URL's query asked for it (`getCurrentSyncToken=true`).
    package var syncToken: String?

    package init(records: [Record], continuationMarker: String? = nil, syncToken: String? = nil) {
        self.records = records
        self.continuationMarker = continuationMarker
        self.syncToken = syncToken
    }
}
