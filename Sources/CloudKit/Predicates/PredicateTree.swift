import NacreCloudWire

/// The syntax tree of a predicate, with its arguments in place.
indirect enum PredicateTree: Equatable, Sendable {
    case constant(Bool)
    case comparison(PredicateComparison)
    case and([PredicateTree])
    case or([PredicateTree])
    case not(PredicateTree)
    /// A part that could not be parsed. Every query with it fails with this fault.
    case fault(PredicateFault)
}

struct PredicateComparison: Equatable, Sendable {
    enum Quantifier: String, Equatable, Sendable {
        case any = "ANY"
        case all = "ALL"
    }

    /// The operator, as `predicateFormat` prints it.
    enum Operator: String, Equatable, Sendable {
        case equal = "=="
        case notEqual = "!="
        case less = "<"
        case lessOrEqual = "<="
        case greater = ">"
        case greaterOrEqual = ">="
        case between = "BETWEEN"
        case `in` = "IN"
        case contains = "CONTAINS"
        case beginsWith = "BEGINSWITH"
        case endsWith = "ENDSWITH"
        case like = "LIKE"
        case matches = "MATCHES"
        /// CloudKit's own operator, for words in text.
        case tokenMatches = "TOKENMATCHES"
    }

    var quantifier: Quantifier?
    var left: PredicateOperand
    var `operator`: Operator
    /// Letters in lower case: c (ignores case), d (ignores diacritics), and so on.
    var options = ""
    var right: PredicateOperand
}

indirect enum PredicateOperand: Equatable, Sendable {
    /// A field's name, or a dotted path of names.
    case key(String)
    /// `SELF`: the record.
    case itself
    case null
    case value(FieldValue)
    case list([PredicateOperand])
    /// A function, by its name with colons, such as `distanceToLocation:fromLocation:`.
    case function(String, [PredicateOperand])
    /// A variable, `$NAME`, which has no value until `withSubstitutionVariables`.
    case variable(String)
    /// An argument that no field can hold, with the reason.
    case unusable(ValueFault.Reason, String)
}

/// The reason why a query does not accept a predicate: the problem, the part and its position.
struct PredicateFault: Error, Equatable, Sendable, Codable {
    var problem: String
    /// The part, as it is written or as `predicateFormat` prints it.
    var part: String
    /// The position in the format, counted from 1; nil if the format could be parsed.
    var position: Int?

    var text: String {
        if part.isEmpty { return "Invalid predicate: \(problem) at the end" }
        return "Invalid predicate: \(problem)\(position.map { " at character \($0)" } ?? ""): '\(part)'"
    }
}

extension PredicateTree {
    /// The deepest nesting. Own choice: parsing, printing and translating recurse once for each level.
    static let maximumDepth = 100

    /// The first fault in the tree.
    var fault: PredicateFault? {
        switch self {
        case .constant: nil
        case .comparison(let comparison): comparison.left.fault ?? comparison.right.fault
        case .and(let parts), .or(let parts): parts.lazy.compactMap(\.fault).first
        case .not(let part): part.fault
        case .fault(let fault): fault
        }
    }

    /// Returns the tree with values in place of variables. Variables without a value stay.
    func substituting(_ variables: [String: PredicateOperand]) -> PredicateTree {
        switch self {
        case .constant, .fault: return self
        case .comparison(var comparison):
            comparison.left = comparison.left.substituting(variables)
            comparison.right = comparison.right.substituting(variables)
            return .comparison(comparison)
        case .and(let parts): return .and(parts.map { $0.substituting(variables) })
        case .or(let parts): return .or(parts.map { $0.substituting(variables) })
        case .not(let part): return .not(part.substituting(variables))
        }
    }
}

extension PredicateOperand {
    var fault: PredicateFault? {
        switch self {
        case .unusable(let reason, let part): PredicateFault(problem: reason.predicateText, part: part)
        case .list(let parts), .function(_, let parts): parts.lazy.compactMap(\.fault).first
        case .key, .itself, .null, .value, .variable: nil
        }
    }

    fileprivate func substituting(_ variables: [String: PredicateOperand]) -> PredicateOperand {
        switch self {
        case .variable(let name): variables[name] ?? self
        case .list(let parts): .list(parts.map { $0.substituting(variables) })
        case .function(let name, let parts): .function(name, parts.map { $0.substituting(variables) })
        case .key, .itself, .null, .value, .unusable: self
        }
    }
}

extension ValueFault.Reason {
    fileprivate var predicateText: String {
        switch self {
        case .unsupportedType, .unsupportedElement:
            "A value must be a String, a number, a Date, Data, a CLLocation, a CKRecord, its ID, a reference to it, or an array of one of these"
        default: text
        }
    }
}
