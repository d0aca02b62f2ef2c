import Foundation
import NacreCloudWire
import NacreLocks
import Testing

@testable import CloudKit

/// Tests of the rules that the records of one save must keep together.
@Suite struct ListFaultTests {
    private static let zoneID = CKRecordZone.ID(zoneName: "Z")
    let setting = Setting()

    private static func recordID(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zoneID) }

    /// Makes a record from a text as "a > b c" (references with `deleteSelf` to b and c), "a ^ b" (b is the parent) or
    /// "a - b" (a reference with `none`).
    private static func record(_ text: Substring) -> CKRecord {
        let words = text.split(separator: " ").map(String.init)
        let record = CKRecord(recordType: "Note", recordID: recordID(words[0]))
        let targets = words.dropFirst(2).map(recordID)
        switch words.dropFirst().first {
        case "^": record.setParent(targets[0])
        case ">" where targets.count == 1: record["f"] = CKRecord.Reference(recordID: targets[0], action: .deleteSelf)
        case ">": record["f"] = targets.map { CKRecord.Reference(recordID: $0, action: .deleteSelf) }
        case "-": record["f"] = targets.map { CKRecord.Reference(recordID: $0, action: .none) }
        default: break
        }
        return record
    }

    private static func records(_ text: String) -> [CKRecord] { text.split(separator: ",").map(record) }

    @Test(arguments: [
        "a ^ a", "a > a", "a > b, b > a", "a ^ b, b ^ c, c ^ a", "a > b, b ^ a", "a, b > a c, c > d, d > b", "a > b b, b > a", "x ^ a, a > b, b > a",
    ])
    func `records that own each other in a ring are refused whole, and nothing is sent`(list: String) async throws {
        let error = try #require(
            await thrown { _ = try await setting.database.modifyRecords(saving: Self.records(list), deleting: [], atomically: false) })
        #expect(error.code == .invalidArguments)
        #expect(error.localizedDescription == "Invalid list of records: Cycle detected in record graph")
        #expect(await setting.cloud.paths.isEmpty)
    }

    @Test(arguments: ["a - b, b - a", "a - a", "a ^ b, b - a", "a ^ b, b", "a > b", "a > b c, b > c, c", "a ^ b, b > c, d ^ b, c"])
    func `references with none may form rings, and records below others form none`(list: String) {
        #expect(Self.records(list).map(\.snapshot).faultAsList == nil)
    }

    @Test func `in a batch of an engine a ring fails alone, and a share may go without its root`() throws {
        let share = CKShare(rootRecord: Self.record("root"))
        let plan = try ModifyPlan(
            saving: Self.records("a > b, b > a, c, x ^ a") + [share], deleting: [], policy: .ifServerRecordUnchanged, isAtomic: false, isPart: true,
            in: .private)
        let refused = plan.refusals.map { refusal -> String in
            guard case .save(let record, let error) = refusal, error.code == .invalidArguments else { return "?" }
            return record.recordID.recordName
        }
        #expect(refused == ["a", "b", "x"])
        #expect(plan.batches.flatMap(\.saves).map(\.record.recordID) == [Self.recordID("c"), share.recordID])
    }

    @Test func `records of one name in two zones form no ring`() {
        let (here, there) = (Self.record("a > b"), CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "b")))
        there["f"] = CKRecord.Reference(recordID: CKRecord.ID(recordName: "a"), action: .deleteSelf)
        #expect([here, there].map(\.snapshot).faultAsList == nil)
    }

    @Test func `a new share is saved with its root record, in any order, or not at all`() async throws {
        await setting.cloud.addZone("Z")
        let (root, other) = (Self.record("root"), Self.record("other"))
        let share = CKShare(rootRecord: root)
        for records in [[share], [share, other]] {
            let error = try #require(await thrown { _ = try await setting.database.modifyRecords(saving: records, deleting: [], atomically: false) })
            #expect(error.code == .invalidArguments)
            #expect(error.localizedDescription == "An added share is being saved without its rootRecord being saved in the same operation")
            #expect(error.userInfo["CKErrorField"] as? String == share.recordID.recordName)
        }
        #expect(await setting.cloud.paths.isEmpty)
        for records in [[share, other, root], [root, share]] { #expect(records.map(\.snapshot).faultAsList == nil) }
        #expect([CKShare(recordZoneID: Self.zoneID).snapshot].faultAsList == nil)
        share.state.withLock { $0.recordChangeTag = "1" }
        #expect([share.snapshot].faultAsList == nil, "a share that the server has changes alone")
    }
}
