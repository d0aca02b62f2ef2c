import NacreCloudWire

/// A query that its type's definition allows, made ready to be run.
struct CheckedQuery: Sendable {
    let type: RecordTypeDefinition
    let tests: [FilterTest]
    let drivers: [QueryDriver]
    /// What was asked for; none: in the order of names.
    let terms: [SortTerm]
    /// The fields that have to be read of a record to know whether and where it is in the answer.
    let fields: FieldNames
    /// The others of those fields are what the system keeps of a record.
    let readsSystemFields: Bool
    /// The index of the type's record names, where there is one.
    let nameIndex: IndexID?
    /// The indexes that it would go by, and that nobody has made.
    let missing: [FieldIndex]
    /// An index of two fields by which it would read fewer records, and that nobody has made.
    let missingPair: FieldPair?
    /// An index that it would go by is not made, or still being built: records are looked through one by one in its place.
    let lacksIndex: Bool
    /// Those of the indexes that it may go by whose older rows came by a walk.
    let builtIndexes: Set<IndexID>

    /// - Throws: what CloudKit says of a query that a schema does not allow.
    init(_ query: Query, in schema: Schema, of container: String, by caller: Caller) throws(ServerError) {
        let shape = try QueryShape(query, in: schema, of: container, by: caller)
        type = shape.type
        tests = shape.filters.map { FilterTest($0.filter, fields: $0.fields.map(\.name)) }
        drivers = zip(shape.filters, tests).enumerated().flatMap { place, pair in
            QueryDriver.ways(to: pair.1, filter: place, at: pair.0.fields.map(\.definition), value: pair.0.filter.value)
        }
        let pairing = shape.pairing
        terms = pairing.terms
        // A filter's own order is by its field.
        let read = tests.flatMap(\.fields) + terms.map(\.field)
        let own = read.filter { SystemField(schemaName: $0) == nil }
        fields = FieldNames(own)
        readsSystemFields = own.count < read.count
        let names = shape.type.fields[SystemField.recordName.rawValue]?.values
        nameIndex = names.flatMap { $0.state == .usable ? $0.index : nil }
        let indexes =
            shape.filters.flatMap { $0.fields.flatMap(\.definition.indexes) }
            + (terms.flatMap { [$0.index, $0.part?.index] } + [names]).compactMap(\.self)
        builtIndexes = Set(indexes.filter { $0.isBuilt == true && $0.state == .usable }.map(\.index))
        let unusable = shape.indexes.filter { shape.type.fields[$0.field]?[$0.kind]?.state != .usable }
        missing = unusable.filter { shape.type.fields[$0.field]?[$0.kind] == nil }
        lacksIndex = !unusable.isEmpty
        missingPair = lacksIndex ? nil : pairing.missing
    }

    /// Those of its indexes that may lack records of a zone: it was made by one who did not know them yet, beside the walk that built them.
    func indexesLacking(in zone: ZoneRow) -> Set<IndexID> {
        builtIndexes.filter { $0.rawValue >= zone.indexesBelow }
    }

    /// The part of a term's index in which the records stand that its own filters let through, by the term's own keys.
    func span(of term: SortTerm, in index: IndexID) -> IndexSpan {
        var span = IndexSpan(index: index, lower: IndexKey.none, upper: nil)
        for driver in drivers where driver.spans.count == 1 && driver.spans[0].index == term.index?.index {
            span.lower = ZoneSearch.later(span.lower, driver.spans[0].lower)
            span.upper = ZoneSearch.earlier(span.upper, driver.spans[0].upper)
        }
        return span
    }

    /// How far the filters let records be from where a term measures; nil: anywhere, and nowhere.
    func radius(of term: SortTerm) -> Double? {
        drivers.filter { $0.ownTerm?.from == term.from && $0.ownTerm?.field == term.field }.map { tests[$0.filter].distance }.min()
    }

    func described(_ driver: QueryDriver) -> String {
        let test = tests[driver.filter]
        return "\(test.fields.joined(separator: ", ")) \(test.comparator.rawValue)"
    }
}

extension QueryShape {
    /// The order, by an index of two fields where one of them is compared for equality and the other sorted by; else the index that would be one.
    fileprivate var pairing: (terms: [SortTerm], missing: FieldPair?) {
        var missing: FieldPair?
        for (place, key, wanted) in pairs {
            guard let pair = type.pairs.first(where: { $0.hasFields(of: wanted) }) else {
                if missing == nil, type.allowsPair(wanted.first, wanted.second), type.pairs.count < Limits.pairIndexesPerType { missing = wanted }
                continue
            }
            guard pair.definition.state == .usable else { return (terms, nil) }
            var terms = terms
            terms[0].part = .init(index: pair.definition, prefix: IndexKey.prefix(key), filter: place, field: wanted.first)
            return (terms, nil)
        }
        return (terms, missing)
    }
}
