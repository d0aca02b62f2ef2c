/// The headers of a response, in order. Names compare without case. There are few, so every access scans the array.
package struct HTTPHeaders: Sendable, ExpressibleByDictionaryLiteral, Sequence {
    private var fields: [(name: String, value: String)] = []

    package init() {}

    package init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { (name: $0.0, value: $0.1) }
    }

    /// The first value of this name. Setting replaces all values of the name; nil removes them.
    package subscript(name: String) -> String? {
        get { fields.first { equalIgnoringCase($0.name, name) }?.value }
        set {
            if fields.contains(where: { equalIgnoringCase($0.name, name) }) { fields.removeAll { equalIgnoringCase($0.name, name) } }
            if let newValue { fields.append((name: name, value: newValue)) }
        }
    }

    /// Adds a value beside others of the same name (`Set-Cookie`).
    package mutating func add(_ name: String, _ value: String) {
        fields.append((name: name, value: value))
    }

    /// Adds an item to a comma-separated header, for example `Vary`, unless it is there.
    package mutating func addItem(_ name: String, _ item: String) {
        guard let value = self[name] else {
            add(name, item)
            return
        }
        let known = value.split(separator: ",").contains { equalIgnoringCase(trimmingSpaces($0), item) }
        if !known { self[name] = "\(value), \(item)" }
    }

    package func makeIterator() -> IndexingIterator<[(name: String, value: String)]> { fields.makeIterator() }

    package var isEmpty: Bool { fields.isEmpty }
}
