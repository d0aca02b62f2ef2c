import NacreCloudWire

/// Writes a predicate as a format.
struct PredicateFormat {
    private(set) var text = ""
    /// The values of `%@` and `%K`, in their order; empty in a format for people, which contains all values.
    private(set) var arguments: [FieldValue] = []
    private let takesArguments: Bool

    /// Returns the text of `predicateFormat`.
    static func text(_ tree: PredicateTree) -> String {
        var format = PredicateFormat(takesArguments: false)
        format.write(tree)
        return format.text
    }

    static func text(_ comparison: PredicateComparison) -> String {
        text(.comparison(comparison))
    }

    static func text(_ expression: PredicateOperand) -> String {
        var format = PredicateFormat(takesArguments: false)
        format.write(expression)
        return format.text
    }

    /// Returns a format that is parsed to an equal tree, if the tree has no fault.
    static func exact(_ tree: PredicateTree) -> PredicateFormat {
        var format = PredicateFormat(takesArguments: true)
        format.write(tree)
        return format
    }

    private init(takesArguments: Bool) {
        self.takesArguments = takesArguments
    }

    // MARK: Predicates

    private mutating func write(_ tree: PredicateTree) {
        switch tree {
        case .constant(let value): text += value ? "TRUEPREDICATE" : "FALSEPREDICATE"
        case .comparison(let comparison): write(comparison)
        case .and(let parts): write(parts, joinedBy: " AND ", ifEmpty: true)
        case .or(let parts): write(parts, joinedBy: " OR ", ifEmpty: false)
        case .not(let part):
            text += "NOT "
            writePart(part)
        case .fault(let fault): text += fault.part
        }
    }

    private mutating func write(_ parts: [PredicateTree], joinedBy word: String, ifEmpty value: Bool) {
        if parts.isEmpty { return write(.constant(value)) }
        for (index, part) in parts.enumerated() {
            if index > 0 { text += word }
            if parts.count == 1 { write(part) } else { writePart(part) }
        }
    }

    private mutating func writePart(_ part: PredicateTree) {
        switch part {
        case .and(let parts) where !parts.isEmpty, .or(let parts) where !parts.isEmpty:
            text += "("
            write(part)
            text += ")"
        default: write(part)
        }
    }

    private mutating func write(_ comparison: PredicateComparison) {
        if let quantifier = comparison.quantifier { text += "\(quantifier.rawValue) " }
        write(comparison.left)
        text += " \(comparison.operator.rawValue)"
        if !comparison.options.isEmpty { text += "[\(comparison.options)]" }
        text += " "
        write(comparison.right)
    }

    // MARK: Expressions

    private mutating func write(_ expression: PredicateOperand) {
        switch expression {
        // `SELF` as an argument of `%K` would mean the record itself.
        case .key(let key) where takesArguments && key.uppercased() != "SELF":
            text += "%K"
            arguments.append(.string(key))
        case .key(let key):
            let first = key.prefix { $0 != "." }
            text += PredicateKeyword.all.contains(first.uppercased()) && !key.isPathOfItself ? "#\(key)" : key
        case .itself: text += "SELF"
        case .null: text += "NULL"
        case .value(let value) where takesArguments:
            text += "%@"
            arguments.append(value)
        case .value(let value): text += value.predicateText
        case .list(let parts): write(parts, in: "{", "}")
        case .function(let name, let parts): write(parts, in: "\(name)(", ")")
        case .variable(let name): text += "$\(name)"
        case .unusable(_, let part): text += part
        }
    }

    private mutating func write(_ parts: [PredicateOperand], in open: String, _ close: String) {
        text += open
        for (index, part) in parts.enumerated() {
            if index > 0 { text += ", " }
            write(part)
        }
        text += close
    }
}

extension String {
    /// Whether the text begins with `SELF.`, which is a path and not a key.
    fileprivate var isPathOfItself: Bool { uppercased().hasPrefix("SELF.") }
}

extension FieldValue {
    /// The value as text. Strings, numbers and dates can be parsed again.
    fileprivate var predicateText: String {
        switch self {
        case .string(let text): "\"\(text.map(\.predicateText).joined())\""
        case .int64(let value): "\(value)"
        case .double(let value): "\(value)"
        case .timestamp(let time): "CAST(\(time.secondsSince2001), \"NSDate\")"
        case .bytes(let bytes): "<\(bytes.count) bytes>"
        case .location(let location): "<\(location.latitude),\(location.longitude)>"
        case .reference(let reference): "<\(reference.recordName)>"
        default: "<\(type.rawValue)>"
        }
    }
}

extension Character {
    fileprivate var predicateText: String {
        switch self {
        case "\"": "\\\""
        case "\\": "\\\\"
        case "\n": "\\n"
        case "\r\n": "\\r\\n"
        case "\r": "\\r"
        case "\t": "\\t"
        default: String(self)
        }
    }
}
