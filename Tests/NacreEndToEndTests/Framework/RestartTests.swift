import CloudKit
import Foundation
import Testing

/// Tests that an app's saved state works after restarts of the app and of the server.
struct RestartTests {
    private func archived<Value: NSObject & NSSecureCoding>(_ value: Value, as type: Value.Type) throws -> Value {
        let data = try NSKeyedArchiver.archivedData(withRootObject: value, requiringSecureCoding: true)
        return try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: type, from: data))
    }

    @Test func `archived tokens and system fields go on after a restart of app and server`() async throws {
        try await RunningServer.with { server in
            let cloud = try await NewCloud(server)
            try await cloud.addUser(Device.ada)
            let accountToken = try await cloud.device(of: Device.ada)
            let before = try Device(cloud, token: accountToken)
            try await before.database.save(CKRecordZone(zoneID: Device.zoneID))
            let saved = try await before.database.save(Device.note("one", "bread"))
            let zoneToken = try archived(try await before.changes().token, as: CKServerChangeToken.self)
            let databaseToken = try archived(try await before.database.databaseChanges(since: nil).changeToken, as: CKServerChangeToken.self)
            let coder = NSKeyedArchiver(requiringSecureCoding: true)
            saved.encodeSystemFields(with: coder)
            coder.finishEncoding()

            #expect(try await server.stop() == 0)
            try await server.start()
            let after = try Device(cloud, token: accountToken)
            #expect(try await after.changes(since: zoneToken).records.isEmpty)
            let decoder = try NSKeyedUnarchiver(forReadingFrom: coder.encodedData)
            decoder.requiresSecureCoding = true
            let restored = try #require(CKRecord(coder: decoder))
            decoder.finishDecoding()
            #expect(restored.recordChangeTag == saved.recordChangeTag && restored.allKeys().isEmpty)
            restored["text"] = "olives"
            try await after.database.save(restored)
            #expect(try await after.changes(since: zoneToken).records[Device.recordID("one")]?["text"] as? String == "olives")
            #expect(try await after.database.databaseChanges(since: databaseToken).modifications.map(\.zoneID) == [Device.zoneID])

            // The same fields are stale the second time.
            let stale = try NSKeyedUnarchiver(forReadingFrom: coder.encodedData)
            stale.requiresSecureCoding = true
            let old = try #require(CKRecord(coder: stale))
            stale.finishDecoding()
            old["text"] = "wine"
            let error = await #expect(throws: CKError.self) { try await after.database.save(old) }
            #expect(error?.code == .serverRecordChanged)
        }
    }

    @Test func `while the server is away operations fail as the network does, and go on when it is back`() async throws {
        try await Device.pair { a, _, cloud in
            try await a.database.save(Device.note("one", "bread"))
            await cloud.server.kill()
            let error = await #expect(throws: CKError.self) { try await a.database.record(for: Device.recordID("one")) }
            #expect([.networkUnavailable, .networkFailure].contains(error?.code))
            try await cloud.server.start()
            #expect(try await a.database.record(for: Device.recordID("one"))["text"] as? String == "bread")
        }
    }
}
