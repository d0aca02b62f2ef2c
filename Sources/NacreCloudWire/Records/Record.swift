/// A record in the state that the server has. The changes that a client wants are a `RecordChange`.
package struct Record: Equatable, Sendable {
    /// The user who did something to a record, the time, and the device.
    package struct Stamp: Equatable, Sendable {
        package var timestamp: Timestamp
        package var userRecordName: String
        package var deviceID: String?

        package init(timestamp: Timestamp, userRecordName: String, deviceID: String? = nil) {
            self.timestamp = timestamp
            self.userRecordName = userRecordName
            self.deviceID = deviceID
        }
    }

    package var recordName: String
    package var recordType: String
    /// The record's zone; nil where the answer around it names the zone once.
    package var zoneID: ZoneID?
    /// Opaque; different after each change, and never used again, not even after delete and recreate.
    package var recordChangeTag: String
    package var created: Stamp
    package var modified: Stamp
    package var parent: Reference?
    package var share: Reference?
    /// The details of a share; nil for any other record.
    package var sharing: Box<ShareDetails>?
    /// The short GUID that the record's share has, or will have; nil where the request did not ask for it.
    package var shortGUID: String?
    /// The manifest that binds the record's encrypted values; see `docs/encryption.md`. On the wire `nacre.manifest`.
    package var manifest: [UInt8]?
    package var fields: RecordFields

    package init(
        recordName: String, recordType: String, zoneID: ZoneID? = nil, recordChangeTag: String, created: Stamp, modified: Stamp,
        parent: Reference? = nil, share: Reference? = nil, sharing: Box<ShareDetails>? = nil, fields: RecordFields
    ) {
        self.recordName = recordName
        self.recordType = recordType
        self.zoneID = zoneID
        self.recordChangeTag = recordChangeTag
        self.created = created
        self.modified = modified
        self.parent = parent
        self.share = share
        self.sharing = sharing
        self.fields = fields
    }
}

/// The remains of a deleted record in a feed.
package struct Tombstone: Equatable, Sendable {
    package var recordName: String
    /// nil where it is unknown: CloudKit's web API has none. On the wire `nacre.recordType`.
    package var recordType: String?
    package var zoneID: ZoneID?

    package init(recordName: String, recordType: String?, zoneID: ZoneID? = nil) {
        self.recordName = recordName
        self.recordType = recordType
        self.zoneID = zoneID
    }
}
