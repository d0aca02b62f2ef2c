import CloudKit
import Foundation
import Testing

/// Tests of `nacre serve --emulator` and `nacre fault`: the faults of CloudKitTesting, over the network.
struct FaultCommandTests {
    /// Runs an emulator on which Ada has two devices and a zone.
    private func withEmulator(_ body: (_ a: Device, _ b: Device, _ admin: Administrator) async throws -> Void) async throws {
        try await RunningServer.with(["--emulator"]) { server in
            let cloud = try await NewCloud(server)
            try await cloud.addUser(Device.ada)
            let (a, b) = (try await Device(of: Device.ada, cloud), try await Device(of: Device.ada, cloud))
            try await a.database.save(CKRecordZone(zoneID: Device.zoneID))
            try await body(a, b, Administrator(server: server))
        }
    }

    private func order(_ words: String..., by admin: Administrator) async throws {
        let run = try await admin.run(["fault", "add"] + words)
        try #require(run.status == 0, "\(run.messages)")
    }

    private func pending(_ admin: Administrator) async throws -> String { try await admin.run(["fault", "list"]).output }

    private func error(_ body: () async throws -> Void) async -> CKError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? CKError
        }
    }

    @Test func `each refusal is the error that it is called, for as many requests as were ordered, and then none is`() async throws {
        try await withEmulator { a, _, admin in
            for (fault, code) in [
                ("requestRateLimited", CKError.Code.requestRateLimited), ("serviceUnavailable", .serviceUnavailable), ("zoneBusy", .zoneBusy),
                ("permissionFailure", .permissionFailure), ("serverRejectedRequest", .serverRejectedRequest), ("quotaExceeded", .quotaExceeded),
            ] {
                try await order(fault, "--count", "2", "--request", "modifyRecords", "--retry-after", "7", by: admin)
                for _ in 0..<2 {
                    let failed = await error { try await a.database.save(Device.note("one", "bread")) }
                    #expect(failed?.code == code)
                    #expect((failed?.retryAfterSeconds == 7) == [.requestRateLimited, .serviceUnavailable, .zoneBusy].contains(code))
                }
                #expect(try await pending(admin) == "")
                let saved = try await a.database.save(Device.note("one", "bread"))
                try await a.database.deleteRecord(withID: saved.recordID)
            }
        }
    }

    @Test func `a fault is for the requests, the zone and the user that it names, and for no others`() async throws {
        try await withEmulator { a, _, admin in
            try await order("zoneBusy", "--zone", "Other", by: admin)
            try await order("zoneBusy", "--user", "bob@example.com", by: admin)
            try await order("zoneBusy", "--request", "queryRecords", by: admin)
            try await a.database.save(Device.note("one", "bread"))
            #expect(try await pending(admin).split(separator: "\n").count == 3)
            try await order("zoneBusy", "--user", Device.ada, "--zone", "Notes", "--request", "fetchRecords", by: admin)
            #expect(await error { _ = try await a.database.record(for: Device.recordID("one")) }?.code == .zoneBusy)
            let cleared = try await admin.run(["fault", "clear"])
            #expect(cleared.output.split(separator: "\n").count == 3)
            #expect(try await pending(admin) == "")
        }
    }

    @Test func `records that fail fail their atomic batch, and nothing of it is kept`() async throws {
        try await withEmulator { a, b, admin in
            try await order("quotaExceeded", "--record", "two", "--request", "modifyRecords", by: admin)
            let notes = ["one", "two"].map { Device.note($0, "bread") }
            let (saves, _) = try await a.database.modifyRecords(saving: notes, deleting: [], atomically: true)
            let codes = saves.mapValues { result in (result.error as? CKError)?.code }
            #expect(codes == [Device.recordID("one"): .batchRequestFailed, Device.recordID("two"): .quotaExceeded])
            #expect(try await b.changes().records.isEmpty)
        }
    }

    @Test func `a change whose connection breaks before or after its commit is done once`() async throws {
        try await withEmulator { a, b, admin in
            for (number, fault) in ["connectionLostBeforeCommit", "connectionLostAfterCommit"].enumerated() {
                try await order(fault, "--request", "modifyRecords", by: admin)
                try await a.database.save(Device.note("note\(number)", "bread"))
                #expect(try await pending(admin) == "")
            }
            let records = try await b.changes().records.values
            #expect(records.count == 2 && records.allSatisfy { $0.creationDate == $0.modificationDate })
        }
    }

    @Test func `a token expires, and a latency passes by`() async throws {
        try await withEmulator { a, _, admin in
            let token = try await a.changes().token
            try await order("changeTokenExpired", "--request", "fetchZoneChanges", by: admin)
            #expect(await error { _ = try await a.changes(since: token) }?.code == .changeTokenExpired)
            try await order("latency", "--seconds", "0.01", by: admin)
            _ = try await a.changes(since: token)
            #expect(try await pending(admin) == "")
        }
    }

    @Test func `an order that means nothing is refused, and says what would be taken`() async throws {
        try await withEmulator { _, _, admin in
            for (words, text) in [
                (["networkUnavailable"], "requestRateLimited, serviceUnavailable"), (["latency"], "seconds"),
                (["zoneBusy", "--count", "0"], "from 1 to"), (["zoneBusy", "--retry-after", "1000000"], "from 0 to 86400"),
            ] {
                let run = try await admin.run(["fault", "add"] + words)
                #expect(run.status == 1 && run.messages.contains(text), "\(run.messages)")
            }
            #expect(try await pending(admin) == "")
        }
    }

    @Test func `a server that is no emulator takes no faults, and has no such routes`() async throws {
        try await RunningServer.with { server in
            let admin = Administrator(server: server)
            for words in [["list"], ["clear"], ["add", "zoneBusy"]] {
                let run = try await admin.run(["fault"] + words)
                #expect(run.status == 1 && run.messages.contains("this server takes no faults"))
                #expect(run.messages.contains("nacre serve --emulator"))
            }
        }
    }
}

extension Result where Failure == any Error {
    fileprivate var error: (any Error)? { if case .failure(let error) = self { error } else { nil } }
}
