package import NacreCloudContainer

extension AdminMessages {
    /// `GET /admin/1/schema`
    package struct Schema: Codable, Hashable, Sendable {
        /// How often it changed.
        package var version: Int64
        /// In CloudKit's schema language.
        package var text: String
        /// Fields with an index that is not built yet, as `Type.field`.
        package var building: [String]
        /// Fields with an index that queries go by, likewise: those that some query needed.
        package var indexed: [String]
    }

    /// `POST /admin/1/schema/deploy`
    package struct NewDeployment: Codable, Hashable, Sendable {
        package var container: String
        /// Only say what would come.
        package var isDryRun: Bool

        package init(container: String, isDryRun: Bool) {
            self.container = container
            self.isDryRun = isDryRun
        }
    }

    package struct Deployment: Codable, Hashable, Sendable {
        package var isDryRun: Bool
        package var gains: [Gain]
        /// What production cannot take. Of a dry run alone: otherwise the first one is the answer.
        package var refusals: [Refusal]
        /// Queries that production has answered within a month and does not any more, or not as before.
        package var broken: [BrokenQuery]
    }

    /// A query that a change of a schema breaks.
    package struct BrokenQuery: Codable, Hashable, Sendable {
        /// What it asks, without the values that it compared with: `Note where title BEGINS_WITH STRING, sorted by stars`.
        package var query: String
        /// What it is answered then.
        package var reason: String
        /// One line for people: what to do.
        package var remedy: String?
    }

    /// Why something of a schema is not taken.
    package struct Refusal: Codable, Hashable, Sendable {
        package var reason: String
        /// The type or the field at fault, as `Type.field`.
        package var field: String?
        /// One line for people: what to do.
        package var remedy: String?
    }

    /// One thing that production gains.
    package struct Gain: Codable, Hashable, Sendable {
        package var kind: SchemaGain.Kind
        /// Absent: of a role.
        package var recordType: String?
        package var field: String?
        package var role: String?
        /// In CloudKit's schema language: a field's type and options, the options that are new, or a type's grants from now on.
        package var declaration: String

        /// It takes the place of what production had.
        package var isReplacement: Bool { kind == .grants }
        package var isOfSubscriptions: Bool { kind == .subscription }
        package var isMadeIndex: Bool { kind == .madeIndex }
    }

    /// `POST /admin/1/schema/import`
    package struct NewImport: Codable, Hashable, Sendable {
        package var container: String
        /// In CloudKit's schema language.
        package var text: String
        /// Only say what would change.
        package var isDryRun: Bool

        package init(container: String, text: String, isDryRun: Bool) {
            self.container = container
            self.text = text
            self.isDryRun = isDryRun
        }
    }

    /// `POST /admin/1/schema/diff`
    package struct NewDiff: Codable, Hashable, Sendable {
        package var container: String
        package var environment: String
        /// In CloudKit's schema language.
        package var text: String

        package init(container: String, environment: String, text: String) {
            self.container = container
            self.environment = environment
            self.text = text
        }
    }

    /// What changes, or would, in the order of types and fields.
    package struct Differences: Codable, Hashable, Sendable {
        package var differences: [Difference]
        /// Of an import: queries that development has answered within a month and does not any more, or not as before.
        package var broken: [BrokenQuery]?

        init(_ differences: [Difference], broken: [BrokenQuery]? = nil) {
            self.differences = differences
            self.broken = broken
        }
    }

    package struct Difference: Codable, Hashable, Sendable {
        /// Absent: of a role.
        package var recordType: String?
        /// Absent: of the type itself, or of its grants.
        package var field: String?
        package var role: String?
        /// In CloudKit's schema language a field's type and options, or a type's grants; empty for a type and a role, absent where there was none.
        package var before: String?
        package var after: String?
    }

