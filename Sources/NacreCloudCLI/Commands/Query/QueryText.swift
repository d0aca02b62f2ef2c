import NacreCloudWire

/// A query's filters and sorts as they are written on a command line.
enum QueryText {
    private static let symbols: [String: QueryComparator] = [
        "=": .equals, "==": .equals, "!=": .notEquals, "<>": .notEquals, "<": .lessThan, "<=": .lessThanOrEquals, ">": .greaterThan,
        ">=": .greaterThanOrEquals,
    ]

    /// Reads `FIELD OP VALUE`; nil for a text of another form.
    ///
    /// The operator is a symbol, or one of CloudKit's comparators in any case. The value is JSON, a field's value
    /// with its type, text in single quotes as in `NSPredicate`, or otherwise plain text.
    /// A search takes `*` for all fields that can be searched, and `NEAR` takes `LATITUDE,LONGITUDE,METRES`.
    static func filter(_ text: String) -> QueryFilter? {
        let parts = text.split(separator: " ", maxSplits: 2).map(String.init)
        guard parts.count == 3, let comparator = symbols[parts[1]] ?? QueryComparator(rawValue: parts[1].uppercased()) else { return nil }
        let isSearch = comparator == .containsAllTokens || comparator == .containsAnyTokens
        let field = isSearch && parts[0] == "*" ? nil : parts[0]
        guard comparator == .near else { return QueryFilter(comparator, fieldName: field, value: quoted(parts[2]) ?? value(parts[2])) }
        let numbers = parts[2].split(separator: ",").compactMap { Double($0.filter { $0 != " " }) }
        guard numbers.count == 3 else { return nil }
        let place = Location(latitude: numbers[0], longitude: numbers[1])
        return QueryFilter(.near, fieldName: field, value: .location(place), distance: numbers[2])
    }

    /// Reads text in single quotes, in which a quote has a backslash before it; nil for other text.
    private static func quoted(_ text: String) -> FieldValue? {
        guard text.count >= 2, text.first == "'", text.last == "'" else { return nil }
        return .string(String(text.dropFirst().dropLast()).replacing(#"\'"#, with: "'"))
    }

    /// Reads JSON or a field's value with its type; any other text is a string.
    static func value(_ text: String) -> FieldValue {
        FieldValue(filterValue: text) ?? FieldValue(filterValue: #"{"value":\#(text)}"#) ?? .string(text)
    }

    /// Returns the filters of an option.
    /// - Throws: `UsageError`.
    static func filters(of call: Call, _ option: Option) throws -> [QueryFilter] {
        try all(option, of: call, expected, filter)
    }

    /// The operators of CloudKit in place of those of `NSPredicate`, by their names in upper case.
    private static let substitutes = [
        "CONTAINS": "LIST_CONTAINS for a value of a list, CONTAINS_ALL_TOKENS for words of a text", "LIKE": "BEGINS_WITH or CONTAINS_ALL_TOKENS",
        "MATCHES": "BEGINS_WITH or CONTAINS_ALL_TOKENS", "BEGINSWITH": "BEGINS_WITH", "BETWEEN": "two filters, with >= and <=",
        "AND": "an option for each filter", "OR": "a query for each side, or IN with a list",
    ]

    /// Says what a filter is that was not read: its form, and the operators where that is at fault.
    private static func expected(_ text: String) -> String {
        let form = "give FIELD OPERATOR VALUE"
        let words = text.split(separator: " ", maxSplits: 2)
        guard words.count == 3, symbols[String(words[1])] == nil, QueryComparator(rawValue: words[1].uppercased()) == nil else {
            return "\(form); NEAR takes LATITUDE,LONGITUDE,METRES"
        }
        let hint = substitutes[words[1].uppercased()].map { "; in its place take \($0)" } ?? ""
        let names = symbols.keys.sorted() + QueryComparator.allCases.map(\.rawValue)
        return "\(form)\(hint). Operators: \(names.joined(separator: ", "))"
    }

    /// Returns the sorts of an option.
    /// - Throws: `UsageError`.
    static func sorts(of call: Call, _ option: Option) throws -> [QuerySort] {
        try all(option, of: call, { _ in "give FIELD, FIELD ASC or FIELD DESC" }, sort)
    }

    private static func all<Part>(_ option: Option, of call: Call, _ expected: (String) -> String, _ read: (String) -> Part?) throws -> [Part] {
        try call.all(option).map { text in
            guard let part = read(text) else { throw UsageError(.invalid("--\(option.name)", expected(text)), path: call.path) }
            return part
        }
    }

    /// Reads `FIELD`, `FIELD ASC` or `FIELD DESC`; nil for a text of another form.
    static func sort(_ text: String) -> QuerySort? {
        let parts = text.split(separator: " ").map(String.init)
        guard let field = parts.first, parts.count <= 2 else { return nil }
        switch parts.dropFirst().first?.uppercased() {
        case nil, "ASC": return QuerySort(field)
        case "DESC": return QuerySort(field, isAscending: false)
        default: return nil
        }
    }
}
