/// A zone's name and owner, as clients send them.
package struct ZoneID: Hashable, Sendable {
    /// The name of the zone that every database has; the public one has no other. Source: CloudKit.
    package static let defaultZoneName = "_defaultZone"
    /// Stands for "the caller" on the wire; in answers about the public database, too, whose zone belongs to all
    /// users.
    package static let defaultOwnerName = "_defaultOwner"
    /// Names that stand for "the caller" on the wire and in the framework.
    package static let ownerAliases = [defaultOwnerName, "__defaultOwner__"]

    package var zoneName: String
    /// The owner's user record name; nil is the caller. Aliases are resolved where a request is decoded.
    package var ownerRecordName: String?

    package init(zoneName: String, ownerRecordName: String? = nil) {
        self.zoneName = zoneName
        self.ownerRecordName = ownerRecordName.flatMap { Self.ownerAliases.contains($0) ? nil : $0 }
    }

    package static let defaultZone = ZoneID(zoneName: defaultZoneName)
    package var isDefault: Bool { zoneName == Self.defaultZoneName }
}

/// A zone in an answer of the server.
package struct Zone: Equatable, Sendable {
    package var zoneID: ZoneID
    /// The caught-up token of the zone's feed; nil where it has none.
    package var syncToken: String?
    /// Whether batches in it can be atomic.
    package var atomic: Bool
    /// Whether the zone as a whole is shared. On the wire `nacre.zoneWideShare`, in the answers to `zones/list` and
    /// `zones/lookup`.
    package var isSharedWhole: Bool

    package init(zoneID: ZoneID, syncToken: String?, atomic: Bool, isSharedWhole: Bool = false) {
        self.zoneID = zoneID
        self.syncToken = syncToken
        self.atomic = atomic
        self.isSharedWhole = isSharedWhole
    }
}

package struct ZoneOperation: Equatable, Sendable {
    package enum OperationType: String, Hashable, Sendable, CaseIterable {
        case create
        case delete
    }

    package var type: OperationType
    package var zoneID: ZoneID

    package init(_ type: OperationType, _ zoneID: ZoneID) {
        self.type = type
        self.zoneID = zoneID
    }
}

/// The reason why a zone was deleted.
package enum ZoneDeletionReason: String, Hashable, Sendable, CaseIterable {
    case deleted = "DELETED"
    /// The user removed the app's data from storage settings: wipe, do not upload again.
    case purged = "PURGED"
    case encryptedDataReset = "ENCRYPTED_DATA_RESET"
}
