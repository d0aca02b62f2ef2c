import NacreCloudWire

/// The server's form of a predicate: filters that must all match. Pure.
///
/// CloudKit accepts fewer predicates than Foundation can express. An unsupported part is named in the error, and
/// nothing is sent. See `docs/decisions/predicates.md`.
struct PredicateFilters: Equatable, Sendable {
    private(set) var filters: [QueryFilter] = []
    /// Whether the predicate includes FALSEPREDICATE: no request is needed.
    private(set) var matchesNothing = false

    /// - Parameter now: the value of `now()`.
    init(_ tree: PredicateTree, now: Timestamp) throws(PredicateFault) {
        if let fault = tree.fault { throw fault }
        try add(tree, now, isNegated: false)
    }

    private mutating func add(_ tree: PredicateTree, _ now: Timestamp, isNegated: Bool) throws(PredicateFault) {
        switch tree {
        case .constant(let value): if value == isNegated { matchesNothing = true }
        case .comparison(let comparison):
            filters += try FilterMaker(comparison, now: now, isNegated: isNegated).filters()
        case .and(let parts) where parts.count > 1 && isNegated:
            throw PredicateFault(problem: "NOT cannot be applied to AND", part: PredicateFormat.text(.not(tree)))
        case .or(let parts) where parts.count > 1:
            throw PredicateFault(problem: "OR is not supported", part: PredicateFormat.text(tree))
        case .and(let parts), .or(let parts):
            if parts.isEmpty, case .and = tree { return try add(.constant(true), now, isNegated: isNegated) }
            if parts.isEmpty { return try add(.constant(false), now, isNegated: isNegated) }
            for part in parts { try add(part, now, isNegated: isNegated) }
        case .not(let part): try add(part, now, isNegated: !isNegated)
        case .fault(let fault): throw fault
        }
    }
}

/// Makes the filters of one comparison.
private struct FilterMaker {
    let comparison: PredicateComparison
    let now: Timestamp
    let isNegated: Bool

    init(_ comparison: PredicateComparison, now: Timestamp, isNegated: Bool) {
        // `5 < key` becomes `key > 5`.
        self.comparison = comparison.right.isKey || comparison.right.isDistance ? comparison.turned ?? comparison : comparison
        self.now = now
        self.isNegated = isNegated
    }

    func filters() throws(PredicateFault) -> [QueryFilter] {
        if let search = try tokenSearch() { return [search] }
        guard comparison.options.isEmpty else {
            throw refusal("Options such as [c] and [d] are for the search of words alone")
        }
        if comparison.left.isDistance { return [try near()] }
        switch comparison.quantifier {
        case .all: throw refusal("ALL is not supported")
        case .any: return [try anyFilter()]
        case nil: return try plainFilters()
        }
    }

    private func refusal(_ problem: String, part: PredicateOperand? = nil) -> PredicateFault {
        PredicateFault(
            problem: problem,
            part: part.map(PredicateFormat.text) ?? PredicateFormat.text(isNegated ? .not(.comparison(comparison)) : .comparison(comparison)))
    }

    private func filter(_ comparator: QueryComparator, _ negated: QueryComparator, _ field: String, _ value: FieldValue) -> QueryFilter {
        QueryFilter(isNegated ? negated : comparator, fieldName: field, value: value)
    }

    // MARK: Comparisons

