extension Query {
    /// Reads a query. `filterBy` and `sortBy` may be one object in place of an array of one.
    package init(from reader: inout JSONReader) throws(JSONError) {
        var recordType: String?
        self.init(recordType: "")
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "recordType": recordType = try reader.optionalString()
            case "filterBy":
                filters =
                    try reader.takeNull()
                    ? [] : try reader.arrayOrSingle { reader throws(JSONError) in try QueryFilter(from: &reader) }
            case "sortBy":
                sorts =
                    try reader.takeNull()
                    ? [] : try reader.arrayOrSingle { reader throws(JSONError) in try QuerySort(from: &reader) }
            default: try reader.skip()
            }
        }
        self.recordType = try reader.require(recordType, "recordType", at: start)
    }

    /// Writes the query.
    /// - Parameter form: The form of values. Requests have exact times, or a filter could miss the record that its
    ///   date was read from.
    package func write(to writer: inout JSONWriter, form: ValueForm = ValueForm(details: true, numbersAsStrings: false)) {
        writer.beginObject()
        writer.write("recordType", recordType)
        if !filters.isEmpty { writer.write("filterBy", filters) { $1.write(to: &$0, form: form) } }
        if !sorts.isEmpty { writer.write("sortBy", sorts) { $1.write(to: &$0, form: form) } }
        writer.endObject()
    }
}

/// The field of a filter or a sort: by its own name, or by the web's name of a system field.
private struct FieldNameDraft {
    private var fieldName: String?
    private var systemField: SystemField?

    mutating func take(_ key: JSONText, from reader: inout JSONReader) throws(JSONError) -> Bool {
        switch key {
        case "fieldName": fieldName = try reader.optionalString()
        case "systemFieldName": systemField = try reader.takeNull() ? nil : try reader.systemField()
        default: return false
        }
        return true
    }

    /// Returns the field's name.
    /// - Parameter start: The offset of the object that names the field.
    func name(at start: Int) throws(JSONError) -> String? {
        guard fieldName == nil || systemField == nil else { throw JSONError(.twoFieldNames, at: start) }
        return fieldName ?? systemField?.rawValue
    }
}

extension QueryFilter {
    fileprivate init(from reader: inout JSONReader) throws(JSONError) {
        var field = FieldNameDraft()
        var comparator: QueryComparator?
        var value: JSONReader.Checkpoint?
        var distance: Double?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "comparator": comparator = try reader.takeNull() ? nil : try reader.comparator()
            case "fieldValue": value = try reader.passOver()
            case "distance": distance = try reader.optionalDouble()
            default:
                if try field.take(key, from: &reader) { continue }
                try reader.skip()
            }
        }
        let compared = try reader.require(comparator, "comparator", at: start)
        let place = try reader.require(value, "fieldValue", at: start)
        let name = try field.name(at: start)
        let end = reader.checkpoint
        reader.restore(place)
        let found = try reader.filterValue(for: compared)
        reader.restore(end)
        self.init(
            compared, fieldName: compared.searchesTokens ? name : try reader.require(name, "fieldName", at: start),
            value: try reader.require(found, "fieldValue", at: start), distance: distance)
    }

    fileprivate func write(to writer: inout JSONWriter, form: ValueForm) {
        writer.beginObject()
        writer.write(ifPresent: "fieldName", fieldName)
        writer.write("comparator", comparator.rawValue)
        writer.key("fieldValue")
        value.write(to: &writer, form: form)
        if let distance { writer.write("distance", distance) }
        writer.endObject()
    }
}

