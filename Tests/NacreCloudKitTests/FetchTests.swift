import Foundation
import NacreCloudWire
import Testing

@testable import CloudKit

/// Tests of fetches of records and zones by name.
@Suite struct FetchTests {
    let setting = Setting()

    private func save(_ name: String, zone: CKRecordZone.ID = .default) async throws {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
        record["text"] = "x"
        record["count"] = 1
        try await setting.database.save(record)
    }

    @Test func `IDs of several zones are fetched, each once, missing ones with their error`() async throws {
        await setting.cloud.addZone("A")
        let zone = CKRecordZone.ID(zoneName: "A")
        try await save("a")
        try await save("b", zone: zone)
        let ids = [
            CKRecord.ID(recordName: "a"), CKRecord.ID(recordName: "b", zoneID: zone), CKRecord.ID(recordName: "missing"),
            CKRecord.ID(recordName: "a"),
        ]
        let results = try await setting.database.records(for: ids)
        #expect(results.count == 3)
        #expect(try results[ids[1]]?.get().recordID == ids[1])
        #expect(results[ids[2]]?.word == "unknownItem")
        #expect(await setting.cloud.paths.filter { $0 == "records/lookup" }.count == 2)
    }

    @Test func `records that are too large for one answer are asked for in halves, and the app hears of none of that`() async throws {
        let ids = (0..<10).map { CKRecord.ID(recordName: "r\($0)") }
        for id in ids.dropLast() { try await save(id.recordName) }
        await setting.cloud.limitAnswers(to: 3)
        let results = try await setting.database.records(for: ids)
        #expect(results.count == 10)
        #expect(try ids.dropLast().allSatisfy { try results[$0]?.get().recordID == $0 })
        #expect(results[ids[9]]?.word == "unknownItem")
        await setting.cloud.limitAnswers(to: 0)
        #expect(try await setting.database.records(for: ids).values.allSatisfy { $0.word == "limitExceeded" }, "one record cannot be halved")
    }

    @Test func `desired keys narrow what comes`() async throws {
        try await save("a")
        let id = CKRecord.ID(recordName: "a")
        #expect(try await setting.database.records(for: [id], desiredKeys: ["text"])[id]?.get().allKeys() == ["text"])
        #expect(try await setting.database.records(for: [id], desiredKeys: [])[id]?.get().allKeys() == [])
    }

    @Test func `400 IDs may be asked for, 200 at a time, and 401 are limitExceeded without a request`() async throws {
        let ids = (0..<401).map { CKRecord.ID(recordName: "r\($0)") }
        #expect(try await setting.database.records(for: Array(ids.dropLast())).count == 400)
        #expect(await setting.cloud.paths == ["records/lookup", "records/lookup"])
        let error = await thrown { try await setting.database.records(for: ids) }
        #expect(error?.code == .limitExceeded)
        #expect(error?.localizedDescription.contains("401") == true && error?.localizedDescription.contains("400") == true)
        #expect(await setting.cloud.paths.count == 2)
    }

    @Test func `an operation that asks for nothing fails without an account, as any other does, and sends nothing`() async throws {
        let nobody = Setting(accountToken: nil)
        #expect(await thrown { try await nobody.database.modifyRecords(saving: [], deleting: []) }?.code == .notAuthenticated)
        #expect(await thrown { try await nobody.database.modifyRecordZones(saving: [], deleting: []) }?.code == .notAuthenticated)
        #expect(await thrown { try await nobody.database.records(for: []) }?.code == .notAuthenticated)
        #expect(await thrown { try await nobody.container.publicCloudDatabase.modifyRecords(saving: [], deleting: []) } == nil)
        #expect(await thrown { try await setting.database.modifyRecords(saving: [], deleting: []) } == nil)
        let paths = (await nobody.cloud.paths, await setting.cloud.paths)
        #expect(paths.0.isEmpty && paths.1.isEmpty)
    }

