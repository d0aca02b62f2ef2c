import CoreLocation
import Foundation
import NacreLocks
import Testing

@testable import CloudKit

/// The table of `docs/framework.md` that says what operations check before they send anything, row by row.
@Suite struct SendChecksTests {
    private struct Row: Hashable {
        var operation: String
        var what: String
    }

    /// Makes the fault of a row, and returns the error of the operation or of its first faulty item.
    private typealias Fault = @Sendable (Setting) async -> CKError?

    private static let heading = "## What is checked before anything is sent\n"

    /// The rows of the page, with the code and the text of the error.
    private static func page() throws -> [Row: (code: String, text: String)] {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let page = try String(contentsOf: folder.appendingPathComponent("docs/framework.md"), encoding: .utf8)
        let section = try #require(page.components(separatedBy: heading).last?.components(separatedBy: "\n## ").first)
        var rows: [Row: (code: String, text: String)] = [:]
        for line in section.split(separator: "\n") {
            guard let match = line.wholeMatch(of: /\| `(CK\w+)` \| (.+) \| `(\w+)` \| `(.+)` \|/) else { continue }
            rows[Row(operation: String(match.1), what: String(match.2))] = (String(match.3), String(match.4))
        }
        return rows
    }

    /// Whether a text is the page's, where `…` stands for any part.
    private static func fits(_ text: String, _ pattern: String) -> Bool {
        var rest = text[...]
        for (index, part) in pattern.components(separatedBy: "…").enumerated() where !part.isEmpty {
            guard let found = rest.range(of: part), index > 0 || found.lowerBound == rest.startIndex else { return false }
            rest = rest[found.upperBound...]
        }
        return rest.isEmpty || pattern.hasSuffix("…")
    }

    @Test func `each row of the page is an error before anything is sent, and each check has its row`() async throws {
        let page = try Self.page()
        let faults = Self.records.merging(Self.values) { $1 }.merging(Self.zones) { $1 }.merging(Self.subscriptions) { $1 }.merging(Self.queries) {
            $1
        }
        #expect(Set(page.keys) == Set(faults.keys))
        for (row, fault) in faults {
            let setting = Setting(accountToken: row.what.hasPrefix("without an account") ? nil : "account")
            let error = await fault(setting)
            let said = page[row] ?? ("", "")
            #expect(error.map { "\($0.code)" } == said.code, "\(row)")
            #expect(Self.fits(error?.localizedDescription ?? "", said.text), "\(row): \(error?.localizedDescription ?? "")")
            #expect(await setting.cloud.paths.isEmpty, "\(row)")
        }
    }

    // MARK: Faults

    private static let zoneID = CKRecordZone.ID(zoneName: "Z")

