import NacreCloudWire

/// How families show in records: a root, and below it records that go with what they hang on.
enum FamilyForm {
    static let recordType = "Family"
    private static let ownerField = "hangsOn"
    private static let namePrefix = "f"

    static func name(_ writer: Int, _ number: Int) -> String { "\(namePrefix)\(writer).\(number)" }

    /// A record that hangs on another, or a root.
    static func save(_ name: String, on owner: String?) -> RecordOperation {
        var fields = RecordFields()
        if let owner { fields[ownerField] = .reference(Reference(recordName: owner, action: .deleteSelf)) }
        return RecordOperation(.forceUpdate, RecordChange(recordName: name, recordType: recordType, set: fields))
    }

    static func deletion(_ name: String) -> RecordOperation {
        RecordOperation(.forceDelete, RecordChange(recordName: name))
    }

    /// What a record hangs on.
    static func owner(of record: Record) -> String? {
        guard case .reference(let reference)? = record.fields[ownerField] else { return nil }
        return reference.recordName
    }
}

/// The families that somebody may still hang records on: writers meet at them.
struct FamilyTree: Sendable {
    private static let most = 24
    private(set) var members: [String] = []

    mutating func grow(_ names: [String]) {
        members += names
        if members.count > Self.most { members.removeFirst(members.count - Self.most) }
    }
}
