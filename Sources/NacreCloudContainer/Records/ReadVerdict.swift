package import NacreCloudWire

/// What the rules say of one caller's wish to read one record.
package enum ReadVerdict: Equatable, Sendable {
    case whole
    /// Nothing but its name is shown, and that only to a caller who named it.
    case refuse(ServerError)
}

/// Says what a caller may read of the records of a database.
///
/// It depends on the record's name and type, on its system fields, and on nothing else of it: a query reads no other field for it.
package struct ReadRule: Sendable {
    /// - Parameter created: who made the record, and when.
    package typealias Rule =
        @Sendable (_ name: String, _ type: String, _ created: Record.Stamp, _ database: DatabaseKey, _ caller: Caller) -> ReadVerdict

    /// nil: all records are read by all who may use the database.
    private let rule: Rule?

    package init(_ rule: @escaping Rule) {
        self.rule = rule
    }

    private init() {
        rule = nil
    }

    /// CloudKit: a database's records are readable by all who may use it, as long as no security role says otherwise. This server has no such roles.
    package static let everything = ReadRule()

    func verdict(on record: StoredRecord, of database: DatabaseKey, by caller: Caller) -> ReadVerdict {
        rule?(record.row.name, record.row.type, record.content.created, database, caller) ?? .whole
    }
}
