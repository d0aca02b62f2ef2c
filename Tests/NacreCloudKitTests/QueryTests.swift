import Foundation
import NacreCloudWire
import Testing

@testable import CloudKit

/// Tests of `CKQuery` and its descriptors as objects: copies, archives, descriptions.
@Suite struct QueryTests {
    private let now = Timestamp(secondsSince2001: 7777)

    private func archived<Archived: NSObject & NSSecureCoding>(_ object: Archived) throws -> Archived {
        let data = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true)
        return try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: Archived.self, from: data))
    }

    @Test func `an archived query asks the same`() throws {
        let target = CKRecord.ID(recordName: "t", zoneID: CKRecordZone.ID(zoneName: "Z"))
        let predicate = NSCompoundPredicate(andPredicateWithSubpredicates: [
            NSPredicate(format: "at > %@ AND data = %@ AND NOT (n IN {1, 2.5})", Date(timeIntervalSinceReferenceDate: 1.0 / 3), Data([1, 2])),
            NSPredicate(format: "link = %@ AND %K = 'x\"y'", CKRecord.Reference(recordID: target, action: .none), "title"),
            NSPredicate(
                format: "distanceToLocation:fromLocation:(place, %@) < %f", CLLocation(latitude: 0.1, longitude: -1.0 / 3), 1_000.5),
        ])
        let query = CKQuery(recordType: "Note", predicate: predicate)
        query.sortDescriptors = [
            NSSortDescriptor(key: "title", ascending: false),
            CKLocationSortDescriptor(key: "place", relativeLocation: CLLocation(latitude: 1, longitude: 2)),
        ]
        let back = try archived(query)
        let expected = try #require(try query.wire(now: now))
        #expect(expected.filters.count == 6 && expected.sorts.count == 2)
        // A location in a predicate has the time at which it was made; the rest is compared as it is.
        #expect(try back.wire(now: now) == expected)
        #expect(back.recordType == "Note" && "\(back.predicate)" == "\(FormatPredicate(PredicateTree(predicate)))")
    }

    @Test func `an archived query without descriptors has none, and one that cannot be read stays so`() throws {
        let plain = try archived(CKQuery(recordType: "Note", predicate: NSPredicate(value: true)))
        #expect(plain.sortDescriptors == nil)
        #expect(try plain.wire(now: now) == Query(recordType: "Note"))
        let broken = CKQuery(recordType: "Note", predicate: NSPredicate(format: "a = 1) OR (b = 2"))
        let back = try archived(broken)
        func text(_ query: CKQuery) -> String? {
            do throws(CKError) {
                _ = try query.wire(now: now)
                return nil
            } catch {
                return error.localizedDescription
            }
        }
        #expect(text(back) == "Invalid predicate: Expected AND, OR or the end at character 6: ')'")
        #expect(text(back) == text(broken))
    }

    @Test func `an archive without a query reads as one that no operation takes`() throws {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        archiver.encode(NSString(string: "x"), forKey: "other")
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
        let query = CKQuery(coder: unarchiver)
        #expect(throws: CKError.self) { try query.wire(now: now) }
    }

    @Test func `a copy has descriptors of its own`() throws {
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "a = 1"))
        query.sortDescriptors = [NSSortDescriptor(key: "a", ascending: true)]
        let copy = try #require(query.copy() as? CKQuery)
        query.sortDescriptors = nil
        #expect(copy.sortDescriptors?.first?.key == "a" && copy.predicate == query.predicate && copy.recordType == "Note")
        let operation = CKQueryOperation(query: copy)
        copy.sortDescriptors = nil
        #expect(operation.query?.sortDescriptors?.count == 1)
    }

    @Test func `a query prints what it asks`() {
        let compound = NSCompoundPredicate(andPredicateWithSubpredicates: [NSPredicate(format: "a = %@", "x"), NSPredicate(value: true)])
        let query = CKQuery(recordType: "Note", predicate: compound)
        query.sortDescriptors = [NSSortDescriptor(key: "a", ascending: false)]
        #expect(
            query.description
                == "<CKQuery: recordType=Note, predicate=a == \"x\" AND TRUEPREDICATE, sortDescriptors=[(a, descending)]>")
    }

    @Test func `descriptors know their key, reverse, copy and compare`() throws {
        let descriptor = NSSortDescriptor(key: "a", ascending: true)
        #expect(descriptor.key == "a" && descriptor.ascending)
        let reversed = try #require(descriptor.reversedSortDescriptor as? NSSortDescriptor)
        #expect(reversed.key == "a" && !reversed.ascending)
        #expect(descriptor.copy() as? NSSortDescriptor == NSSortDescriptor(key: "a", ascending: true))
        #expect(descriptor != NSSortDescriptor(key: "b", ascending: true) && descriptor != reversed)
        #expect(NSSortDescriptor(keyPath: \NSString.length, ascending: true).key == nil)
        let near = CKLocationSortDescriptor(key: "place", relativeLocation: CLLocation(latitude: 1, longitude: 2))
        #expect(near.key == "place" && near.ascending)
        let back = try archived(near)
        #expect(back.key == "place" && back.relativeLocation == near.relativeLocation && back == near)
    }
}
