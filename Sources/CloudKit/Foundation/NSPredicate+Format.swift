public import Foundation

// Foundation on Linux has no predicate formats. Its initializers are marked unavailable, so these are the ones that an app's code finds.

/// Lets an initializer hand out a subclass, as Apple's do.
public protocol __NSPredicateFormatting {}

extension NSPredicate: __NSPredicateFormatting {}

extension __NSPredicateFormatting where Self == NSPredicate {
    /// A predicate from a format and the values of its placeholders: `NSPredicate(format: "title = %@ AND stars > %d", title, 3)`.
    ///
    /// Never traps. A format that cannot be read is kept with its fault, and a query with it fails with `CKError.invalidArguments`, which
    /// names the part and its place. `evaluate(with:)` takes records, dictionaries and the values that records hold.
    public init(format predicateFormat: String, _ args: Any?...) {
        self = FormatPredicate(PredicateParser.tree(predicateFormat, args.map(PredicateOperand.init(argument:))))
    }

    /// A predicate as `predicateFormat` says, whose `%@` and `%K` stand for the arguments. One that cannot be read fails where it is asked.
    public init(format predicateFormat: String, argumentArray arguments: [Any]?) {
        self = FormatPredicate(PredicateParser.tree(predicateFormat, (arguments ?? []).map { PredicateOperand(argument: $0) }))
    }
}

extension NSPredicate {
    /// A predicate with values in the places of its `$VARIABLES`; those that are not named stay, and no query takes them.
    public func withSubstitutionVariables(_ variables: [String: Any]) -> NSPredicate {
        let tree = PredicateTree(self)
        guard tree.fault == nil else { return self }
        return FormatPredicate(tree.substituting(variables.mapValues { PredicateOperand(argument: $0) }))
    }
}
