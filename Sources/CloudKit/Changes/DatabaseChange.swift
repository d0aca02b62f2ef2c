import NacreCloudWire

extension CKDatabase {
    /// What `databaseChanges` tells. Apple: iOS 15.
    public enum DatabaseChange {
        /// A zone that is new or has changes.
        public struct Modification: Sendable, Hashable {
            /// The zone that is new, or in which something changed.
            public let zoneID: CKRecordZone.ID
        }

        /// A zone that is gone.
        public struct Deletion: Sendable, Hashable {
            /// Apple: iOS 17.
            public enum Reason: Sendable, Equatable, Hashable {
                /// An app deleted the zone.
                case deleted
                /// The user removed the app's data from storage settings: wipe, do not upload again.
                case purged
                /// The user reset their encrypted data: upload again what this device has.
                case encryptedDataReset
            }

            /// The zone that is gone.
            public let zoneID: CKRecordZone.ID
            /// Why the zone is gone.
            public let reason: Reason

            /// Apple: deprecated in iOS 17 in favour of `reason`.
            public var purged: Bool { reason == .purged }
        }
    }

    /// What `recordZoneChanges` tells. Apple: iOS 15.
    public enum RecordZoneChange {
        /// A record that is new or has changes, as it is now. Compares its record by identity, as records do.
        public struct Modification: Sendable, Hashable {
            /// The record as it is now.
            public let record: CKRecord
        }

        /// A record that is gone.
        public struct Deletion: Sendable, Hashable {
            /// The record that is gone.
            public let recordID: CKRecord.ID
            /// The type that it had.
            public let recordType: CKRecord.RecordType
        }
    }
}

@available(*, unavailable)
extension CKDatabase.DatabaseChange: Sendable {}

@available(*, unavailable)
extension CKDatabase.RecordZoneChange: Sendable {}

extension CKDatabase.DatabaseChange.Deletion.Reason {
    init(_ reason: ZoneDeletionReason) {
        switch reason {
        case .deleted: self = .deleted
        case .purged: self = .purged
        case .encryptedDataReset: self = .encryptedDataReset
        }
    }
}
