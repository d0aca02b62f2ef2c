extension CKSyncEngine {
    /// The scope and the order of a fetch. Apple: iOS 17.
    public struct FetchChangesOptions: Sendable, CustomStringConvertible {
        /// The zones whose changes are fetched. Apple: iOS 17.
        public enum Scope: Sendable, Equatable, CustomStringConvertible {
            /// Every zone.
            case all
            /// Every zone except these.
            case allExcluding([CKRecordZone.ID])
            /// Only these zones.
            case zoneIDs([CKRecordZone.ID])

            /// Returns whether a zone is in the scope.
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

        /// The zones whose changes are fetched.
        public var scope: CKSyncEngine.FetchChangesOptions.Scope
        /// The group of the operations that the fetch runs.
        public var operationGroup: CKOperationGroup
        /// Zones that are fetched first, in this order, if they have changes.
        public var prioritizedZoneIDs: [CKRecordZone.ID] = []

        /// Makes options with a scope and the group of the operations; nil makes a new group.
        public init(scope: CKSyncEngine.FetchChangesOptions.Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup ?? CKOperationGroup()
        }

        public var description: String { "<CKSyncEngine.FetchChangesOptions: \(scope), prioritizedZoneIDs=\(prioritizedZoneIDs)>" }
    }

    /// The reason and the scope of a fetch. Apple: iOS 17.
    public struct FetchChangesContext: Sendable, CustomStringConvertible {
        /// The reason of the fetch: the engine's schedule or a call of the app.
        public let reason: CKSyncEngine.SyncReason
        /// The options of the fetch.
        public let options: CKSyncEngine.FetchChangesOptions

        public var description: String { "<CKSyncEngine.FetchChangesContext: \(reason), \(options)>" }
    }

    /// The scope of a send. Apple: iOS 17.
    public struct SendChangesOptions: Sendable, CustomStringConvertible {
        /// The pending changes that are sent. Apple: iOS 17.
        public enum Scope: Sendable, Equatable, CustomStringConvertible {
            /// All pending changes.
            case all
            /// All pending changes except those in these zones.
            case allExcluding([CKRecordZone.ID])
            /// Pending changes in these zones.
            case zoneIDs([CKRecordZone.ID])
            /// Pending changes of these records.
            case recordIDs([CKRecord.ID])

            /// Returns whether changes of a record are in the scope.
            public func contains(_ recordID: CKRecord.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let zoneIDs): !zoneIDs.contains(recordID.zoneID)
                case .zoneIDs(let zoneIDs): zoneIDs.contains(recordID.zoneID)
                case .recordIDs(let recordIDs): recordIDs.contains(recordID)
                }
            }

            /// Returns whether a pending change is in the scope.
            public func contains(_ pendingChange: CKSyncEngine.PendingRecordZoneChange) -> Bool {
                contains(pendingChange.itemID)
            }

            /// Returns whether pending changes of a zone itself are in the scope. A scope of records includes their
            /// zones.
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

        /// The pending changes that are sent.
        public var scope: CKSyncEngine.SendChangesOptions.Scope
        /// The group of the operations that the send runs.
        public var operationGroup: CKOperationGroup

        /// Makes options with a scope and the group of the operations; nil makes a new group.
        public init(scope: CKSyncEngine.SendChangesOptions.Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup ?? CKOperationGroup()
        }

        public var description: String { "<CKSyncEngine.SendChangesOptions: \(scope)>" }
    }

    /// The reason and the scope of a send. Apple: iOS 17.
    public struct SendChangesContext: Sendable, CustomStringConvertible {
        /// The reason of the send: the engine's schedule or a call of the app.
        public let reason: CKSyncEngine.SyncReason
        /// The options of the send.
        public let options: CKSyncEngine.SendChangesOptions

        public var description: String { "<CKSyncEngine.SendChangesContext: \(reason), \(options)>" }
    }
}
