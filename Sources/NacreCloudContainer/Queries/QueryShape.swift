package import NacreCloudAccounts
import NacreCloudStorage
package import NacreCloudWire

/// A query that the schema allows, with the definitions of the fields that it names. See
/// `docs/decisions/queries-matching.md`.
package struct QueryShape {
    package struct Field {
        /// The name in records: system fields have their schema names.
        package var name: String
        package var definition: FieldDefinition
        /// The name in CloudKit's errors.
        var shownName: String
    }

    package struct Filter {
        package var filter: QueryFilter
        /// One field, or all searchable ones.
        package var fields: [Field]
    }

    package let type: RecordTypeDefinition
    package private(set) var filters: [Filter] = []
    package private(set) var terms: [SortTerm] = []
    private let purpose: Purpose
    /// Whether the schema has to mark the fields as queryable, searchable or sortable.
    private var needsMarks: Bool { purpose != .browsing }

    /// The purpose of a query.
    package enum Purpose {
        case search
        /// An administrator's look: fields need no marks of the schema. Encrypted fields stay closed.
        case browsing
        /// A subscription: the filters test changed records. Without filters it needs no index of all names, because
        /// nothing is looked up.
        case subscription
        /// A change to test against a subscription that was checked when it was saved. Checks what depends on the type,
        /// and skips what depends on the filters alone.
        case firing
    }

    package init(_ query: Query, for purpose: Purpose = .search, in schema: Schema, of container: String, by caller: Caller) throws(ServerError) {
        if query.recordType.isEmpty { throw .missing("recordType") }
        if query.recordType == UserRecord.type { throw .cannotQuerySystemTypes }
        if query.filters.count > Limits.filtersPerQuery {
            throw .tooManyItems(query.filters.count, limit: Limits.filtersPerQuery, field: "filterBy")
        }
        if query.sorts.count > Limits.sortsPerQuery { throw .tooManyItems(query.sorts.count, limit: Limits.sortsPerQuery, field: "sortBy") }
        guard let type = schema.types[query.recordType] else { throw .unknownRecordType(query.recordType) }
        (self.type, self.purpose) = (type, purpose)
        if purpose == .subscription || purpose == .firing, query.filters.isEmpty { return }
        guard !needsMarks || type.fields.values.contains(where: { !$0.options.isEmpty }) else { throw .typeNotIndexable(type.name, in: container) }
        if needsMarks, query.filters.isEmpty {
            let names = try field(SystemField.recordName.rawValue)
            guard names.definition.isQueryable else { throw .fieldNotMarked("queryable", names, of: type.name, in: container) }
        }
        for filter in query.filters { filters.append(try checked(filter, of: container, by: caller)) }
        for sort in query.sorts {
            let term = try term(for: sort, in: container)
            if !terms.contains(where: { $0.field == term.field && $0.from == term.from }) { terms.append(term) }
        }
    }

    private func field(_ name: String) throws(ServerError) -> Field {
        if let system = SystemField(rawValue: name) {
            let definition = type.fields[name] ?? FieldDefinition(type: system.type)
            return Field(name: name, definition: definition, shownName: system.errorName)
        }
        guard let definition = type.fields[name] else { throw .unknownField(name) }
        return Field(name: name, definition: definition, shownName: name)
    }

    // MARK: Filters

    private func checked(
        _ filter: QueryFilter, of container: String, by caller: Caller
    ) throws(ServerError) -> Filter {
        if filter.comparator.isTokenSearch { return try checkedSearch(filter, of: container) }
        guard let name = filter.fieldName else { throw .missing("fieldName") }
        let field = try field(name)
        if field.definition.isEncrypted { throw .wrongFilter(field, filter.comparator) }
        guard field.definition.isQueryable || !needsMarks else { throw .fieldNotMarked("queryable", field, of: type.name, in: container) }
        guard filter.comparator.takes(field.definition.type) else { throw .wrongFilter(field, filter.comparator) }
        var checked = filter
        checked.value = try value(filter.value, for: filter.comparator, of: field, by: caller)
        if purpose == .firing { return Filter(filter: checked, fields: [field]) }
        if checked.value.elements.count > Limits.valuesPerFilter { throw .tooManyFilterValues(in: container) }
        if filter.value.withoutRepetitions.elements.count < filter.value.elements.count { throw .repeatedFilterValue(field.shownName) }
        if !filter.value.hasFiniteNumbers { throw .badValue(field.shownName, "numbers must be finite", remedy: "Compare with numbers.") }
        if filter.comparator == .near {
            guard let distance = filter.distance else { throw .missing("distance") }
            guard distance >= 0, distance.isFinite else {
                throw .badValue("distance", "invalid distance", remedy: "Give metres, 0 or more.")
            }
        }
        return Filter(filter: checked, fields: [field])
    }

    /// Returns the value that a filter compares with, if its type is that of the field.
    private func value(
        _ value: FieldValue, for comparator: QueryComparator, of field: Field, by caller: Caller
    ) throws(ServerError) -> FieldValue {
        let value = field.reading(value, by: caller)
        if comparator.takesList, !value.type.isList { throw .filterTakesList(field.shownName, comparator) }
        if case .sealed = value { throw .wrongFilterValue(field, value) }
        let wanted = field.definition.type.element
        let given = comparator.takesList ? value.type.element : value.type
        let areNumbers = Set([wanted, given]) == [.int64, .double]
        let isEmpty = comparator.takesList && value.type == .unknownList
        guard wanted == given || areNumbers || isEmpty else { throw .wrongFilterValue(field, value) }
        return value
    }

    private func checkedSearch(_ filter: QueryFilter, of container: String) throws(ServerError) -> Filter {
        var fields: [Field] = []
        if let name = filter.fieldName {
            let field = try field(name)
            if field.definition.isEncrypted { throw .wrongFilter(field, filter.comparator) }
            guard field.definition.isSearchable || !needsMarks else { throw .fieldNotMarked("searchable", field, of: type.name, in: container) }
            fields = [field]
        } else {
            let searchable = type.fields.filter { $0.value.isSearchable }.sorted { $0.key < $1.key }
            fields = searchable.map { Field(name: $0.key, definition: $0.value, shownName: $0.key) }
            if fields.isEmpty { throw .nothingSearchable(type.name, in: container) }
        }
        guard case .string = filter.value else { throw .wrongFilterValue(fields[0], filter.value) }
        if Set(SearchWords.of(filter.value)).count > Limits.valuesPerFilter { throw .tooManyFilterValues(in: container) }
        return Filter(filter: filter, fields: fields)
    }

    // MARK: Sorts

    private func term(for sort: QuerySort, in container: String) throws(ServerError) -> SortTerm {
        let field = try field(sort.fieldName)
        guard field.definition.isSortable || !needsMarks, !field.definition.isEncrypted, !field.definition.type.isList
        else { throw .fieldNotMarked("sortable", field, of: type.name, in: container) }
        guard (field.definition.type == .location) == (sort.relativeLocation != nil) else {
            throw .badValue(
                "relativeLocation", "Field '\(field.shownName)' has a value type of \(field.definition.shape.name)",
                remedy: "Sort locations by their distance from a relativeLocation, and nothing else.")
        }
        if let location = sort.relativeLocation, !FieldValue.location(location).hasFiniteNumbers {
            throw .badValue("relativeLocation", "numbers must be finite", remedy: "Give a latitude and a longitude.")
        }
        return SortTerm(
            field: field.name, type: field.definition.type, index: field.definition.values, isAscending: sort.isAscending,
            from: sort.relativeLocation.map(GeoPoint.init))
    }
}

