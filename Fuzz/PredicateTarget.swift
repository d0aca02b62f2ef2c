@testable import NacreCloudWire

#if canImport(CloudKit)
    @testable import CloudKit
#endif

/// Fuzzes predicate formats of apps: parsed, converted to filters, written, and read as the same.
///
/// The sources of `CloudKit/Predicates` are compiled into the fuzzer: the rest of that module needs Foundation.
enum PredicateTarget {
    /// The arguments of placeholders, used over and over. Made for each input: LeakSanitizer does not see through the
    /// tagged pointers of a global.
    private static var arguments: [PredicateOperand] {
        [
            .value(.string("key")), .value(.int64(7)), .value(.double(2.5)), .list([.value(.string("a")), .null]),
            .value(.location(Location(latitude: 50, longitude: 10))), .null, .unusable(.notFinite, "nan"),
        ]
    }

    static func run(_ input: UnsafeRawBufferPointer) {
        let format = String(decoding: input, as: UTF8.self)
        let tree = PredicateParser.tree(format, Array(repeating: arguments, count: 20).flatMap { $0 })
        let filters = try? PredicateFilters(tree, now: Timestamp(secondsSince2001: 0))
        if let fault = tree.fault {
            promise("what cannot be read gives no filters", filters == nil)
            promise("a fault says what it is about", !fault.text.isEmpty)
            return
        }
        let exact = PredicateFormat.exact(tree)
        let again = PredicateParser.tree(exact.text, exact.arguments.map { .value($0) })
        // Arithmetic, which no query takes, is written as nested functions, and their nesting may be too deep.
        promise("what was read is written as the same", again == tree || again.fault?.problem == PredicateParser.tooDeep)
        promise("what was read is printed", !PredicateFormat.text(tree).isEmpty)
    }
}
