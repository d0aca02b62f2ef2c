package import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

/// A query that its type's definition allows, ready to run.
package struct CheckedQuery: Sendable {
    package let type: RecordTypeDefinition
    package let tests: [FilterTest]
    package let drivers: [QueryDriver]
    /// The requested order; empty: by name.
    package let terms: [SortTerm]
    /// The fields of a record that decide whether it is in the answer, and where.
    package let fields: FieldNames
    /// Whether the query also reads system fields of a record.
    let readsSystemFields: Bool
    /// The index of the type's record names; nil if it is not usable.
    let nameIndex: IndexID?
    /// The indexes that the query needs and that are not made.
    package let missing: [FieldIndex]
    /// An index of two fields that would save the query records to read, and that is not made.
    let missingPair: FieldPair?
    /// Whether an index that the query needs is not made or not complete. Records are then looked through one by one.
    let lacksIndex: Bool
    /// The indexes that the query may use and whose older rows a walk wrote.
    let builtIndexes: Set<IndexID>

    /// - Throws: CloudKit's error for a query that the schema does not allow.
    package init(
        _ query: Query, for purpose: QueryShape.Purpose = .search, in schema: Schema, of container: String, by caller: Caller
    ) throws(ServerError) {
        let shape = try QueryShape(query, for: purpose, in: schema, of: container, by: caller)
        type = shape.type
        tests = shape.filters.map { FilterTest($0.filter, fields: $0.fields.map(\.name)) }
        drivers = zip(shape.filters, tests).enumerated().flatMap { index, pair in
            QueryDriver.ways(to: pair.1, filter: index, at: pair.0.fields.map(\.definition), value: pair.0.filter.value)
        }
        let pairing = shape.pairing
        terms = pairing.terms
        // The own term of a filter is by the filter's field.
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

    /// Returns the query's indexes that may lack records of a zone. The zone was made, during their build, by a process
    /// that did not know them yet.
    func indexesLacking(in zone: ZoneRow) -> Set<IndexID> {
        builtIndexes.filter { $0.rawValue >= zone.indexesBelow }
    }

    /// Returns the part of a term's index that the filters on the term's field leave, in the keys of the term.
    package func span(of term: SortTerm, in index: IndexID) -> IndexSpan {
        var span = IndexSpan(index: index, lower: IndexKey.none, upper: nil)
        for driver in drivers where driver.spans.count == 1 && driver.spans[0].index == term.index?.index {
            span.lower = ZoneSearch.later(span.lower, driver.spans[0].lower)
            span.upper = ZoneSearch.earlier(span.upper, driver.spans[0].upper)
        }
        return span
    }

    /// Returns the greatest distance from a term's point that its filters allow; nil: records without a location too.
    package func radius(of term: SortTerm) -> Double? {
        drivers.filter { $0.ownTerm?.from == term.from && $0.ownTerm?.field == term.field }.map { tests[$0.filter].distance }.min()
    }

    package func described(_ driver: QueryDriver) -> String {
        let test = tests[driver.filter]
        return "\(test.fields.joined(separator: ", ")) \(test.comparator.rawValue)"
    }
}

extension QueryShape {
    /// The terms of the order. They use an index of two fields if a filter compares its first field for equality and
    /// the order begins with its second. `missing` is an index of this kind that is not made.
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
