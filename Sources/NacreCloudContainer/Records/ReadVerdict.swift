package import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

/// The verdict of the rules on one caller's wish to read one record.
package enum ReadVerdict: Equatable, Sendable {
    case whole
    /// Only the name of the record is shown, and only to a caller who named it.
    case refuse(ServerError)
}

/// The rule that decides which records of a database a caller may read.
///
/// The rule looks at a record's name, type and system fields alone. A query reads no other field for it.
package struct ReadRule: Sendable {
    /// - Parameter created: the creator of the record, and the time.
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

    /// Makes a rule in place of CloudKit's. Each record that may be answered is shown to it.
    package init(_ rule: @escaping Rule) {
        kind = .own(rule)
    }

    /// Makes CloudKit's rule for a public database: the grants of a record's type say who may read it.
    package init(_ schema: Schema, _ roles: CallerRoles) {
        kind = roles.mayAll ? .everything : .roles(schema, roles)
    }

    /// Makes the rule for a guest, who sees only the records in these views. No answer reveals that others exist.
    package init(views: Set<FeedView>) {
        kind = .views(views)
    }

    /// The rule of a private database. CloudKit: its records are readable by all who may use it.
    package static let everything = ReadRule(.everything)

    /// The rule of a public database whose schema is not known yet. It refuses every record, as a safeguard.
    package static let nothing = ReadRule(.nothing)

    /// Replaces `everything` by `nothing` in a public database, until its schema is known. Other rules stay, as do
    /// those of the server and of administrators.
    package func or(ruleOf database: DatabaseKey, for caller: Caller) -> ReadRule {
        guard case .everything = kind, database.scope == .public, !caller.isServer, !caller.isAdministrator else { return self }
        return .nothing
    }

    package var isEverything: Bool {
        if case .everything = kind { true } else { false }
    }

    /// The views whose records alone the caller sees; nil: the rule does not go by views.
    package var views: Set<FeedView>? {
        if case .views(let views) = kind { views } else { nil }
    }

    /// The rule refuses everything until the schema is known.
    package var wantsSchema: Bool {
        if case .nothing = kind { true } else { false }
    }

    package func verdict(on record: StoredRecord, of database: DatabaseKey, by caller: Caller) -> ReadVerdict {
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

    /// The records of a type that a caller may read, as far as the type alone tells.
    package enum Reach {
        case all
        /// The verdict differs from record to record.
        case some
        case none
    }

    package func reach(ofType type: String) -> Reach {
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
    /// Whether the caller made the record; false for a damaged one, whose creator is unknown.
    package func isMade(by caller: Caller) -> Bool {
        guard !isDamaged, let user = caller.userRecordName else { return false }
        return content.created.userRecordName == user
    }
}