extension QuerySort {
    fileprivate init(from reader: inout JSONReader) throws(JSONError) {
        var field = FieldNameDraft()
        self.init("")
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "ascending": isAscending = try reader.optionalBoolean() ?? true
            case "relativeLocation": relativeLocation = try reader.relativeLocation()
            default:
                if try field.take(key, from: &reader) { continue }
                try reader.skip()
            }
        }
        fieldName = try reader.require(try field.name(at: start), "fieldName", at: start)
    }

    fileprivate func write(to writer: inout JSONWriter, form: ValueForm) {
        writer.beginObject()
        writer.write("fieldName", fieldName)
        if !isAscending { writer.write("ascending", false) }
        if let relativeLocation {
            writer.key("relativeLocation")
            FieldValue.location(relativeLocation).write(to: &writer, form: form)
        }
        writer.endObject()
    }
}

extension FieldValue {
    /// Parses a value as filters have it, such as `{"value": 5}`; nil for a value of another form.
    package init?(filterValue json: String) {
        let value = Array(json.utf8).withUnsafeBytes { bytes -> FieldValue? in
            var reader = JSONReader(bytes)
            do throws(JSONError) {
                let value = try FieldValue.read(from: &reader, in: .query)
                try reader.finish()
                return value
            } catch {
                return nil
            }
        }
        guard let value else { return nil }
        self = value
    }
}

extension QueryComparator {
    /// Whether the filter may search every searchable field without naming one.
    fileprivate var searchesTokens: Bool { self == .containsAllTokens || self == .containsAnyTokens }

    /// Whether the filter's value is a list.
    fileprivate var takesList: Bool {
        switch self {
        case .in, .notIn, .listContainsAny, .notListContainsAny, .listContainsAll, .notListContainsAll: true
        case .equals, .notEquals, .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals, .near, .containsAllTokens,
            .containsAnyTokens, .listContains, .notListContains, .beginsWith, .notBeginsWith, .listMemberBeginsWith,
            .notListMemberBeginsWith:
            false
        }
    }

    /// Whether that list must name its type. CloudKit: `IN` without one is refused.
    fileprivate var needsType: Bool { self == .in || self == .notIn }
}

extension JSONReader {
    /// Reads a comparator; two of them also as CKTool spells them.
    fileprivate mutating func comparator() throws(JSONError) -> QueryComparator {
        try expect(.string)
        let start = offset
        switch try text() {
        case "LIST_NOT_CONTAINS": return .notListContains
        case "LIST_NOT_CONTAINS_ANY": return .notListContainsAny
        case let text:
            guard let comparator = QueryComparator(rawValue: text.string) else { throw JSONError(.unknownName, at: start) }
            return comparator
        }
    }

    fileprivate mutating func systemField() throws(JSONError) -> SystemField {
        try expect(.string)
        let start = offset
        let name = try text().string
        guard let field = SystemField.allCases.first(where: { $0.webName == name }) else { throw JSONError(.unknownName, at: start) }
        return field
    }

    /// Reads a filter's value; nil where it is null.
    fileprivate mutating func filterValue(for comparator: QueryComparator) throws(JSONError) -> FieldValue? {
        guard comparator.takesList else { return try FieldValue.read(from: &self, in: .query) }
        let start = offset
        if comparator.needsType, try !saysType() { throw JSONError(.listTypeExpected, at: start) }
        let value = try FieldValue.read(from: &self, in: .query)
        if let value, !value.type.isList { throw JSONError(.listTypeExpected, at: start) }
        return value
    }

    /// Returns whether the next value names its type; does not move past it.
    private mutating func saysType() throws(JSONError) -> Bool {
        let start = checkpoint
        defer { restore(start) }
        var isTyped = false
        try beginObject()
        while let key = try nextKey() {
            switch key {
            case "type": isTyped = try optionalString() != nil
            default: try skip()
            }
        }
        return isTyped
    }

    /// Reads a location as a field's value, or bare; nil where it is null.
    fileprivate mutating func relativeLocation() throws(JSONError) -> Location? {
        if try takeNull() { return nil }
        let start = checkpoint
        guard let value = try FieldValue.read(from: &self, in: .query) else {
            restore(start)
            return try locationValue()
        }
        guard case .location(let location) = value else {
            restore(start)
            throw JSONError(.value(.expected(.location)), at: offset)
        }
        return location
    }
}
