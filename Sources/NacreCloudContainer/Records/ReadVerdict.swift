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

    private enum Kind: Sendable {
        case everything
        case nothing
        case roles(Schema, CallerRoles)
        case own(Rule)
        case views(Set<FeedView>)
    }

    private let kind: Kind

    private init(_ kind: Kind) {
        self.kind = kind
    }

    /// A rule in place of CloudKit's: it shows what each answer asks.
    package init(_ rule: @escaping Rule) {
        kind = .own(rule)
    }

    /// CloudKit: in public databases the grants of a record's type say who may read it.
    init(_ schema: Schema, _ roles: CallerRoles) {
        kind = roles.mayAll ? .everything : .roles(schema, roles)
    }

    /// Of a zone of which its caller sees what shares of records show: nothing tells of the rest that it is there.
    init(views: Set<FeedView>) {
        kind = .views(views)
    }

    /// CloudKit: a private database's records are readable by all who may use it.
    package static let everything = ReadRule(.everything)

    /// Of a public database whose schema is not known yet: no record leaves it by mistake.
    static let nothing = ReadRule(.nothing)

    /// CloudKit's rule for a database, before anything of it is known.
    func or(ruleOf database: DatabaseKey, for caller: Caller) -> ReadRule {
        guard case .everything = kind, database.scope == .public, !caller.isServer, !caller.isAdministrator else { return self }
        return .nothing
    }

    var isEverything: Bool {
        if case .everything = kind { true } else { false }
    }

    /// Those of which a caller sees the records alone; nil: the caller sees the whole zone.
    var views: Set<FeedView>? {
        if case .views(let views) = kind { views } else { nil }
    }

    /// It says nothing until the schema is known.
    var wantsSchema: Bool {
        if case .nothing = kind { true } else { false }
    }

    func verdict(on record: StoredRecord, of database: DatabaseKey, by caller: Caller) -> ReadVerdict {
        switch kind {
        case .everything: .whole
        case .nothing: .refuse(.readNotPermitted)
        case .roles(let schema, let roles):
            schema.permissions(of: roles, on: record.row.type, asCreator: record.isMade(by: caller)).contains(.read)
                ? .whole : .refuse(.readNotPermitted)
        case .views(let views): record.content.shared.view.map(views.contains) == true ? .whole : .refuse(.recordNotFound)
        case .own(let rule): rule(record.row.name, record.row.type, record.content.created, database, caller)
        }
    }

    /// Which records of a type a caller may read, as far as it is the same for many.
    enum Reach {
        case all
        /// It depends on each of them.
        case some
        case none
    }

    func reach(ofType type: String) -> Reach {
        switch kind {
        case .everything: return .all
        case .nothing: return .none
        case .own, .views: return .some
        case .roles(let schema, let roles):
            if schema.permissions(of: roles, on: type, asCreator: false).contains(.read) { return .all }
            return schema.permissions(of: roles, on: type, asCreator: true).contains(.read) ? .some : .none
        }
    }
}

extension StoredRecord {
    /// Whether the caller made it. Whose a damaged record is, nobody knows.
    func isMade(by caller: Caller) -> Bool {
        guard !isDamaged, let user = caller.userRecordName else { return false }
        return content.created.userRecordName == user
    }
}
