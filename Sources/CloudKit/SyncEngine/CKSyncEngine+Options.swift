extension CKSyncEngine {
    /// What to fetch. Apple: iOS 17.
    public struct FetchChangesOptions: Sendable, CustomStringConvertible {
        /// Which zones' changes. Apple: iOS 17.
        public enum Scope: Sendable, Equatable, CustomStringConvertible {
            case all
            case allExcluding([CKRecordZone.ID])
            case zoneIDs([CKRecordZone.ID])

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

        public var scope: CKSyncEngine.FetchChangesOptions.Scope
        /// Of the operations underneath.
        public var operationGroup: CKOperationGroup
        /// These come first, in this order, as far as they changed.
        public var prioritizedZoneIDs: [CKRecordZone.ID] = []

        /// - Parameter operationGroup: nil: a new one.
        public init(scope: CKSyncEngine.FetchChangesOptions.Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup ?? CKOperationGroup()
        }

        public var description: String { "<CKSyncEngine.FetchChangesOptions: \(scope), prioritizedZoneIDs=\(prioritizedZoneIDs)>" }
    }

    /// Why and what the engine fetches. Apple: iOS 17.
    public struct FetchChangesContext: Sendable, CustomStringConvertible {
        public let reason: CKSyncEngine.SyncReason
        public let options: CKSyncEngine.FetchChangesOptions

        public var description: String { "<CKSyncEngine.FetchChangesContext: \(reason), \(options)>" }
    }

    /// What to send. Apple: iOS 17.
    public struct SendChangesOptions: Sendable, CustomStringConvertible {
        /// Which pending changes. Apple: iOS 17.
        public enum Scope: Sendable, Equatable, CustomStringConvertible {
            case all
            case allExcluding([CKRecordZone.ID])
            case zoneIDs([CKRecordZone.ID])
            case recordIDs([CKRecord.ID])

            public func contains(_ recordID: CKRecord.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let zoneIDs): !zoneIDs.contains(recordID.zoneID)
                case .zoneIDs(let zoneIDs): zoneIDs.contains(recordID.zoneID)
                case .recordIDs(let recordIDs): recordIDs.contains(recordID)
                }
            }

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

        public var scope: CKSyncEngine.SendChangesOptions.Scope
        /// Of the operations underneath.
        public var operationGroup: CKOperationGroup

        /// - Parameter operationGroup: nil: a new one.
        public init(scope: CKSyncEngine.SendChangesOptions.Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup ?? CKOperationGroup()
        }

        public var description: String { "<CKSyncEngine.SendChangesOptions: \(scope)>" }
    }

    /// Why and what the engine sends. Apple: iOS 17.
    public struct SendChangesContext: Sendable, CustomStringConvertible {
        public let reason: CKSyncEngine.SyncReason
        public let options: CKSyncEngine.SendChangesOptions

        public var description: String { "<CKSyncEngine.SendChangesContext: \(reason), \(options)>" }
    }
}
