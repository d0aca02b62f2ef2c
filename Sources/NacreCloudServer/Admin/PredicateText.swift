import NacreCloudContainer
import NacreCloudWire

extension [QueryFilter] {
    /// The filters as the predicate that an app or the console's page writes: `stars > 3 AND NOT tags CONTAINS "old"`.
    var predicate: String { map(\.predicate).joined(separator: " AND ") }
}

extension QueryFilter {
    fileprivate var predicate: String {
        let field = fieldName ?? "self"
        if comparator == .near, case .location(let place) = value {
            return "\(field) NEAR {\(place.latitude), \(place.longitude), \(distance ?? 0)}"
        }
        let (isNot, word) = comparator.word
        return "\(isNot ? "NOT " : "")\(field) \(word) \(value.predicate)"
    }
}

extension QueryComparator {
    /// The operator of a predicate, and whether `NOT` stands before the field.
    fileprivate var word: (isNot: Bool, text: String) {
        switch self {
        case .equals: (false, "=")
        case .notEquals: (false, "!=")
        case .lessThan: (false, "<")
        case .lessThanOrEquals: (false, "<=")
        case .greaterThan: (false, ">")
        case .greaterThanOrEquals: (false, ">=")
        case .near: (false, "NEAR")
        case .in, .listContainsAny: (false, "IN")
        case .notIn, .notListContainsAny: (true, "IN")
        case .containsAllTokens, .listContains, .listContainsAll: (false, "CONTAINS")
        case .notListContains, .notListContainsAll: (true, "CONTAINS")
        case .containsAnyTokens: (false, "CONTAINS ANY")
        case .beginsWith, .listMemberBeginsWith: (false, "BEGINSWITH")
        case .notBeginsWith, .notListMemberBeginsWith: (true, "BEGINSWITH")
        }
    }
}

extension FieldValue {
    fileprivate var predicate: String {
        switch self {
        case .string(let text): Self.quoted(text)
        case .int64(let number): String(number)
        case .double(let number): String(number)
        case .timestamp(let time): Self.quoted(time.iso8601)
        case .bytes(let bytes): Self.quoted(Base64.encode(bytes))
        case .location(let place): "{\(place.latitude), \(place.longitude)}"
        case .reference(let reference): Self.quoted(reference.recordName)
        case .asset(let asset): Self.quoted(asset.fileChecksum)
        case .sealed: "encrypted"
        case .stringList, .int64List, .doubleList, .timestampList, .bytesList, .locationList, .referenceList, .assetList, .emptyList:
            "{\(elements.map(\.predicate).joined(separator: ", "))}"
        }
    }

    private static func quoted(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
