/// A query: the records of one type that pass every filter, in the order of the sorts.
package struct Query: Equatable, Sendable {
    package var recordType: String
    /// Conditions that must all hold.
    package var filters: [QueryFilter]
    /// Sorts, the most important first; records equal in all of them have a stable order.
    package var sorts: [QuerySort]

    package init(recordType: String, filters: [QueryFilter] = [], sorts: [QuerySort] = []) {
        self.recordType = recordType
        self.filters = filters
        self.sorts = sorts
    }
}

/// One condition on a field. CloudKit: Web Services Reference, "Filter Dictionary".
package struct QueryFilter: Equatable, Sendable {
    package var comparator: QueryComparator
    /// A field, or a system field by its schema name (`SystemField`); nil: every searchable field of the type.
    package var fieldName: String?
    package var value: FieldValue
    /// Metres; only with `NEAR`.
    package var distance: Double?

    package init(_ comparator: QueryComparator, fieldName: String?, value: FieldValue, distance: Double? = nil) {
        self.comparator = comparator
        self.fieldName = fieldName
        self.value = value
        self.distance = distance
    }
}

/// One key of an order. CloudKit: Web Services Reference, "Sort Descriptor Dictionary".
package struct QuerySort: Equatable, Sendable {
    /// A field, or a system field by its schema name (`SystemField`).
    package var fieldName: String
    package var isAscending: Bool
    /// The place to whose distance the records are sorted.
    package var relativeLocation: Location?

    package init(_ fieldName: String, isAscending: Bool = true, relativeLocation: Location? = nil) {
        self.fieldName = fieldName
        self.isAscending = isAscending
        self.relativeLocation = relativeLocation
    }
}

/// The comparison of a filter. Spelled, and case-sensitive, as in CloudKit Web Services.
package enum QueryComparator: String, Hashable, Sendable, CaseIterable {
    case equals = "EQUALS"
    case notEquals = "NOT_EQUALS"
    case lessThan = "LESS_THAN"
    case lessThanOrEquals = "LESS_THAN_OR_EQUALS"
    case greaterThan = "GREATER_THAN"
    case greaterThanOrEquals = "GREATER_THAN_OR_EQUALS"
    case near = "NEAR"
    case containsAllTokens = "CONTAINS_ALL_TOKENS"
    case containsAnyTokens = "CONTAINS_ANY_TOKENS"
    case `in` = "IN"
    case notIn = "NOT_IN"
    case listContains = "LIST_CONTAINS"
    case notListContains = "NOT_LIST_CONTAINS"
    case listContainsAny = "LIST_CONTAINS_ANY"
    case notListContainsAny = "NOT_LIST_CONTAINS_ANY"
    case listContainsAll = "LIST_CONTAINS_ALL"
    case notListContainsAll = "NOT_LIST_CONTAINS_ALL"
    case beginsWith = "BEGINS_WITH"
    case notBeginsWith = "NOT_BEGINS_WITH"
    case listMemberBeginsWith = "LIST_MEMBER_BEGINS_WITH"
    case notListMemberBeginsWith = "NOT_LIST_MEMBER_BEGINS_WITH"
}

/// A field that every record has, by its name in schemas and errors. The web API has other names.
package enum SystemField: String, Hashable, Sendable, CaseIterable {
    case recordName = "___recordID"
    case share = "___share"
    case parent = "___parent"
    case createdUserRecordName = "___createdBy"
    case createdTimestamp = "___createTime"
    case modifiedTimestamp = "___modTime"
    case modifiedUserRecordName = "___modifiedBy"

    /// The web's `systemFieldName`.
    package var webName: String {
        switch self {
        case .recordName: "recordName"
        case .share: "share"
        case .parent: "parent"
        case .createdUserRecordName: "createdUserRecordName"
        case .createdTimestamp: "createdTimestamp"
        case .modifiedTimestamp: "modifiedTimestamp"
        case .modifiedUserRecordName: "modifiedUserRecordName"
        }
    }

    /// The name in CloudKit's error texts: `recordName` for a record's name, the schema name for all others.
    package var errorName: String { self == .recordName ? webName : rawValue }

    package var type: FieldType {
        switch self {
        case .createdTimestamp, .modifiedTimestamp: .timestamp
        case .recordName, .share, .parent, .createdUserRecordName, .modifiedUserRecordName: .reference
        }
    }
}
