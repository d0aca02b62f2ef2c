import NacreCloudWire

extension PredicateTree {
    /// Makes the predicate that is equivalent to these filters. `PredicateFilters` makes the same filters from it, if
    /// it supports them.
    init(_ filters: [QueryFilter]) {
        let parts = filters.map(PredicateTree.init)
        switch parts.count {
        case 0: self = .constant(true)
        case 1: self = parts[0]
        default: self = .and(parts)
        }
    }

    private init(_ filter: QueryFilter) {
        let side = FilterSide(filter)
        self =
            switch filter.comparator {
            case .equals: side.test(.equal)
            case .notEquals: side.test(.notEqual)
            case .lessThan: side.test(.less)
            case .lessThanOrEquals: side.test(.lessOrEqual)
            case .greaterThan: side.test(.greater)
            case .greaterThanOrEquals: side.test(.greaterOrEqual)
            case .near: side.near(within: filter.distance)
            case .containsAllTokens where filter.fieldName == nil:
                .comparison(PredicateComparison(left: .itself, operator: .contains, right: side.value))
            case .containsAllTokens: side.test(.tokenMatches)
            case .containsAnyTokens: side.anyToken
            case .in: side.test(.in, side.elements)
            case .notIn: .not(side.test(.in, side.elements))
            case .listContains: side.test(.contains)
            case .notListContains: .not(side.test(.contains))
            case .listContainsAny: side.test(any: .in, side.elements)
            case .notListContainsAny: .not(side.test(any: .in, side.elements))
            case .listContainsAll: side.containsAll
            case .notListContainsAll: .not(side.containsAll)
            case .beginsWith: side.test(.beginsWith)
            case .notBeginsWith: .not(side.test(.beginsWith))
            case .listMemberBeginsWith: side.test(any: .beginsWith, side.value)
            case .notListMemberBeginsWith: .not(side.test(any: .beginsWith, side.value))
            }
    }
}

/// The field and the value of a filter, as sides of comparisons.
private struct FilterSide {
    private let key: PredicateOperand
    let value: PredicateOperand
    let parts: [PredicateOperand]

    init(_ filter: QueryFilter) {
        key = .key(filter.fieldName.map(QueryField.key) ?? "allTokens")
        value = .value(filter.value)
        parts = filter.value.elements.map { .value($0) }
    }

    var elements: PredicateOperand { .list(parts) }

    func test(_ operator: PredicateComparison.Operator, _ right: PredicateOperand? = nil) -> PredicateTree {
        .comparison(PredicateComparison(left: key, operator: `operator`, right: right ?? value))
    }

    /// Returns a comparison that matches if some element of the field's list does.
    func test(any operator: PredicateComparison.Operator, _ right: PredicateOperand) -> PredicateTree {
        .comparison(PredicateComparison(quantifier: .any, left: key, operator: `operator`, right: right))
    }

    var containsAll: PredicateTree {
        .and(parts.map { .comparison(PredicateComparison(left: key, operator: .contains, right: $0)) })
    }

    var anyToken: PredicateTree {
        .comparison(PredicateComparison(quantifier: .any, left: .function("tokenize", [value]), operator: .in, right: key))
    }

    func near(within metres: Double?) -> PredicateTree {
        .comparison(
            PredicateComparison(
                left: .function("distanceToLocation:fromLocation:", [key, value]), operator: .less,
                right: .value(.double(metres ?? .greatestFiniteMagnitude))))
    }
}

extension FieldValue {
    /// The elements of a list as values; for any other value, the value itself.
    fileprivate var elements: [FieldValue] {
        switch self {
        case .stringList(let values): values.map { .string($0) }
        case .int64List(let values): values.map { .int64($0) }
        case .doubleList(let values): values.map { .double($0) }
        case .timestampList(let values): values.map { .timestamp($0) }
        case .bytesList(let values): values.map { .bytes($0) }
        case .locationList(let values): values.map { .location($0) }
        case .referenceList(let values): values.map { .reference($0) }
        case .assetList(let values): values.map { .asset($0) }
        case .emptyList: []
        case .string, .int64, .double, .timestamp, .bytes, .location, .reference, .asset, .sealed: [self]
        }
    }
}
