import NacreCloudWire

/// The indexes that a query can use, made or not.
extension QueryShape {
    /// The indexes of one field for its filters and sorts; one may occur twice. A query for all records of a type uses
    /// the index of their names.
    package var indexes: [FieldIndex] {
        func index(_ field: String, _ kind: IndexKind) -> FieldIndex { FieldIndex(type: type.name, field: field, kind: kind) }
        if terms.isEmpty, filters.isEmpty { return [index(SystemField.recordName.rawValue, .values)] }
        let ofFilters = filters.flatMap { filter in
            filter.fields.map { index($0.name, filter.filter.comparator.isTokenSearch ? .tokens : .values) }
        }
        return terms.map { index($0.field, .values) } + ofFilters
    }

    /// The indexes of two fields: for each filter that compares for equality, with the first field of the order.
    /// - Returns: `filter`: the filter's position. `key`: the key of the value that it compares with.
    package var pairs: [(filter: Int, key: [UInt8], pair: FieldPair)] {
        guard let term = terms.first, term.from == nil else { return [] }
        return filters.enumerated().compactMap { index, filter in
            guard let field = filter.fields.first, let key = QueryDriver.point(of: filter.filter, at: field.definition) else { return nil }
            return (index, key, FieldPair(type: type.name, first: field.name, second: term.field))
        }
    }
}
