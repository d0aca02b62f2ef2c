import NacreCloudWire
import NacreRandom

/// The records of a shared zone: roots, records that move below them or out, records that come and go together, and
/// private ones.
enum ShareForm {
    static let recordType = "Shared"
    private static let field = "text"
    static let roots = ["root0", "root1"]
    /// Records that every user makes, moves, changes and deletes.
    static let others = (0..<16).map { "n\($0)" }
    /// A record without a parent, which is never shared by itself.
    static let hidden = "hidden"
    /// The parent of more records than a server must move at once.
    static let bough = "bough"
    static let leaves = (0..<450).map { "leaf\($0)" }

    static func share(of root: String?) -> String { root.map { "share-\($0)" } ?? ShareNames.ofZone }

    static func save(_ name: String, _ text: String) -> RecordOperation {
        RecordOperation(.forceUpdate, RecordChange(recordName: name, recordType: recordType, set: [field: .string(text)]))
    }

    static func creation(_ name: String, below parent: String?) -> RecordOperation {
        let link: RecordChange.ParentChange = parent.map { .set(Reference(recordName: $0, action: .none)) } ?? .keep
        return RecordOperation(.create, RecordChange(recordName: name, recordType: recordType, set: [field: .string("new")], parent: link))
    }

    static func move(_ name: String, below parent: String?) -> RecordOperation {
        let link: RecordChange.ParentChange = parent.map { .set(Reference(recordName: $0, action: .none)) } ?? .clear
        return RecordOperation(.forceUpdate, RecordChange(recordName: name, recordType: recordType, parent: link))
    }

    static func deletion(_ name: String) -> RecordOperation {
        RecordOperation(.forceDelete, RecordChange(recordName: name))
    }

    /// Returns the save of a share.
    /// - Parameter over: The existing share; nil makes one.
    static func share(of root: String?, over record: Record? = nil, _ participants: [ShareParticipant]) -> RecordOperation {
        RecordOperation(
            record == nil ? .create : .update,
            RecordChange(
                recordName: share(of: root), recordType: ShareNames.recordType, recordChangeTag: record?.recordChangeTag,
                sharing: ShareChange(
                    publicPermission: record == nil ? SharePermission.none : nil, participants: participants, forRecord: record == nil ? root : nil)))
    }

    static func invitation(_ user: String, _ permission: SharePermission) -> ShareParticipant {
        ShareParticipant(identity: ParticipantIdentity(lookupInfo: .userRecordName(user)), permission: permission)
    }

    /// Errors that a client must expect while others act: its target is gone, changed, or no longer its own.
    static let expected: Set<ServerErrorCode> = [
        .accessDenied, .notFound, .zoneNotFound, .validatingReferenceError, .badRequest, .conflict, .exists, .tryAgainLater,
    ]
}
