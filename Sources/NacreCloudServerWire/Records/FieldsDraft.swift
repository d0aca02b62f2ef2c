import NacreCloudWire

/// The member `fields` of a record to change: the values to set, the fields to clear, and the first fault.
struct FieldsDraft {
    private var values: [RecordFields.Field] = []
    /// Null fields, with the number of values read before each: of several members with one name the last wins.
    private var nulls: [(name: String, position: Int)] = []
    /// Indexes of the values without a type.
    private var untypedPlaces: [Int] = []
    private(set) var fault: ServerError?

    /// Reads the fields to change. A faulty name or value becomes the record's fault, and reading goes on.
    init(from reader: inout JSONReader) throws(JSONError) {
        if try reader.takeNull() { return }
        try reader.beginObject()
        values.reserveCapacity(RecordFields.usualCount)
        while let key = try reader.nextKey() {
            let name = key.string
            // Fields of shares have a dot; the save decides whether the record is a share.
            if let fault = Names.fieldNameFault(name), !ShareNames.fields.contains(name) { note(fault) }
            let place = reader.checkpoint
            do throws(JSONError) {
                var isTyped = false
                if let value = try FieldValue.read(from: &reader, isTyped: &isTyped) {
                    if !isTyped { untypedPlaces.append(values.count) }
                    values.append(RecordFields.Field(name, value))
                } else {
                    nulls.append((name, values.count))
                }
            } catch {
                guard case .value(let problem) = error.problem else { throw error }
                note(ServerError(.badRequest, problem.reason, field: Names.shown(name)))
                reader.restore(place)
                try reader.skip()
            }
        }
    }

    init() {}

    /// The fields to set and to clear. Costs nothing beyond the fields where none is null.
    var change: (set: RecordFields, cleared: [String]) {
        guard !nulls.isEmpty else { return (RecordFields(values), []) }
        var lastSet: [String: Int] = [:]
        for (position, field) in values.enumerated() { lastSet[field.name] = position }
        var cleared: Set<String> = []
        for null in nulls where (lastSet[null.name] ?? -1) < null.position { cleared.insert(null.name) }
        return (RecordFields(values.filter { !cleared.contains($0.name) }), cleared.sorted())
    }

    /// Returns the fields of `set` whose values had no type. Costs nothing where all had one.
    func untyped(of set: RecordFields) -> [String] {
        guard !untypedPlaces.isEmpty else { return [] }
        var lastSet: [String: Int] = [:]
        for (index, field) in values.enumerated() { lastSet[field.name] = index }
        return untypedPlaces.filter { lastSet[values[$0].name] == $0 && set[values[$0].name] != nil }.map { values[$0].name }.sorted()
    }

    private mutating func note(_ error: ServerError) {
        fault = fault ?? error
    }
}
