/// The change of one record that a client wants: the fields to set, the fields to clear, and the version that it
/// builds on.
package struct RecordChange: Equatable, Sendable {
    /// The change of the link to a parent.
    package enum ParentChange: Equatable, Sendable {
        case keep
        case set(Reference)
        case clear
    }

    /// The manifest of a record's encrypted values as they are after the change; see `docs/encryption.md`.
    package struct Manifest: Equatable, Sendable {
        /// The form; base64 on the wire, `manifest`.
        package var bytes: [UInt8]
        /// The SHA-256 of the manifest that the client has read; base64 on the wire, `base`. nil: the record is new, or
        /// all its keys are saved whatever the server has.
        package var base: [UInt8]?

        package init(bytes: [UInt8], base: [UInt8]? = nil) {
            self.bytes = bytes
            self.base = base
        }
    }

    /// nil: the server makes a name (a UUID).
    package var recordName: String?
    package var recordType: String?
    /// The version that the client has seen.
    package var recordChangeTag: String?
    package var set: RecordFields
    package var cleared: [String]
    /// Fields that are set to values without a type, whose types were inferred.
    package var untyped: [String]
    package var parent: ParentChange
    /// Whether the client sends every field that it has, changed or not, and counts on the server to keep none. On
    /// the wire `allKeys`.
    package var carriesAllKeys: Bool
    /// Whether the answer names the short GUID that the record's share has, or will have. On the wire
    /// `createShortGUID`.
    package var wantsShortGUID: Bool
    /// nil: the record keeps the manifest that it has.
    package var manifest: Manifest?
    /// The change of a share beside its fields; nil: none.
    package var sharing: Box<ShareChange>?

    package init(
        recordName: String?, recordType: String? = nil, recordChangeTag: String? = nil, set: RecordFields = RecordFields(),
        cleared: [String] = [], untyped: [String] = [], parent: ParentChange = .keep, carriesAllKeys: Bool = false, wantsShortGUID: Bool = false,
        manifest: Manifest? = nil, sharing: ShareChange? = nil
    ) {
        self.recordName = recordName
        self.recordType = recordType
        self.recordChangeTag = recordChangeTag
        self.set = set
        self.cleared = cleared
        self.untyped = untyped
        self.parent = parent
        self.carriesAllKeys = carriesAllKeys
        self.wantsShortGUID = wantsShortGUID
        self.manifest = manifest
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
    /// The fields that the answer shows; nil: those of the request.
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

    /// Returns the operation that stands for a policy on the wire.
    ///
    /// CloudKit: `ifServerRecordUnchanged` compares the tag, and a record without one must be new; the other two
    /// never compare. The fields that they send (changed or all) are in the change itself; fields that exist only on
    /// the server stay.
    package func operationType(hasChangeTag: Bool) -> OperationType {
        switch self {
        case .ifServerRecordUnchanged: hasChangeTag ? .update : .create
        case .changedKeys, .allKeys: .forceUpdate
        }
    }
}
