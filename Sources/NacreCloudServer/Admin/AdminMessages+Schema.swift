package import NacreCloudContainer

extension AdminMessages {
    /// The records of a container's public database by type, in the order of the types' names.
    package struct RecordCounts: Codable, Hashable, Sendable {
        package var types: [TypeCount]
        /// false: there are more records, and the numbers are the least that there are.
        package var isWhole: Bool
    }

    package struct TypeCount: Codable, Hashable, Sendable {
        package var recordType: String
        package var records: Int
    }

    /// `GET /admin/1/schema`
    package struct Schema: Codable, Hashable, Sendable {
        /// The number of changes so far.
        package var version: Int64
        /// The schema in CloudKit's schema language.
        package var text: String
        /// Fields with an index that is not built yet, as `Type.field`.
        package var building: [String]
        /// Fields with a usable index, as `Type.field`: those that some query needed.
        package var indexed: [String]
    }

    /// `POST /admin/1/schema/deploy`
    package struct NewDeployment: Codable, Hashable, Sendable {
        package var container: String
        /// true: reports the gains, and deploys nothing.
        package var isDryRun: Bool

        package init(container: String, isDryRun: Bool) {
            self.container = container
            self.isDryRun = isDryRun
        }
    }

    package struct Deployment: Codable, Hashable, Sendable {
        package var isDryRun: Bool
        package var gains: [Gain]
        /// Reasons why production cannot take the schema. Only a dry run lists them: otherwise the first one is an
        /// error.
        package var refusals: [Refusal]
        /// Queries that production answered within the last month, and would answer differently or refuse.
        package var broken: [BrokenQuery]
    }

    /// A query that a change of a schema breaks.
    package struct BrokenQuery: Codable, Hashable, Sendable {
        /// The query without the values that it compared with: `Note where title BEGINS_WITH STRING, sorted by stars`.
        package var query: String
        /// The error that answers the query after the change.
        package var reason: String
        /// The remedy, one line for people.
        package var remedy: String?
    }

    /// The reason why a part of a schema is refused.
    package struct Refusal: Codable, Hashable, Sendable {
        package var reason: String
        /// The type or the field at fault, as `Type.field`.
        package var field: String?
        /// The remedy, one line for people.
        package var remedy: String?
    }

    /// An addition to production.
    package struct Gain: Codable, Hashable, Sendable {
        package var kind: SchemaGain.Kind
        /// The record type; absent for a role.
        package var recordType: String?
        package var field: String?
        package var role: String?
        /// The gain in CloudKit's schema language: a field's type and options, the new options, or a type's new grants.
        package var declaration: String

        /// Whether it replaces something that production had.
        package var isReplacement: Bool { kind == .grants }
        package var isOfSubscriptions: Bool { kind == .subscription }
        package var isMadeIndex: Bool { kind == .madeIndex }
    }

    /// `POST /admin/1/schema/import`
    package struct NewImport: Codable, Hashable, Sendable {
        package var container: String
        /// The schema in CloudKit's schema language.
        package var text: String
        /// true: reports the differences, and changes nothing.
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
        /// The schema in CloudKit's schema language.
        package var text: String

        package init(container: String, environment: String, text: String) {
            self.container = container
            self.environment = environment
            self.text = text
        }
    }

    /// Differences that are made, or would be, in the order of types and fields.
    package struct Differences: Codable, Hashable, Sendable {
        package var differences: [Difference]
        /// After an import: queries that development answered within the last month, and answers differently or refuses
        /// now.
        package var broken: [BrokenQuery]?

        init(_ differences: [Difference], broken: [BrokenQuery]? = nil) {
            self.differences = differences
            self.broken = broken
        }
    }

    package struct Difference: Codable, Hashable, Sendable {
        /// The record type; absent for a role.
        package var recordType: String?
        /// The field; absent for the type itself, or for its grants.
        package var field: String?
        package var role: String?
        /// A field's type and options, or a type's grants, in CloudKit's schema language; empty for a type and a role,
        /// absent if there was none.
        package var before: String?
        package var after: String?
    }

    /// `POST /admin/1/schema/indexes`
    package struct NewIndexes: Codable, Hashable, Sendable {
        package var container: String
        package var recordType: String
        package var field: String
        /// `QUERYABLE`, `SORTABLE`, `SEARCHABLE`; nil only reads. For two fields, an empty list refuses the index, so
        /// that no query creates it.
        package var options: [String]?
        /// The type in CloudKit's schema language, for a field that does not exist yet; the field and its record type
        /// are then created.
        package var fieldType: String?
        /// true: builds the indexes that the field may have before a query needs them. nil means false.
        package var isNow: Bool?
        /// Whether the field's built indexes stay even if unused; nil leaves that as it is.
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
        /// The field's name in the schema; for two fields `first+second`.
        package var field: String
        /// The type in CloudKit's schema language; absent for two fields.
        package var fieldType: String?
        /// The options before; absent if the field was just created.
        package var before: [String]?
        /// The options now. Two fields have none.
        package var options: [String]
        /// The field's built indexes.
        package var made: [MadeIndex]
    }

    /// `GET /admin/1/schema/indexes`
    package struct MadeIndexes: Codable, Hashable, Sendable {
        package var indexes: [MadeIndex]
        /// Indexes of two fields that no query may create, as `Type.first+second`.
        package var refused: [String]
    }

    package struct MadeIndex: Codable, Hashable, Sendable {
        package var recordType: String
        /// The field's name in the schema; for two fields `first+second`.
        package var field: String
        /// `values` or `words` of one field, or `pair`.
        package var kind: String
        /// `building` or `usable`.
        package var state: String
        package var isPinned: Bool
        /// The cost for each save, in words.
        package var cost: String
        /// Time of the request for the index, in ISO 8601; absent if it was not recorded.
        package var made: String?
        /// The query that needed the index, without its values; absent if there was none, or if its text was too long
        /// to be kept.
        package var query: String?
        /// Last recorded use by a query, in ISO 8601, recorded once a day; absent: none within a month.
        package var lastUsed: String?
    }

    /// `POST /admin/1/schema/reset`
    package struct NewReset: Codable, Hashable, Sendable {
        package var container: String
        /// true: reports what would be removed, and removes nothing.
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
        /// The number of databases whose zones and records are removed.
        package var databases: Int
    }

    /// `GET /admin/1/schema/history`
    package struct SchemaHistory: Codable, Hashable, Sendable {
        /// Changes, the newest first.
        package var changes: [Change]
    }

    /// A change of a schema by an administrator.
    package struct Change: Codable, Hashable, Sendable {
        /// The number of the change, from 1 in each environment.
        package var number: Int64
        /// `import`, `index`, `deploy`, `reset` or `undo`.
        package var kind: String
        /// Time in ISO 8601, in UTC.
        package var time: String
        /// ID and name of the management token that made the change; absent if an administrator with the token of
        /// `admin.json` made it.
        package var author: String?
        /// true: an undo reverted the change.
        package var isUndone: Bool
        /// The number of differences.
        package var count: Int
        /// The differences; absent if they were too long to be kept.
        package var differences: [Difference]?
    }

    /// `POST /admin/1/schema/undo`
    package struct NewUndo: Codable, Hashable, Sendable {
        package var container: String
        /// true: reports the differences, and changes nothing.
        package var isDryRun: Bool

        package init(container: String, isDryRun: Bool) {
            self.container = container
            self.isDryRun = isDryRun
        }
    }

    package struct Undo: Codable, Hashable, Sendable {
        /// The number and the kind of the change that is reverted.
        package var number: Int64
        package var kind: String
        package var differences: [Difference]
    }
}
