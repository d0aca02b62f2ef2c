import CoreLocation
import Foundation
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import CloudKit

/// Tests of predicate formats: the filters of each, or its error.
@Suite struct PredicateTests {
    @Test("A format gives these filters", arguments: PredicateRows.all)
    func filters(row: PredicateRow) {
        #expect(PredicateRow.outcome(of: row.tree) == row.outcome)
    }

    @Test("A format that CloudKit does not take names the part", arguments: PredicateRefusals.all)
    func refusals(row: PredicateRow) {
        #expect(PredicateRow.outcome(of: row.tree) == row.outcome)
    }

    @Test("What predicateFormat prints, and what an archive keeps, mean the same", arguments: PredicateRows.all + PredicateRefusals.all)
    func printing(row: PredicateRow) throws {
        let archived = try PropertyListDecoder().decode(
            ArchivedPredicate.self, from: try PropertyListEncoder().encode(ArchivedPredicate(row.tree)))
        #expect(PredicateRow.outcome(of: archived.tree) == row.outcome)
        guard row.tree.fault == nil else { return }
        #expect(archived.tree == row.tree)
        let printed = PredicateFormat.text(row.tree)
        // Data, places and references print in a form that cannot be parsed.
        if !printed.contains("<r>") && !printed.contains("bytes>") && !printed.contains("<50") && !printed.contains("<s>") {
            #expect(PredicateParser.tree(printed) == row.tree)
        }
    }

    @Test("There are at least 150 rows, and none twice")
    func count() {
        let rows = PredicateRows.all + PredicateRefusals.all
        #expect(rows.count >= 150)
        #expect(Set(rows.map { "\($0.tree)" }).count > 150)
    }

    @Test("Compounds keep their parts, also those that cannot be read")
    func compounds() {
        let one = NSPredicate(format: "a = %@", "x")
        let two = NSPredicate(format: "b > %d", 2)
        func outcome(_ predicate: NSPredicate) -> PredicateRow.Outcome { PredicateRow.outcome(of: PredicateTree(predicate)) }
        #expect(outcome(NSCompoundPredicate(type: .and, subpredicates: [one, two])) == .filters(["a EQUALS 'x'", "b GREATER_THAN 2"]))
        #expect(outcome(NSCompoundPredicate(andPredicateWithSubpredicates: [])) == .filters([]))
        #expect(outcome(NSCompoundPredicate(orPredicateWithSubpredicates: [])) == .nothing)
        #expect(outcome(NSCompoundPredicate(orPredicateWithSubpredicates: [one])) == .filters(["a EQUALS 'x'"]))
        #expect(outcome(NSCompoundPredicate(notPredicateWithSubpredicate: two)) == .filters(["b LESS_THAN_OR_EQUALS 2"]))
        #expect(
            outcome(NSCompoundPredicate(orPredicateWithSubpredicates: [one, two]))
                == .error("Invalid predicate: OR is not supported: 'a == \"x\" OR b > 2'"))
        #expect(
            outcome(NSCompoundPredicate(andPredicateWithSubpredicates: [one, NSPredicate(format: "b >")]))
                == .error("Invalid predicate: Expected a key or a value at the end"))
        #expect(outcome(NSPredicate(value: true)) == .filters([]))
        #expect(outcome(NSPredicate(value: false)) == .nothing)
        let block = NSPredicate { _, _ in true }
        #expect(outcome(block) == .error("Invalid predicate: A block predicate cannot be sent: use a format: 'NSPredicate'"))
        var deep = one
        for _ in 0..<200 { deep = NSCompoundPredicate(notPredicateWithSubpredicate: deep) }
        #expect(outcome(deep) == .error("Invalid predicate: Too many parts inside each other: 'NSCompoundPredicate'"))
    }

    @Test func `a text of C is read at once, positions name arguments, and a precision leaves its argument whole`() {
        let predicate = "ü".withCString { NSPredicate(format: "a = %2$s AND b > %1$.1f", CGFloat(1.25), $0) }
        #expect(PredicateRow.outcome(of: PredicateTree(predicate)) == .filters(["a EQUALS 'ü'", "b GREATER_THAN 1.25"]))
    }

    @Test("Variables take values, in compounds too, and those without one are told of")
    func variables() {
        let template = NSCompoundPredicate(andPredicateWithSubpredicates: [
            NSPredicate(format: "a = $A AND b IN {$A, $B}"), NSPredicate(format: "NOT c = $C"),
        ])
        func outcome(_ variables: [String: Any]) -> PredicateRow.Outcome {
            PredicateRow.outcome(of: PredicateTree(template.withSubstitutionVariables(variables)))
        }
        #expect(outcome(["A": 1, "B": 2, "C": "x"]) == .filters(["a EQUALS 1", "b IN [1, 2]", "c NOT_EQUALS 'x'"]))
        #expect(outcome(["A": 1, "B": 2]) == .error("Invalid predicate: The variable has no value: '$C'"))
        #expect(outcome(["A": UUID(), "B": 2, "C": 3]) != .filters([]))
    }

    @Test("A predicate from a format prints it, copies and compares")
    func printed() {
        let predicate = NSPredicate(format: "%K BEGINSWITH %@ AND NOT (n IN {1, 2.5}) AND #in >= now()", "title", "a\"b")
        let text = #"title BEGINSWITH "a\"b" AND NOT n IN {1, 2.5} AND #in >= now()"#
        #expect("\(predicate)" == text)
        #expect(predicate.copy() as? NSPredicate == predicate)
        #expect(NSPredicate(format: "a = 1") == NSPredicate(format: "a == %d", 1))
        #expect(NSPredicate(format: "a = 1").hash == NSPredicate(format: "a == %d", 1).hash)
        #expect(NSPredicate(format: "a = %f", 0.0) == NSPredicate(format: "a = %f", -0.0), "0 and -0 are one number")
        #expect(NSPredicate(format: "a = %f", 0.0).hash == NSPredicate(format: "a = %f", -0.0).hash)
        #expect(NSPredicate(format: "a = 1") != NSPredicate(format: "a = 2"))
        #expect(NSPredicate(format: "a = 1") != NSPredicate(value: true))
    }

    /// Repeat it with the seed that is printed.
    @Test("No format traps, and what can be read is read again from what it prints")
    func random() {
        let seed = HistorySeed.value
        print("predicates: NACRE_SEED=\(seed)")
        var random = SeededRandom(seed: seed)
        let rows = PredicateRows.all + PredicateRefusals.all
        let parts = rows.flatMap { $0.format.split(separator: " ").map(String.init) } + ["(", ")", "{", "}", ",", "[", "]", "'", "\\", "é", "\0"]
        let arguments: [PredicateOperand] = [.value(.string("k")), .value(.int64(1)), .value(.double(.pi)), .list([.null]), .null]
        for _ in 0..<20_000 {
            let format = (0..<Int.random(in: 1...12, using: &random)).map { _ in parts.randomElement(using: &random) ?? "" }
                .joined(separator: Bool.random(using: &random) ? " " : "")
            let tree = PredicateParser.tree(format, arguments)
            let outcome = PredicateRow.outcome(of: tree)
            guard tree.fault == nil else { continue }
            let archived = ArchivedPredicate(tree)
            #expect(archived.tree == tree, "seed \(seed): \(format)")
            #expect(PredicateRow.outcome(of: archived.tree) == outcome, "seed \(seed): \(format)")
        }
    }
}
