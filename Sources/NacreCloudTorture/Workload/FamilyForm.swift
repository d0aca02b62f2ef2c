import NacreCloudWire

/// The records of families: a root, and below it records that are deleted with the record they refer to.
enum FamilyForm {
    static let recordType = "Family"
    private static let ownerField = "hangsOn"
    private static let namePrefix = "f"

    static func name(_ writer: Int, _ number: Int) -> String { "\(namePrefix)\(writer).\(number)" }

    /// Returns the save of a record that refers to an owner, or of a root.
    static func save(_ name: String, on owner: String?) -> RecordOperation {
        var fields = RecordFields()
        if let owner { fields[ownerField] = .reference(Reference(recordName: owner, action: .deleteSelf)) }
        return RecordOperation(.forceUpdate, RecordChange(recordName: name, recordType: recordType, set: fields))
    }

    static func deletion(_ name: String) -> RecordOperation {
        RecordOperation(.forceDelete, RecordChange(recordName: name))
    }

    /// Returns the owner of a record; nil for a root.
    static func owner(of record: Record) -> String? {
        guard case .reference(let reference)? = record.fields[ownerField] else { return nil }
        return reference.recordName
    }
}

/// The families to which writers may still add records.
struct FamilyTree: Sendable {
    private static let most = 24
    private(set) var members: [String] = []

    mutating func grow(_ names: [String]) {
        members += names
        if members.count > Self.most { members.removeFirst(members.count - Self.most) }
    }
}
