/// The fields of a record, ordered by the bytes of their names, each name once.
///
/// An ordered array and not a dictionary: a record has a handful of fields, and both the stored form and the wire walk them in order.
package struct RecordFields: Hashable, Sendable {
    package struct Field: Hashable, Sendable {
        package var name: String
        package var value: FieldValue

        package init(_ name: String, _ value: FieldValue) {
            self.name = name
            self.value = value
        }
    }

    package private(set) var entries: [Field]

    package init() {
        entries = []
    }

    /// Costs a sort unless the fields come in order.
    ///
    /// - Parameter fields: in any order; the last of several with one name stays.
    package init(_ fields: [Field]) {
        entries = fields
        let isAscending = entries.indices.dropFirst().allSatisfy { entries[$0 - 1].name < entries[$0].name }
        guard !isAscending else { return }
        let sorted = entries.enumerated().sorted { ($0.element.name, $0.offset) < ($1.element.name, $1.offset) }
        entries.removeAll(keepingCapacity: true)
        for (_, field) in sorted {
            if entries.last?.name == field.name { entries.removeLast() }
            entries.append(field)
        }
    }

    package var count: Int { entries.count }
    package var isEmpty: Bool { entries.isEmpty }

    /// Costs a binary search; setting nil removes.
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

    /// Only the fields named, or all when `keys` is nil.
    package func only(_ keys: [String]?) -> RecordFields {
        guard let keys else { return self }
        var kept = RecordFields()
        kept.entries = entries.filter { keys.contains($0.name) }
        return kept
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