    @Test func `old blocks of a fetch get what came, and the rest as a partial failure`() async throws {
        try await save("a")
        let diary = Diary()
        let operation = CKFetchRecordsOperation(recordIDs: [CKRecord.ID(recordName: "a"), CKRecord.ID(recordName: "b")])
        operation.perRecordProgressBlock = { id, progress in diary.note("\(id.recordName) \(progress)") }
        operation.perRecordCompletionBlock = { record, id, error in
            diary.note("\(id?.recordName ?? "") \(record != nil) \((error as? CKError)?.errorCode ?? 0)")
        }
        operation.fetchRecordsCompletionBlock = { records, error in
            diary.note("\(records?.keys.map(\.recordName) ?? []) \((error as? CKError)?.errorCode ?? 0)")
        }
        await setting.run(operation)
        #expect(diary.entries == ["a 1.0", "a true 0", "b false 11", "[\"a\"] 2"])
    }

    @Test func `zones are made, found, listed and deleted`() async throws {
        let zone = CKRecordZone(zoneName: "Notes")
        #expect(zone.capabilities.isEmpty)
        let saved = try await setting.database.save(zone)
        #expect(saved.zoneID == zone.zoneID)
        #expect(saved.capabilities == [.fetchChanges, .atomic, .sharing, .zoneWideSharing] && saved.share == nil)
        #expect(try await setting.database.recordZone(for: zone.zoneID).zoneID == zone.zoneID)
        #expect(try await setting.database.allRecordZones().map(\.zoneID.zoneName) == ["_defaultZone", "Notes"])
        #expect(try await setting.database.deleteRecordZone(withID: zone.zoneID) == zone.zoneID)
        #expect(await thrown { try await setting.database.recordZone(for: zone.zoneID) }?.code == .zoneNotFound)
        #expect(await thrown { try await setting.database.deleteRecordZone(withID: zone.zoneID) }?.code == .zoneNotFound)
    }

    @Test func `several zones in one operation give a result each`() async throws {
        await setting.cloud.addZone("Old")
        let results = try await setting.database.modifyRecordZones(
            saving: [CKRecordZone(zoneName: "New")], deleting: [CKRecordZone.ID(zoneName: "Old"), CKRecordZone.ID(zoneName: "Never")])
        #expect(results.saveResults[CKRecordZone.ID(zoneName: "New")]?.word == "ok")
        #expect(results.deleteResults[CKRecordZone.ID(zoneName: "Old")]?.word == "ok")
        #expect(results.deleteResults[CKRecordZone.ID(zoneName: "Never")]?.word == "zoneNotFound")
        let found = try await setting.database.recordZones(for: [CKRecordZone.ID(zoneName: "New"), CKRecordZone.ID(zoneName: "Never")])
        #expect(found[CKRecordZone.ID(zoneName: "New")]?.word == "ok" && found[CKRecordZone.ID(zoneName: "Never")]?.word == "zoneNotFound")
    }

    @Test func `custom zones outside private databases are badDatabase`() async throws {
        let error = await thrown { try await setting.container.publicCloudDatabase.save(CKRecordZone(zoneName: "Z")) }
        #expect(error?.code == .badDatabase)
    }

    @Test func `old blocks of zone operations get partial failures by zone ID`() async throws {
        let diary = Diary()
        let missing = CKRecordZone.ID(zoneName: "Never")
        let fetch = CKFetchRecordZonesOperation(recordZoneIDs: [missing, .default])
        fetch.fetchRecordZonesCompletionBlock = { zones, error in
            let item = (error as? CKError)?.partialErrorsByItemID?[missing] as? CKError
            diary.note("\(zones?.count ?? 0) \(item.map { "\($0.code)" } ?? "")")
        }
        await setting.run(fetch)
        let modify = CKModifyRecordZonesOperation(recordZonesToSave: nil, recordZoneIDsToDelete: [missing])
        modify.modifyRecordZonesCompletionBlock = { saved, deleted, error in
            diary.note("\(saved?.count ?? -1) \(deleted?.count ?? -1) \((error as? CKError)?.errorCode ?? 0)")
        }
        await setting.run(modify)
        #expect(diary.entries == ["1 zoneNotFound", "0 0 2"])
    }
}
