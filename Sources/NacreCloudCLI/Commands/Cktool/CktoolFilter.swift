import Foundation
import NacreCloudWire

/// Filters and sorts as cktool writes them.
enum CktoolFilter {
    private static let symbols: [String: QueryComparator] = [
        "==": .equals, "!=": .notEquals, "<": .lessThan, "<=": .lessThanOrEquals, ">": .greaterThan, ">=": .greaterThanOrEquals,
        "LIST_NOT_CONTAINS_ANY": .notListContainsAny,
    ]
    private static let named: Set<QueryComparator> = [
        .equals, .notEquals, .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals, .near, .containsAllTokens, .containsAnyTokens,
        .listContainsAny,
    ]

    /// Reads `FIELD OPERATOR VALUE`.
    /// - Throws: `CommandFailure` for a text of another form.
    static func filter(_ text: String) throws -> QueryFilter {
        let parts = text.split(separator: " ", maxSplits: 2).map(String.init)
        guard parts.count == 3 else { throw fault(text, "is not FIELD OPERATOR VALUE") }
        guard let comparator = symbols[parts[1]] ?? QueryComparator(rawValue: parts[1]), named.contains(comparator) || symbols[parts[1]] != nil else {
            throw fault(text, "has an operator that cktool does not know: \(parts[1])")
        }
        let field = fieldName(parts[0])
        if comparator == .near { return try near(field, parts[2], text) }
        guard let value = value(parts[2], of: field) else { throw fault(text, "has a value that is not of its type") }
        if comparator == .listContainsAny || comparator == .notListContainsAny, let list = value.asList {
            return QueryFilter(comparator, fieldName: field, value: list)
        }
        return QueryFilter(comparator, fieldName: field, value: value)
    }

    /// Reads `FIELD`, `FIELD ASC` or `FIELD DESC`.
    /// - Throws: `CommandFailure` for a text of another form.
    static func sort(_ text: String) throws -> QuerySort {
        guard var sort = QueryText.sort(text) else {
            throw CommandFailure(.usage, "the sort '\(text)' is not FIELD, FIELD ASC or FIELD DESC")
        }
        sort.fieldName = fieldName(sort.fieldName)
        return sort
    }

    /// Returns the field's name; a system field may also go by its name on the web.
    private static func fieldName(_ name: String) -> String {
        SystemField.allCases.first { $0.webName == name }?.rawValue ?? name
    }

    /// Metres: half the circumference of the Earth, the largest distance there is.
    private static let anyDistance = 20_037_509.0

    private static func near(_ field: String, _ place: String, _ text: String) throws -> QueryFilter {
        let numbers = place.split(separator: ",").map { Double($0.filter { $0 != " " }) }
        guard [2, 3].contains(numbers.count), let latitude = numbers[0], let longitude = numbers[1],
            let metres = numbers.count == 2 ? Self.anyDistance : numbers[2]
        else { throw fault(text, "names no place", remedy: "NEAR wants LATITUDE,LONGITUDE, and metres behind them, such as 48.4,9.99,5000.") }
        return QueryFilter(.near, fieldName: field, value: .location(Location(latitude: latitude, longitude: longitude)), distance: metres)
    }

    /// Reads a value; nil where the text names a type and the value does not have it.
    private static func value(_ text: String, of field: String) -> FieldValue? {
        if let colon = text.firstIndex(of: ":"), let type = CktoolField.type(named: String(text[..<colon])) {
            return value(String(text[text.index(after: colon)...]), typed: type)
        }
        // The value is a record's name, even if it looks like a number.
        if SystemField(rawValue: field)?.type == .reference { return .reference(Reference(recordName: text, action: .none)) }
        if let number = Int64(text) { return .int64(number) }
        if text.wholeMatch(of: /[-+]?\d*\.\d+/) != nil, let number = Double(text) { return .double(number) }
        if text.wholeMatch(of: /\d{4}-\d{2}-\d{2}/) != nil, let day = CktoolMoment(text) { return .timestamp(day.timestamp) }
        if text.wholeMatch(of: /[-+]?\d+(\.\d+)?,\s*[-+]?\d+(\.\d+)?/) != nil {
            let numbers = text.split(separator: ",").compactMap { Double($0.filter { $0 != " " }) }
            if numbers.count == 2 { return .location(Location(latitude: numbers[0], longitude: numbers[1])) }
        }
        return .string(text)
    }

    private static func value(_ text: String, typed type: FieldType) -> FieldValue? {
        switch type {
        case .string: .string(text)
        case .int64: Int64(text).map(FieldValue.int64)
        case .double: Double(text).flatMap { $0.isFinite ? .double($0) : nil }
        case .timestamp: CktoolMoment(text).map { .timestamp($0.timestamp) }
        case .reference: .reference(Reference(recordName: text, action: .none))
        case .bytes: Base64.decode(text).map(FieldValue.bytes)
        default: CktoolField(json: text, type: type)?.value
        }
    }

    private static func fault(_ text: String, _ what: String, remedy: String? = nil) -> CommandFailure {
        let known = "==, !=, <, <=, >, >=, " + QueryComparator.allCases.filter(named.contains).map(\.rawValue).joined(separator: ", ")
        return CommandFailure(
            .usage, "the filter '\(text)' \(what)",
            remedy: remedy ?? "Write 'stars >= 3' or 'title == stringType:2021-01-01'. Operators: \(known), LIST_NOT_CONTAINS_ANY.")
    }
}

extension FieldValue {
    /// A list of this one value; a list is itself. nil for a type that has no lists.
    fileprivate var asList: FieldValue? {
        switch self {
        case .string(let value): .stringList([value])
        case .int64(let value): .int64List([value])
        case .double(let value): .doubleList([value])
        case .timestamp(let value): .timestampList([value])
        case .bytes(let value): .bytesList([value])
        case .location(let value): .locationList([value])
        case .reference(let value): .referenceList([value])
        case .stringList, .int64List, .doubleList, .timestampList, .bytesList, .locationList, .referenceList: self
        case .asset, .assetList, .emptyList, .sealed: nil
        }
    }
}
