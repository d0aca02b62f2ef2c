package import NacreCloudStorage
package import NacreCloudWire

/// The types and fields that saves add to a schema. The first save of a field sets its shape. Subscriptions add kinds.
package struct SchemaAdditions: Hashable, Sendable {
    package private(set) var types: [String: [String: FieldShape]] = [:]
    /// subscribed[recordType], for existing types.
    package var subscribed: [String: Set<String>] = [:]

    package mutating func add(_ fields: [String: FieldShape], to type: String) {
        types[type, default: [:]].merge(fields, uniquingKeysWith: { first, _ in first })
    }

    /// The number of types and of their fields together.
    package var count: Int { types.values.reduce(types.count) { $0 + $1.count } }

    /// Splits the additions into portions, each with a `count` of at most `most` or with a single type. Kinds of
    /// subscriptions go with the first.
    package func portions(of most: Int) -> [SchemaAdditions] {
        var portions = [SchemaAdditions()]
        portions[0].subscribed = subscribed
        for (type, fields) in types.sorted(by: { $0.key < $1.key }) {
            let last = portions[portions.count - 1].count
            if last > 0, last + 1 + fields.count > most { portions.append(SchemaAdditions()) }
            portions[portions.count - 1].add(fields, to: type)
        }
        return portions
    }

    package func merging(_ later: SchemaAdditions) -> SchemaAdditions {
        var all = self
        for (type, fields) in later.types { all.add(fields, to: type) }
        return all
    }
}

extension Schema {
    /// Returns the type and fields that the schema lacks for a record, up to its limits; nil if it lacks nothing.
    package func lacking(of type: String, with fields: RecordFields) -> SchemaAdditions? {
        let known = definition(of: type)
        let fieldsBefore = (known ?? .new(type)).fields
        let room = Limits.fieldsPerRecordType - fieldsBefore.count
        var shapes: [String: FieldShape] = [:]
        for field in fields.entries where shapes.count < room && fieldsBefore[field.name] == nil {
            shapes[field.name] = FieldShape(of: field.value)
        }
        if known != nil, shapes.isEmpty { return nil }
        var additions = SchemaAdditions()
        additions.add(shapes, to: type)
        return additions
    }

    /// Adds the missing parts of `additions`, with the default options of new fields, up to the schema's limits.
    /// Indexes come later, when queries need them.
    package mutating func add(_ additions: SchemaAdditions) {
        for (type, kinds) in additions.subscribed { types[type]?.subscribed.formUnion(kinds) }
        for (type, fields) in additions.types.sorted(by: { $0.key < $1.key }) {
            let known = definition(of: type)
            if known == nil, types.count >= Limits.recordTypesPerSchema { continue }
            var definition = known ?? .new(type)
            for (name, shape) in fields.sorted(by: { $0.key < $1.key }) where definition.fields[name] == nil {
                if definition.fields.count >= Limits.fieldsPerRecordType { break }
                var field = FieldDefinition(type: shape.type, isEncrypted: shape.isEncrypted)
                // Queries do not read users.
                let options: IndexOptions = type == UserRecord.type ? [] : .defaults(for: shape)
                field.setOptions(options, nextIndex: &nextIndex)
                definition.fields[name] = field
            }
            types[type] = definition
        }
    }

    /// The indexes under construction, which lack rows of older records.
    package var building: Set<IndexID> {
        Set(types.values.flatMap(\.indexes).filter { $0.state == .building }.map(\.index))
    }

    /// Marks these indexes as complete.
    mutating func finishBuilding(_ indexes: Set<IndexID>) {
        change(indexes) { index in
            index?.state = .usable
            index?.isBuilt = true
        }
    }

    /// Marks these indexes, as far as they exist, to be built again.
    mutating func rebuild(_ indexes: Set<IndexID>) {
        change(indexes) { $0?.state = .building }
    }

    /// Changes the definitions of these indexes, as far as they exist. A definition set to nil is removed.
    package mutating func change(_ indexes: Set<IndexID>, _ change: (inout IndexDefinition?) -> Void) {
        for (type, definition) in types {
            for (name, field) in definition.fields {
                for kind in IndexKind.allCases {
                    var index = field[kind]
                    guard let id = index?.index, indexes.contains(id) else { continue }
                    change(&index)
                    types[type]?.fields[name]?[kind] = index
                }
            }
            guard definition.pairs.contains(where: { indexes.contains($0.definition.index) }) else { continue }
            types[type]?.pairs = definition.pairs.compactMap { pair in
                var index: IndexDefinition? = pair.definition
                if indexes.contains(pair.definition.index) { change(&index) }
                return index.map { PairIndex(first: pair.first, second: pair.second, definition: $0) }
            }
        }
    }
}