    /// `POST /admin/1/schema/indexes`
    package struct NewIndexes: Codable, Hashable, Sendable {
        package var container: String
        package var recordType: String
        package var field: String
        /// `QUERYABLE`, `SORTABLE`, `SEARCHABLE`; nil: only say which it has. Of two fields: empty refuses it, and no query gets it made.
        package var options: [String]?
        /// In CloudKit's schema language; makes the field, and its type, where they are not there yet.
        package var fieldType: String?
        /// Makes the indexes that the field may have, before a query needs them. nil as false.
        package var isNow: Bool?
        /// Whether its indexes that are made stay, used or not; nil leaves that as it is.
        package var isPinned: Bool?

        package init(
            container: String, recordType: String, field: String, options: [String]?, fieldType: String?, isNow: Bool? = nil, isPinned: Bool? = nil
        ) {
            self.container = container
            self.recordType = recordType
            self.field = field
            self.options = options
            self.fieldType = fieldType
            self.isNow = isNow
            self.isPinned = isPinned
        }
    }

    package struct Indexes: Codable, Hashable, Sendable {
        package var recordType: String
        /// By its name in the schema; of two fields `first+second`.
        package var field: String
        /// In CloudKit's schema language. Absent: two fields.
        package var fieldType: String?
        /// Those that it had; absent where the field came just now.
        package var before: [String]?
        /// Those that it has now. Two fields have none.
        package var options: [String]
        /// Its indexes that are made.
        package var made: [MadeIndex]
    }

    /// `GET /admin/1/schema/indexes`
    package struct MadeIndexes: Codable, Hashable, Sendable {
        package var indexes: [MadeIndex]
        /// Indexes of two fields that no query gets made, as `Type.first+second`.
        package var refused: [String]
    }

    package struct MadeIndex: Codable, Hashable, Sendable {
        package var recordType: String
        /// By its name in the schema; of two fields `first+second`.
        package var field: String
        /// `values` or `words` of one field, or `pair`.
        package var kind: String
        /// `building` or `usable`.
        package var state: String
        package var isPinned: Bool
        /// For people: what it costs a save.
        package var cost: String
        /// When it was asked for, in ISO 8601. Absent: nobody noted it.
        package var made: String?
        /// The query that asked for it, without its values. Absent: none did, or it said too much to be kept.
        package var query: String?
        /// When a query that can go by it was noted last, which is done once a day, in ISO 8601. Absent: not within a month.
        package var lastUsed: String?
    }

    /// `POST /admin/1/schema/reset`
    package struct NewReset: Codable, Hashable, Sendable {
        package var container: String
        /// Only say what would go.
        package var isDryRun: Bool

        package init(container: String, isDryRun: Bool) {
            self.container = container
            self.isDryRun = isDryRun
        }
    }

    package struct Reset: Codable, Hashable, Sendable {
        package var isDryRun: Bool
        /// Roles that production does not have.
        package var roles: [String]
        /// Types that production does not have.
        package var types: [String]
        /// Fields that production does not have, as `Type.field`.
        package var fields: [String]
        /// Databases whose zones and records go.
        package var databases: Int
    }

    /// `GET /admin/1/schema/history`
    package struct SchemaHistory: Codable, Hashable, Sendable {
        /// Newest first.
        package var changes: [Change]
    }

    /// A change of a schema by an administrator.
    package struct Change: Codable, Hashable, Sendable {
        /// Counts from 1 in each environment.
        package var number: Int64
        /// `import`, `index`, `deploy`, `reset` or `undo`.
        package var kind: String
        /// ISO 8601, in UTC.
        package var time: String
        /// ID and name of the management token that made it; absent: an administrator with the token of `admin.json`.
        package var author: String?
        /// An undo took it back.
        package var isUndone: Bool
        /// How many differences it made.
        package var count: Int
        /// Absent where they were too long to be kept.
        package var differences: [Difference]?
    }

    /// `POST /admin/1/schema/undo`
    package struct NewUndo: Codable, Hashable, Sendable {
        package var container: String
        /// Only say what would change.
        package var isDryRun: Bool

        package init(container: String, isDryRun: Bool) {
            self.container = container
            self.isDryRun = isDryRun
        }
    }

    package struct Undo: Codable, Hashable, Sendable {
        /// The number and the kind of the change that is taken back.
        package var number: Int64
        package var kind: String
        package var differences: [Difference]
    }
}