extension QueryShape.Field {
    /// Returns a filter's value for a field. On a system field, a text may name a record, and an alias the caller.
    fileprivate func reading(_ value: FieldValue, by caller: Caller) -> FieldValue {
        guard let system = SystemField(rawValue: name), system.type == .reference else { return value }
        let isUser = system == .createdUserRecordName || system == .modifiedUserRecordName
        func reference(_ name: String) -> Reference {
            let isAlias = isUser && ZoneID.ownerAliases.contains(name)
            return Reference(recordName: isAlias ? caller.userRecordName ?? name : name, action: .none)
        }
        return switch value {
        case .string(let name): .reference(reference(name))
        case .stringList(let names): .referenceList(names.map(reference))
        case .reference(let target): .reference(reference(target.recordName))
        case .referenceList(let targets): .referenceList(targets.map { reference($0.recordName) })
        default: value
        }
    }
}

extension QueryComparator {
    /// Whether it compares with several values.
    package var takesList: Bool {
        switch self {
        case .in, .notIn, .listContainsAny, .notListContainsAny, .listContainsAll, .notListContainsAll: true
        default: false
        }
    }

    /// Whether it can compare fields of this type.
    package func takes(_ type: FieldType) -> Bool {
        switch self {
        case .equals, .notEquals, .in, .notIn: !type.isList && type != .asset
        case .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals: !type.isList && type != .asset && type != .location
        case .near: type == .location
        case .beginsWith, .notBeginsWith: type == .string
        case .listContains, .notListContains, .listContainsAny, .notListContainsAny, .listContainsAll, .notListContainsAll: type.isList
        case .listMemberBeginsWith, .notListMemberBeginsWith: type == .stringList
        case .containsAllTokens, .containsAnyTokens: type == .string || type == .stringList
        }
    }
}