    private func plainFilters() throws(PredicateFault) -> [QueryFilter] {
        let (left, right) = (comparison.left, comparison.right)
        switch comparison.operator {
        case .equal: return [filter(.equals, .notEquals, try field(left), try value(right))]
        case .notEqual: return [filter(.notEquals, .equals, try field(left), try value(right))]
        case .less: return [filter(.lessThan, .greaterThanOrEquals, try field(left), try value(right))]
        case .lessOrEqual: return [filter(.lessThanOrEquals, .greaterThan, try field(left), try value(right))]
        case .greater: return [filter(.greaterThan, .lessThanOrEquals, try field(left), try value(right))]
        case .greaterOrEqual: return [filter(.greaterThanOrEquals, .lessThan, try field(left), try value(right))]
        case .between:
            guard !isNegated else { throw refusal("NOT cannot be applied to BETWEEN") }
            guard case .list(let bounds) = right, bounds.count == 2 else { throw refusal("BETWEEN needs a list of two values") }
            let field = try field(left)
            return [
                QueryFilter(.greaterThanOrEquals, fieldName: field, value: try value(bounds[0])),
                QueryFilter(.lessThanOrEquals, fieldName: field, value: try value(bounds[1])),
            ]
        case .in:
            if case .list(let elements) = right { return [filter(.in, .notIn, try field(left), try list(elements))] }
            return [filter(.listContains, .notListContains, try field(right), try element(left))]
        case .contains: return [filter(.listContains, .notListContains, try field(left), try element(right))]
        case .beginsWith: return [filter(.beginsWith, .notBeginsWith, try field(left), try text(right))]
        case .endsWith, .like, .matches, .tokenMatches: throw refusal("\(comparison.operator.rawValue) is not supported")
        }
    }

    /// Returns the filter of a comparison with ANY: at least one element of a list must match.
    private func anyFilter() throws(PredicateFault) -> QueryFilter {
        let (left, right) = (comparison.left, comparison.right)
        switch (comparison.operator, left, right) {
        case (.in, .list(let elements), _), (.contains, _, .list(let elements)):
            return filter(.listContainsAny, .notListContainsAny, try field(comparison.operator == .in ? right : left), try list(elements))
        case (.in, _, .list(let elements)): return filter(.listContainsAny, .notListContainsAny, try field(left), try list(elements))
        case (.equal, _, _), (.contains, _, _): return filter(.listContains, .notListContains, try field(left), try element(right))
        case (.beginsWith, _, _):
            return filter(.listMemberBeginsWith, .notListMemberBeginsWith, try field(left), try text(right))
        default: throw refusal("ANY is supported with =, IN, CONTAINS and BEGINSWITH alone")
        }
    }

    // MARK: Words

    /// Returns the filter of a search for words: `self CONTAINS 'words'` and CloudKit's two other spellings; nil for
    /// every other comparison.
    private func tokenSearch() throws(PredicateFault) -> QueryFilter? {
        let words: PredicateOperand
        var field: String?
        var comparator = QueryComparator.containsAllTokens
        switch (comparison.operator, comparison.left, comparison.right) {
        case (.contains, .itself, let right), (.tokenMatches, .itself, let right), (.tokenMatches, .key("allTokens"), let right): words = right
        case (.tokenMatches, let left, let right):
            field = try self.field(left)
            words = right
        case (.in, .function(let name, let parts), .key("allTokens")) where name == "tokenize" || name == "tokenize:using:":
            guard let first = parts.first else { throw refusal("tokenize needs words") }
            words = first
            if comparison.quantifier == .any { comparator = .containsAnyTokens }
        default: return nil
        }
        guard !isNegated else { throw refusal("NOT cannot be applied to a search of words") }
        guard case .value(.string(let text)) = words.tokenized else { throw refusal("A search of words needs a String", part: words) }
        return QueryFilter(comparator, fieldName: field, value: .string(text))
    }

    // MARK: Distance

    private func near() throws(PredicateFault) -> QueryFilter {
        guard comparison.operator == .less || comparison.operator == .lessOrEqual, !isNegated, comparison.quantifier == nil else {
            throw refusal("A distance can only be tested to be less than a radius")
        }
        guard case .function(_, let parts) = comparison.left, parts.count == 2 else { throw refusal("A distance needs a key and a location") }
        let (key, place) = parts[0].isKey ? (parts[0], parts[1]) : (parts[1], parts[0])
        guard case .location(let location) = try value(place) else { throw refusal("A distance needs a CLLocation", part: place) }
        let radius: Double
        switch try value(comparison.right) {
        case .int64(let metres): radius = Double(metres)
        case .double(let metres): radius = metres
        default: throw refusal("A radius must be a number of metres", part: comparison.right)
        }
        return QueryFilter(.near, fieldName: try field(key), value: .location(location), distance: radius)
    }

