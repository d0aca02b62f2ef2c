import NacreCloudWire

extension CKDatabase {
    /// A change that `databaseChanges` returns. Apple: iOS 15.
    public enum DatabaseChange {
        /// A zone that is new or has changes.
        public struct Modification: Sendable, Hashable {
            /// The zone that is new or has changes.
            public let zoneID: CKRecordZone.ID
        }

        /// A deleted zone.
        public struct Deletion: Sendable, Hashable {
            /// The reason of a deletion. Apple: iOS 17.
            public enum Reason: Sendable, Equatable, Hashable {
                /// An app deleted the zone.
                case deleted
                /// The user removed the app's data from storage settings: delete local data, do not upload it again.
                case purged
                /// The user reset their encrypted data: upload this device's data again.
                case encryptedDataReset
            }

            /// The deleted zone.
            public let zoneID: CKRecordZone.ID
            /// The reason of the deletion.
            public let reason: Reason

            /// Whether the user removed the app's data. Apple: deprecated in iOS 17 in favour of `reason`.
            public var purged: Bool { reason == .purged }
        }
    }

    /// A change that `recordZoneChanges` returns. Apple: iOS 15.
    public enum RecordZoneChange {
        /// A record that is new or has changes. Two modifications are equal if they have the same record instance.
        public struct Modification: Sendable, Hashable {
            /// The record in its current version.
            public let record: CKRecord
        }

        /// A deleted record.
        public struct Deletion: Sendable, Hashable {
            /// The deleted record's ID.
            public let recordID: CKRecord.ID
            /// The deleted record's former type.
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
