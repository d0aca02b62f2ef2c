import CoreLocation
import Foundation
import NacreCloudWire
import Testing

@testable import CloudKit

/// Tests of predicates and sort descriptors on records and dictionaries of this process.
@Suite struct LocalPredicateTests {
    private static let zoneID = CKRecordZone.ID(zoneName: "Notes")

    private static func record() -> CKRecord {
        let stamp = Record.Stamp(timestamp: Timestamp(secondsSince2001: 100), userRecordName: "__defaultOwner__")
        let wire = Record(recordName: "r", recordType: "Note", recordChangeTag: "t", created: stamp, modified: stamp, fields: RecordFields())
        let record = CKRecord.make(wire: wire, recordID: CKRecord.ID(recordName: "r", zoneID: zoneID))
        record["title"] = "Grüße aus Ulm"
        record["stars"] = 3
        record["weight"] = 2.5
        record["day"] = Date(timeIntervalSinceReferenceDate: 1000)
        record["tags"] = ["red", "green"]
        record["scores"] = [1, 5]
        record["place"] = CLLocation(latitude: 48, longitude: 10)
        record["book"] = CKRecord.Reference(recordID: CKRecord.ID(recordName: "b", zoneID: zoneID), action: .none)
        return record
    }

    @Test(arguments: [
        ("stars = 3", true), ("stars == 3.0", true), ("stars != 3", false), ("stars > 3", false), ("stars >= 3", true), ("2 < stars", true),
        ("missing < 1", false), ("missing = nil", true), ("stars = nil", false), ("missing != 1", true), ("weight BETWEEN {2, 3}", true),
        ("stars BETWEEN {4, 5}", false), ("missing BETWEEN {4, 5}", false), ("stars IN {1, 3}", true), ("NOT stars IN {1, 3}", false),
        ("title BEGINSWITH 'Gr'", true), ("title BEGINSWITH 'gr'", false), ("title BEGINSWITH[c] 'gr'", true),
        ("title BEGINSWITH[cd] 'gru'", true), ("title ENDSWITH 'Ulm'", true), ("title CONTAINS 'aus'", true), ("title CONTAINS ''", false),
        ("'aus' IN title", true), ("title LIKE 'Gr*U?m'", true), ("title LIKE 'Gr*'", true), ("title LIKE 'Ulm'", false),
        ("title MATCHES 'Gr.*m'", true), ("title MATCHES 'Gr'", false), ("title MATCHES[cd] 'GRUSSE.*|gruße.*'", true),
        ("tags CONTAINS 'red'", true), ("'blue' IN tags", false), ("ANY tags = 'green'", true), ("ALL tags = 'green'", false),
        ("NONE tags = 'blue'", true), ("ANY scores > 4", true), ("ALL scores > 4", false), ("ANY {'red', 'blue'} IN tags", true),
        ("ANY missing = 1", false), ("tags.@count = 2", true), ("tags[0] = 'red'", true), ("stars + 1 = 4", true), ("stars / 2 = 1", true),
        ("weight * 2 = 5", true), ("stars ** 2 = 9", true), ("-stars = -3", true), ("stars = 3 AND weight > 9", false),
        ("stars = 1 OR weight > 2", true), ("NOT (stars = 1 OR weight > 2)", false), ("TRUEPREDICATE", true), ("FALSEPREDICATE", false),
        ("self CONTAINS 'ulm grusse'", true), ("self CONTAINS 'ulm paris'", false), ("self CONTAINS 'ulm'", true),
        ("ANY tokenize('ulm paris', 'cdl') IN allTokens", true),
        ("day < now()", true), ("recordID.recordName = 'r'", true), ("SELF.stars = 3", true), ("recordID.zoneID = 1", false),
        ("creatorUserRecordID.recordName = '__defaultOwner__'", true), ("___createdBy.recordName = '_alice'", false),
    ])
    func `a record is tested as a query would test it`(format: String, expected: Bool) {
        #expect(NSPredicate(format: format).evaluate(with: Self.record()) == expected, "\(format)")
    }