    // MARK: Sides

    private func field(_ expression: PredicateOperand) throws(PredicateFault) -> String {
        guard case .key(let key) = expression else {
            if case .function = expression { throw refusal("The function is not supported", part: expression) }
            throw refusal("A comparison needs a key on one side and a value on the other")
        }
        guard let name = QueryField.name(key) else {
            throw refusal("A key must be an ASCII letter, then ASCII letters, digits or underscores, without dots", part: expression)
        }
        return name
    }

    private func value(_ expression: PredicateOperand) throws(PredicateFault) -> FieldValue {
        switch expression {
        case .value(let value): return value
        case .list(let elements): return try list(elements)
        case .null: throw refusal("A field cannot be compared with nil")
        case .variable: throw refusal("The variable has no value", part: expression)
        case .function("now", let parts) where parts.isEmpty: return .timestamp(now)
        case .key, .itself: throw refusal("A comparison needs a key on one side and a value on the other")
        case .function, .unusable: break
        }
        throw refusal("The function is not supported", part: expression)
    }

    /// Returns the value of a list's element.
    private func element(_ expression: PredicateOperand) throws(PredicateFault) -> FieldValue {
        if case .list = expression { throw refusal("A list cannot contain a list: use ANY", part: expression) }
        return try value(expression)
    }

    private func text(_ expression: PredicateOperand) throws(PredicateFault) -> FieldValue {
        guard case .string(let text) = try value(expression) else { throw refusal("BEGINSWITH needs a String", part: expression) }
        return .string(text)
    }

    private func list(_ elements: [PredicateOperand]) throws(PredicateFault) -> FieldValue {
        var values: [FieldValue] = []
        for element in elements { values.append(try value(element)) }
        do throws(ValueFault.Reason) {
            // The server accepts each value only once.
            return try FieldValue(list: values).withoutRepetitions
        } catch {
            throw refusal(error.rawValue, part: .list(elements))
        }
    }
}

extension PredicateOperand {
    fileprivate var isKey: Bool { if case .key = self { true } else { false } }

    fileprivate var isDistance: Bool { if case .function("distanceToLocation:fromLocation:", _) = self { true } else { false } }

    /// The words in `tokenize('words', 'cdl')`.
    fileprivate var tokenized: PredicateOperand {
        if case .function("tokenize", let parts) = self, let first = parts.first { return first }
        if case .function("tokenize:using:", let parts) = self, let first = parts.first { return first }
        return self
    }
}

extension PredicateComparison {
    /// The comparison with its sides exchanged; nil if its meaning would change.
    fileprivate var turned: PredicateComparison? {
        let turned: Operator
        switch self.operator {
        case .equal, .notEqual: turned = self.operator
        case .less: turned = .greater
        case .lessOrEqual: turned = .greaterOrEqual
        case .greater: turned = .less
        case .greaterOrEqual: turned = .lessOrEqual
        default: return nil
        }
        return PredicateComparison(quantifier: quantifier, left: right, operator: turned, options: options, right: left)
    }
}

/// The names of fields in predicates and sort descriptors.
enum QueryField {
    /// The schema's names of `CKRecord`'s properties; `CKRecord.SystemFieldKey` uses the same.
    private static let systemFields: [String: SystemField] = [
        "recordID": .recordName, "creationDate": .createdTimestamp, "modificationDate": .modifiedTimestamp,
        "creatorUserRecordID": .createdUserRecordName, "lastModifiedUserRecordID": .modifiedUserRecordName, "parent": .parent, "share": .share,
    ]

    /// Returns the server's name of a field; nil if the key is not a valid name.
    static func name(_ key: String) -> String? {
        if let field = systemFields[key] ?? SystemField(rawValue: key) { return field.rawValue }
        return Names.isIdentifier(key) ? key : nil
    }

    /// Returns the app's name of a field.
    static func key(_ name: String) -> String {
        SystemField(rawValue: name).flatMap { field in systemFields.first { $0.value == field }?.key } ?? name
    }
}