    private static func record(_ name: String = "a", type: String = "Note", in zoneID: CKRecordZone.ID = zoneID) -> CKRecord {
        CKRecord(recordType: type, recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
    }

    private static func save(_ records: [CKRecord], deleting: [CKRecord.ID] = [], in database: CKDatabase) async -> CKError? {
        await first { try await database.modifyRecords(saving: records, deleting: deleting, atomically: false).saveResults.values.map(\.error) }
    }

    /// Returns the error of saving one record that `change` has changed.
    private static func saving(_ change: @escaping @Sendable (CKRecord) -> Void) -> Fault {
        { setting in
            let record = record()
            change(record)
            return await save([record], in: setting.database)
        }
    }

    /// Returns the error of saving a share of a whole zone that `change` has changed.
    private static func sharing(_ change: @escaping @Sendable (CKShare) -> Void) -> Fault {
        { setting in
            let share = CKShare(recordZoneID: zoneID)
            change(share)
            return await save([share], in: setting.database)
        }
    }

    private static func first(_ ask: () async throws -> [(any Error)?]) async -> CKError? {
        do {
            return try await ask().compactMap { $0 }.first as? CKError
        } catch {
            return error as? CKError
        }
    }

    private static func rows(_ operation: String, _ faults: [String: Fault]) -> [Row: Fault] {
        Dictionary(faults.map { (Row(operation: operation, what: $0.key), $0.value) }) { $1 }
    }

    private static let records = rows(
        "CKModifyRecordsOperation",
        [
            "without an account": { await save([record()], in: $0.database) },
            "more than 400 records and IDs": { await save((0...400).map { record("r\($0)") }, in: $0.database) },
            "values of more than 2,000,000 bytes": { setting in
                let records = (0..<3).map { record("r\($0)") }
                for record in records { record["text"] = String(repeating: "x", count: 700_000) }
                return await save(records, in: setting.database)
            },
            "a record twice, or saved and deleted": { await save([record()], deleting: [record().recordID], in: $0.database) },
            "a new share without its root record": { await save([CKShare(rootRecord: record())], in: $0.database) },
            "records that own each other in a ring": saving { $0.setParent($0) },
            "a record name of another form": { await save([record("é")], in: $0.database) },
            "a zone name of another form": { await save([record(in: CKRecordZone.ID(zoneName: ""))], in: $0.database) },
            "in the shared database, a zone of the user's own": { await save([record()], in: $0.container.sharedCloudDatabase) },
            "a record type of another form": { await save([record(type: "no type")], in: $0.database) },
            "a participant added to a share with a `publicPermission`": sharing {
                $0.publicPermission = .readOnly
                $0.addParticipant(.oneTimeURLParticipant())
            },
            "a participant removed who is not there": sharing { $0.removeParticipant(.oneTimeURLParticipant()) },
            "the owner of a share removed": sharing { share in share.removeParticipant(share.participants[0]) },
            "a `publicPermission` of `unknown`": sharing { $0.publicPermission = .unknown },
        ])

    private static let values = rows(
        "CKModifyRecordsOperation",
        [
            "a key of another form": saving { $0["_x"] = 5 },
            "a value of a class that no field holds": saving { $0.setValue(NSObject(), forKey: "f") },
            "a list with an element of a class that no field holds": saving { $0["f"] = NSArray(array: [NSObject()]) },
            "a list of several types": saving { $0["f"] = NSArray(array: [NSString("a"), NSNumber(value: 1)]) },
            "a list of lists": saving { $0["f"] = [["a"]] },
            "a number, date or place that is not finite": saving { $0["f"] = Double.nan },
            "an integer beyond 64 bits with a sign": saving { $0["f"] = UInt64.max },
            "an asset whose URL is of no file": saving { $0["f"] = URL(string: "https://example.com/a").map { CKAsset(fileURL: $0) } },
            "an encrypted asset or reference": saving { $0.encryptedValues["f"] = CKRecord.Reference(record: $0, action: .none) },
            "a key that is plain and encrypted": saving {
                $0["f"] = "a"
                $0.encryptedValues["f"] = "a"
            },
            "in the public database, an encrypted value": { setting in
                let record = record()
                record.encryptedValues["f"] = "a"
                return await save([record], in: setting.container.publicCloudDatabase)
            },
            "a parent with `deleteSelf`": saving {
                $0.parent = CKRecord.Reference(recordID: CKRecord.ID(recordName: "p", zoneID: zoneID), action: .deleteSelf)
            },
            "a parent in another zone": saving { $0.setParent(CKRecord.ID(recordName: "p")) },
        ])

    private static func modify(_ zones: [CKRecordZone], deleting: [CKRecordZone.ID] = [], in database: CKDatabase) async -> CKError? {
        await first { try await database.modifyRecordZones(saving: zones, deleting: deleting).saveResults.values.map(\.error) }
    }

    private static let zones = rows(
        "CKModifyRecordZonesOperation",
        [
            "without an account": { await modify([CKRecordZone(zoneID: zoneID)], in: $0.database) },
            "more than 200 zones and IDs": { await modify((0...200).map { CKRecordZone(zoneName: "Z\($0)") }, in: $0.database) },
            "a zone twice, or saved and deleted": { await modify([CKRecordZone(zoneID: zoneID)], deleting: [zoneID], in: $0.database) },
            "a zone name of another form": { await modify([CKRecordZone(zoneName: "é")], in: $0.database) },
            "in the shared database, a zone of the user's own": {
                await modify([CKRecordZone(zoneID: zoneID)], in: $0.container.sharedCloudDatabase)
            },
            "in the public or shared database, a zone to save": {
                await modify([CKRecordZone(zoneID: zoneID)], in: $0.container.publicCloudDatabase)
            },
            "the encryption scope `perZone`": { setting in
                let zone = CKRecordZone(zoneID: zoneID)
                zone.encryptionScope = .perZone
                return await modify([zone], in: setting.database)
            },
        ])

    private static func modify(_ subscriptions: [CKSubscription], deleting: [String] = [], in database: CKDatabase) async -> CKError? {
        await first { try await database.modifySubscriptions(saving: subscriptions, deleting: deleting).saveResults.values.map(\.error) }
    }

    private static func query(
        _ format: String = "TRUEPREDICATE", type: String = "Note", options: CKQuerySubscription.Options = .firesOnRecordCreation
    ) -> CKQuerySubscription {
        CKQuerySubscription(recordType: type, predicate: NSPredicate(format: format), subscriptionID: "q", options: options)
    }

    private static let subscriptions = rows(
        "CKModifySubscriptionsOperation",
        [
            "without an account": { await modify([CKDatabaseSubscription(subscriptionID: "a")], in: $0.database) },
            "more than 200 subscriptions and IDs": {
                await modify((0...200).map { CKDatabaseSubscription(subscriptionID: "\($0)") }, in: $0.database)
            },
            "a subscription twice, or saved and deleted": {
                await modify([CKDatabaseSubscription(subscriptionID: "a")], deleting: ["a"], in: $0.database)
            },
            "an empty ID": { await modify([CKDatabaseSubscription(subscriptionID: "")], in: $0.database) },
            "a `CKSubscription` of no subclass": { await modify([CKSubscription(subscriptionID: "a", type: .query)], in: $0.database) },
            "a zone name of another form": {
                await modify([CKRecordZoneSubscription(zoneID: CKRecordZone.ID(zoneName: ""), subscriptionID: "a")], in: $0.database)
            },
            "a query without an event": { await modify([query(options: .firesOnce)], in: $0.database) },
            "a query with a record type of another form": { await modify([query(type: "no type")], in: $0.database) },
            "a query with a predicate that no query takes": { await modify([query("a = 1 OR b = 2")], in: $0.database) },
            "a query that matches nothing": { await modify([query("FALSEPREDICATE")], in: $0.database) },
        ])

    private static func ask(_ query: CKQuery, in zoneID: CKRecordZone.ID? = zoneID, of database: CKDatabase) async -> CKError? {
        await first { try await database.records(matching: query, inZoneWith: zoneID).matchResults.map(\.1.error) }
    }

    private static func notes(_ format: String = "TRUEPREDICATE", by descriptor: NSSortDescriptor? = nil) -> CKQuery {
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: format))
        query.sortDescriptors = descriptor.map { [$0] }
        return query
    }

    private static let queries = rows(
        "CKQueryOperation",
        [
            "without an account, but in the public database": { await ask(notes(), of: $0.database) },
            "neither a query nor a cursor": { setting in
                let operation = CKQueryOperation()
                let found = Locked<CKError?>(nil)
                operation.queryResultBlock = { result in found.withLock { $0 = result.error as? CKError } }
                await setting.run(operation)
                return found.withLock { $0 }
            },
            "a record type of another form": { await ask(CKQuery(recordType: "", predicate: NSPredicate(value: true)), of: $0.database) },
            "a predicate that no query takes": { await ask(notes("a = 1 OR b = 2"), of: $0.database) },
            "a sort descriptor without a field": { await ask(notes(by: NSSortDescriptor(key: "a.b", ascending: true)), of: $0.database) },
            "a sort descriptor with a location that is not finite": {
                await ask(notes(by: CKLocationSortDescriptor(key: "a", relativeLocation: CLLocation(latitude: .nan, longitude: 0))), of: $0.database)
            },
            "a zone name of another form": { await ask(notes(), in: CKRecordZone.ID(zoneName: ""), of: $0.database) },
            "in the shared database, no zone": { await ask(notes(), in: nil, of: $0.container.sharedCloudDatabase) },
            "in the shared database, a zone of the user's own": { await ask(notes(), of: $0.container.sharedCloudDatabase) },
        ])
}