    @Test func `arguments of every kind are compared`() throws {
        let record = Self.record()
        func holds(_ format: String, _ argument: any CVarArg) -> Bool { NSPredicate(format: format, argument).evaluate(with: record) }
        let day = Date(timeIntervalSinceReferenceDate: 1000)
        #expect(holds("day = %@", day as any CVarArg) && holds("day <= %@", NSDate(timeIntervalSinceReferenceDate: 1000) as any CVarArg))
        #expect(holds("stars IN %@", [1, 2, 3] as any CVarArg) && holds("stars IN %@", NSArray(array: [3]) as any CVarArg))
        #expect(holds("stars = %@", NSNumber(value: 3) as any CVarArg))
        let here = CLLocation(latitude: 48.001, longitude: 10)
        #expect(holds("distanceToLocation:fromLocation:(place, %@) < 200", here as any CVarArg))
        #expect(!holds("distanceToLocation:fromLocation:(place, %@) < 100", here as any CVarArg))
        let book = CKRecord.ID(recordName: "b", zoneID: Self.zoneID)
        #expect(holds("book = %@", CKRecord.Reference(recordID: book, action: .deleteSelf) as any CVarArg))
        #expect(holds("book = %@", book as any CVarArg) && holds("book = %@", CKRecord(recordType: "Book", recordID: book) as any CVarArg))
        #expect(holds("recordID = %@", record.recordID as any CVarArg))
        #expect(!holds("title = %@", UUID() as any CVarArg))
        #expect(NSPredicate(format: "stars = $N").evaluate(with: record, substitutionVariables: ["N": 3]))
        #expect(!NSPredicate(format: "stars = $N").evaluate(with: record))
    }

