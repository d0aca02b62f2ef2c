/// The fields of a record, ordered by the bytes of their names, each name once.
///
/// An ordered array and not a dictionary: a record has a handful of fields, and both the stored form and the wire
/// walk them in order.
package struct RecordFields: Equatable, Sendable {
    package struct Field: Equatable, Sendable {
        package var name: String
        package var value: FieldValue

        package init(_ name: String, _ value: FieldValue) {
            self.name = name
            self.value = value
        }
    }

    /// The fields in order. Access by index copies none; a loop over the fields themselves retains and releases each
    /// name and value.
    package private(set) var entries: [Field]

    package init() {
        entries = []
    }

    /// Makes the fields. Costs a sort unless they come in order.
    ///
    /// - Parameter fields: In any order; of several with one name the last stays.
    package init(_ fields: [Field]) {
        entries = fields
        guard !isOrdered else { return }
        // A stable sort, so that the last field of one name stays last.
        entries.sort { $0.name < $1.name }
        guard !isOrdered else { return }
        var distinct: [Field] = []
        for field in entries {
            if distinct.last?.name == field.name { distinct.removeLast() }
            distinct.append(field)
        }
        entries = distinct
    }

    package var count: Int { entries.count }
    package var isEmpty: Bool { entries.isEmpty }

    /// The value of a field. Costs a binary search; setting nil removes the field.
    package subscript(name: String) -> FieldValue? {
        get {
            let (index, found) = place(of: name)
            return found ? entries[index].value : nil
        }
        set {
            let (index, found) = place(of: name)
            switch (newValue, found) {
            case (let value?, true): entries[index].value = value
            case (let value?, false): entries.insert(Field(name, value), at: index)
            case (nil, true): entries.remove(at: index)
            case (nil, false): break
            }
        }
    }

    /// Returns only the fields named, or all if `keys` is nil.
    package func only(_ keys: [String]?) -> RecordFields {
        guard let keys else { return self }
        var kept = RecordFields()
        kept.entries = entries.filter { keys.contains($0.name) }
        return kept
    }

    /// The fields with sealed values, in their order.
    package var sealed: [(name: String, value: SealedValue)] {
        entries.indices.compactMap { index in
            guard case .sealed(let value) = entries[index].value else { return nil }
            return (entries[index].name, value)
        }
    }

    /// Whether the fields are ordered by name, each once.
    private var isOrdered: Bool {
        entries.indices.dropFirst().allSatisfy { entries[$0 - 1].name < entries[$0].name }
    }

    private func place(of name: String) -> (index: Int, found: Bool) {
        if let last = entries.last, last.name < name { return (entries.count, false) }
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].name < name { low = middle + 1 } else { high = middle }
        }
        return (low, low < entries.count && entries[low].name == name)
    }
}

extension RecordFields: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, FieldValue)...) {
        self.init(elements.map { Field($0, $1) })
    }
}
