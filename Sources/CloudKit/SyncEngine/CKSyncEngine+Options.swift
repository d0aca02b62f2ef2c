extension CKSyncEngine {
    /// What to fetch. Apple: iOS 17.
    public struct FetchChangesOptions: Sendable, CustomStringConvertible {
        /// Which zones' changes. Apple: iOS 17.
        public enum Scope: Sendable, Equatable, CustomStringConvertible {
            /// Every zone.
            case all
            /// Every zone but these.
            case allExcluding([CKRecordZone.ID])
            /// These zones.
            case zoneIDs([CKRecordZone.ID])

            /// Whether a zone is among those to be fetched.
            public func contains(_ zoneID: CKRecordZone.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let zoneIDs): !zoneIDs.contains(zoneID)
                case .zoneIDs(let zoneIDs): zoneIDs.contains(zoneID)
                }
            }

            public var description: String {
                switch self {
                case .all: "all"
                case .allExcluding(let zoneIDs): "allExcluding(\(zoneIDs))"
                case .zoneIDs(let zoneIDs): "zoneIDs(\(zoneIDs))"
                }
            }
        }

        /// Which zones' changes.
        public var scope: CKSyncEngine.FetchChangesOptions.Scope
        /// Of the operations underneath.
        public var operationGroup: CKOperationGroup
        /// These come first, in this order, as far as they changed.
        public var prioritizedZoneIDs: [CKRecordZone.ID] = []

        /// A scope, and the group of the operations underneath; nil: a new one.
        public init(scope: CKSyncEngine.FetchChangesOptions.Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup ?? CKOperationGroup()
        }

        public var description: String { "<CKSyncEngine.FetchChangesOptions: \(scope), prioritizedZoneIDs=\(prioritizedZoneIDs)>" }
    }

    /// Why and what the engine fetches. Apple: iOS 17.
    public struct FetchChangesContext: Sendable, CustomStringConvertible {
        /// Whether the app asked for it.
        public let reason: CKSyncEngine.SyncReason
        /// What is fetched.
        public let options: CKSyncEngine.FetchChangesOptions

        public var description: String { "<CKSyncEngine.FetchChangesContext: \(reason), \(options)>" }
    }

    /// What to send. Apple: iOS 17.
    public struct SendChangesOptions: Sendable, CustomStringConvertible {
        /// Which pending changes. Apple: iOS 17.
        public enum Scope: Sendable, Equatable, CustomStringConvertible {
            /// All that is pending.
            case all
            /// All that is pending but in these zones.
            case allExcluding([CKRecordZone.ID])
            /// What is pending in these zones.
            case zoneIDs([CKRecordZone.ID])
            /// What is pending of these records.
            case recordIDs([CKRecord.ID])

            /// Whether it is among what is to be sent.
            public func contains(_ recordID: CKRecord.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let zoneIDs): !zoneIDs.contains(recordID.zoneID)
                case .zoneIDs(let zoneIDs): zoneIDs.contains(recordID.zoneID)
                case .recordIDs(let recordIDs): recordIDs.contains(recordID)
                }
            }

            /// Whether it is among what is to be sent.
            public func contains(_ pendingChange: CKSyncEngine.PendingRecordZoneChange) -> Bool {
                contains(pendingChange.itemID)
            }

            /// Whether a pending change of this zone is sent: with single records, the zones that they are in.
            func containsZone(_ zoneID: CKRecordZone.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let zoneIDs): !zoneIDs.contains(zoneID)
                case .zoneIDs(let zoneIDs): zoneIDs.contains(zoneID)
                case .recordIDs(let recordIDs): recordIDs.contains { $0.zoneID == zoneID }
                }
            }

            public var description: String {
                switch self {
                case .all: "all"
                case .allExcluding(let zoneIDs): "allExcluding(\(zoneIDs))"
                case .zoneIDs(let zoneIDs): "zoneIDs(\(zoneIDs))"
                case .recordIDs(let recordIDs): "recordIDs(\(recordIDs))"
                }
            }
        }

        /// Which pending changes.
        public var scope: CKSyncEngine.SendChangesOptions.Scope
        /// Of the operations underneath.
        public var operationGroup: CKOperationGroup

        /// A scope, and the group of the operations underneath; nil: a new one.
        public init(scope: CKSyncEngine.SendChangesOptions.Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup ?? CKOperationGroup()
        }

        public var description: String { "<CKSyncEngine.SendChangesOptions: \(scope)>" }
    }

    /// Why and what the engine sends. Apple: iOS 17.
    public struct SendChangesContext: Sendable, CustomStringConvertible {
        /// Whether the app asked for it.
        public let reason: CKSyncEngine.SyncReason
        /// What is sent.
        public let options: CKSyncEngine.SendChangesOptions

        public var description: String { "<CKSyncEngine.SendChangesContext: \(reason), \(options)>" }
    }
}
