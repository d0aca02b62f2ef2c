/// What a client wants of one record: which fields to set, which to clear, and on which version it builds.
package struct RecordChange: Equatable, Sendable {
    /// What happens to the link to a parent.
    package enum ParentChange: Equatable, Sendable {
        case keep
        case set(Reference)
        case clear
    }

    /// nil: the server makes a name (a UUID).
    package var recordName: String?
    package var recordType: String?
    /// The version that the client has seen.
    package var recordChangeTag: String?
    package var set: RecordFields
    package var cleared: [String]
    /// Fields that are set to values which did not say their types, so that these were read from the values' looks.
    package var untyped: [String]
    package var parent: ParentChange
    /// The client sends every field that it has, changed or not: there is nothing that it counts on the server to keep. On the wire `allKeys`.
    package var carriesAllKeys: Bool
    /// What is wanted of a share beside its fields; nil: nothing.
    package var sharing: Box<ShareChange>?

    package init(
        recordName: String?, recordType: String? = nil, recordChangeTag: String? = nil, set: RecordFields = RecordFields(),
        cleared: [String] = [], untyped: [String] = [], parent: ParentChange = .keep, carriesAllKeys: Bool = false, sharing: ShareChange? = nil
    ) {
        self.recordName = recordName
        self.recordType = recordType
        self.recordChangeTag = recordChangeTag
        self.set = set
        self.cleared = cleared
        self.untyped = untyped
        self.parent = parent
        self.carriesAllKeys = carriesAllKeys
        self.sharing = sharing.map(Box.init)
    }
}

/// The seven ways to change a record. Spelled, and case-sensitive, as in CloudKit Web Services.
package enum OperationType: String, Hashable, Sendable, CaseIterable {
    /// The record must not exist.
    case create
    /// The record must exist with the tag given; unlisted fields stay.
    case update
    /// No tag is asked for; unlisted fields stay; creates a missing record.
    case forceUpdate
    /// The record must exist with the tag given; unlisted fields are cleared.
    case replace
    /// No tag is asked for; unlisted fields are cleared; creates a missing record.
    case forceReplace
    /// The record must exist, with the tag if one is given.
    case delete
    /// Deletes the record, whatever its tag; a missing record is not an error.
    case forceDelete

    package var isDelete: Bool { self == .delete || self == .forceDelete }
}

/// One entry of `operations` in a `records/modify` request.
package struct RecordOperation: Equatable, Sendable {
    package var type: OperationType
    package var change: RecordChange
    /// Which fields the answer shows; nil: what the request says for all.
    package var desiredKeys: [String]?

    package init(_ type: OperationType, _ change: RecordChange, desiredKeys: [String]? = nil) {
        self.type = type
        self.change = change
        self.desiredKeys = desiredKeys
    }
}

/// `CKModifyRecordsOperation.RecordSavePolicy`, by the raw values of the framework.
package enum SavePolicy: Int, Hashable, Sendable, CaseIterable {
    case ifServerRecordUnchanged = 0
    case changedKeys = 1
    case allKeys = 2

    /// The operation by which a policy is said on the wire.
    ///
    /// CloudKit: `ifServerRecordUnchanged` asks for the tag, and a record that has none must be new; the other two never ask.
    /// What they send (changed or all fields) is in the change itself; fields that exist only on the server stay.
    package func operationType(hasChangeTag: Bool) -> OperationType {
        switch self {
        case .ifServerRecordUnchanged: hasChangeTag ? .update : .create
        case .changedKeys, .allKeys: .forceUpdate
        }
    }
}