    @Test func `what takes an argument prints it where text is formatted`() {
        let day = Date(timeIntervalSinceReferenceDate: 0)
        #expect(String(format: "%@, %d", day as any CVarArg, 5) == "\(day), 5")
        #expect(String(format: "%@ %@", [1, 2] as any CVarArg, NSArray(array: ["x"]) as any CVarArg).hasPrefix("[1, 2] "))
        let id = UUID()
        for _ in 0..<3000 { #expect(String(format: "%@", id as any CVarArg) == id.uuidString) }
    }

    @Test func `dictionaries, values and compounds are tested too`() {
        let stars = NSPredicate(format: "stars > 2")
        #expect(stars.evaluate(with: ["stars": 3]) && !stars.evaluate(with: ["stars": 1] as NSDictionary) && !stars.evaluate(with: ["x": 1]))
        #expect(NSPredicate(format: "SELF BEGINSWITH 'a'").evaluate(with: "abc") && NSPredicate(format: "SELF > 4").evaluate(with: 5))
        #expect(NSPredicate(format: "a.b = 1").evaluate(with: ["a": ["b": 1]]))
        let compound = NSCompoundPredicate(andPredicateWithSubpredicates: [stars, NSPredicate { object, _ in object is CKRecord }])
        #expect(compound.evaluate(with: Self.record()) && !compound.evaluate(with: ["stars": 3]))
        #expect(!NSCompoundPredicate(notPredicateWithSubpredicate: stars).evaluate(with: Self.record()))
        let records = NSArray(array: [Self.record(), CKRecord(recordType: "Note")])
        #expect(records.filtered(using: stars).count == 1)
    }

    @Test(arguments: [
        "stars < 'x'", "stars BEGINSWITH 'x'", "ANY stars = 1", "lowercase(title) = 'x'", "stars = $X", "stars =", "1 / 0 = 1", "title MATCHES '('",
    ])
    func `what cannot be evaluated matches nothing, and says why`(format: String) throws {
        let predicate = NSPredicate(format: format)
        #expect(!predicate.evaluate(with: Self.record()))
        let evaluation = PredicateEvaluation(object: Self.record(), now: Timestamp(secondsSince2001: 0))
        #expect(throws: PredicateFault.self) { try evaluation.holds(PredicateTree(predicate)) }
    }

    @Test func `an object without keys is told, and is no match`() {
        final class Thing: NSObject {}
        #expect(!NSPredicate(format: "a = 1").evaluate(with: Thing()) && !NSPredicate(format: "a = 1").evaluate(with: nil))
        #expect(throws: PredicateFault.self) { try KeyPathValue.of("a", in: Thing()) }
    }

    @Test func `sort descriptors order records and dictionaries`() {
        let names = ["b", "a", "c"].map { name in
            let record = Self.record()
            record["name"] = name
            record["place"] = CLLocation(latitude: name == "a" ? 1 : name == "b" ? 2 : 3, longitude: 0)
            return record
        }
        func sorted(_ descriptors: NSSortDescriptor...) -> [String] {
            NSArray(array: names).sortedArray(using: descriptors).compactMap { ($0 as? CKRecord)?["name"] as? String }
        }
        #expect(sorted(NSSortDescriptor(key: "name", ascending: true)) == ["a", "b", "c"])
        #expect(sorted(NSSortDescriptor(key: "name", ascending: false)) == ["c", "b", "a"])
        #expect(sorted(NSSortDescriptor(key: "stars", ascending: true), NSSortDescriptor(key: "name", ascending: true)) == ["a", "b", "c"])
        #expect(sorted(CKLocationSortDescriptor(key: "place", relativeLocation: CLLocation(latitude: 4, longitude: 0))) == ["c", "b", "a"])
        let byN = NSSortDescriptor(key: "n", ascending: true)
        #expect(byN.compare(["n": 1], to: ["n": 2.5]) == .orderedAscending && byN.compare(["x": 1], to: ["n": 1]) == .orderedAscending)
        #expect(byN.compare(["n": 1], to: ["n": "a"]) == .orderedSame)
        let near = CKLocationSortDescriptor(key: "a", relativeLocation: CLLocation(latitude: 0, longitude: 0))
        #expect(near.compare("x", to: Self.record()) == .orderedSame)
    }

    @Test func `a compound prints its parts, as a predicate from a format does`() {
        let parts = [NSPredicate(format: "a = 1"), NSPredicate(format: "b = 2 OR c = 3")]
        let both = NSCompoundPredicate(andPredicateWithSubpredicates: parts)
        let either = NSCompoundPredicate(orPredicateWithSubpredicates: [both, NSCompoundPredicate(notPredicateWithSubpredicate: parts[0])])
        let rows: [(NSCompoundPredicate, String)] = [
            (both, "a == 1 AND (b == 2 OR c == 3)"), (either, "(a == 1 AND (b == 2 OR c == 3)) OR NOT a == 1"),
            (NSCompoundPredicate(type: .and, subpredicates: [NSPredicate(value: true), parts[0]]), "TRUEPREDICATE AND a == 1"),
            (NSCompoundPredicate(andPredicateWithSubpredicates: []), "TRUEPREDICATE"),
            (NSCompoundPredicate(orPredicateWithSubpredicates: []), "FALSEPREDICATE"),
        ]
        for (compound, text) in rows {
            #expect(format(of: compound) == text && "\(compound)" == text)
            #expect(format(of: CKQuery(recordType: "Note", predicate: compound).predicate) == text)
            #expect(format(of: compound.withSubstitutionVariables([:])) == text)
            if !compound.subpredicates.isEmpty { #expect(PredicateTree(NSPredicate(format: text)) == PredicateTree(compound)) }
        }
        // Other predicates keep their own formats.
        #expect(format(of: NSPredicate(value: true)) == "TRUEPREDICATE" && format(of: NSPredicate(value: false)) == "FALSEPREDICATE")
        #expect("\(NSObject())".hasPrefix("<NSObject"))
    }

    private func format(of predicate: any Formatted) -> String { predicate.predicateFormat }
}

/// Foundation marks the property as deprecated on Linux, since it writes no formats itself.
private protocol Formatted {
    var predicateFormat: String { get }
}

extension NSPredicate: Formatted {}
