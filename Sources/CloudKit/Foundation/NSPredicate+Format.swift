public import Foundation

// Foundation on Linux has no predicate formats. It marks its initializers as unavailable, so the compiler finds these
// instead.

/// Lets an initializer return a subclass, as Apple's do.
public protocol __NSPredicateFormatting {}

extension NSPredicate: __NSPredicateFormatting {}

extension __NSPredicateFormatting where Self == NSPredicate {
    /// Makes a predicate from a format and the values of its placeholders: `NSPredicate(format: "title = %@ AND stars >
    /// %d", title, 3)`.
    ///
    /// Never traps. A query with an invalid format fails with `CKError.invalidArguments`, which names the part and its
    /// position. `evaluate(with:)` takes records, dictionaries and record values.
    ///
    /// Placeholders are `%@`, `%K`, `%s`, and those of `printf` for numbers. A position names an argument: `%2$@`.
    /// Flags, widths and precisions do not change an argument: `%.2f` compares with the whole number.
    public init(format predicateFormat: String, _ args: Any?...) {
        self = FormatPredicate(PredicateParser.tree(predicateFormat, args.map(PredicateOperand.init(argument:))))
    }

    /// Makes a predicate from a format whose `%@` and `%K` stand for the arguments. An invalid format fails when it is
    /// used.
    public init(format predicateFormat: String, argumentArray arguments: [Any]?) {
        self = FormatPredicate(PredicateParser.tree(predicateFormat, (arguments ?? []).map { PredicateOperand(argument: $0) }))
    }
}

extension NSPredicate {
    /// Returns a predicate with values for its `$VARIABLES`. Variables without a value stay, and queries reject them.
    public func withSubstitutionVariables(_ variables: [String: Any]) -> NSPredicate {
        let tree = PredicateTree(self)
        guard tree.fault == nil else { return self }
        return FormatPredicate(tree.substituting(variables.mapValues { PredicateOperand(argument: $0) }))
    }
}
