package import NacreCloudWire

/// `POST records/changes`, the older form of `changes/zone` for one zone.
package struct RecordsChangesRequest: Equatable, Sendable {
    /// The zone, with the options of the request.
    package var item: ChangesZoneRequest.Item
    package var `extension`: RequestExtension

    package init(_ item: ChangesZoneRequest.Item, extension: RequestExtension = RequestExtension()) {
        self.item = item
        self.extension = `extension`
    }
}

/// The answer to `records/changes`: a page of one zone's feed.
package struct RecordsChangesResponse: Equatable, Sendable {
    package var records: [RecordResult]
    package var syncToken: String
    package var moreComing: Bool
    /// Whether the page goes from the newest change to the oldest.
    package var reverse: Bool

    package init(records: [RecordResult], syncToken: String, moreComing: Bool, reverse: Bool = false) {
        self.records = records
        self.syncToken = syncToken
        self.moreComing = moreComing
        self.reverse = reverse
    }
}

/// `POST zones/changes`, the older form of `changes/database`.
package struct ZonesChangesRequest: Equatable, Sendable {
    /// The request; its token is `metaSyncToken` on the wire. CloudKit: `syncToken` is ignored there.
    package var changes: ChangesDatabaseRequest
    package var `extension`: RequestExtension {
        get { changes.extension }
        set { changes.extension = newValue }
    }

    package init(_ changes: ChangesDatabaseRequest) {
        self.changes = changes
    }
}

package struct ZonesChangesResponse: Equatable, Sendable {
    /// Zones as `zones/list` answers them, and the remains of deleted ones.
    package var zones: [ZoneResult]
    package var metaSyncToken: String
    package var moreComing: Bool

    package init(zones: [ZoneResult], metaSyncToken: String, moreComing: Bool) {
        self.zones = zones
        self.metaSyncToken = metaSyncToken
        self.moreComing = moreComing
    }
}
