import Foundation
import NacreCloudWire
import Testing

@testable import CloudKit

/// Tests of real operations on a bad network: their retries, and the results for the app.
@Suite struct LostAnswerTests {
    let setting = Setting()

    private func note(_ name: String = "a") -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name))
        record["text"] = "x"
        return record
    }

    @Test func `a save whose answer got lost is sent again, byte for byte, and happens once`() async throws {
        await setting.cloud.failNext(.answerLost)
        let saved = try await setting.database.save(note())
        #expect(saved.recordChangeTag == "tag1")
        let bodies = await setting.cloud.seen.map(\.request.body)
        #expect(bodies.count == 2 && bodies[0] == bodies[1])
        #expect(setting.time.pauses == [0.25])
    }

    @Test func `each repetition of a change says how long ago it was sent first, and the first sending says nothing`() async throws {
        await setting.cloud.failNext(.answerLost, .lostOnTheWay)
        try await setting.database.save(note())
        let ages = await setting.cloud.seen.map { $0.request.headers["X-Nacre-Operation-Age"] }
        #expect(ages == [nil, "0.250", "1.250"])
    }

    @Test func `a repetition that the server cannot tell from a new change any more ends as serverResponseLost, at once`() async throws {
        let refusal = PretendCloud.refusal(ServerError(.badRequest, "not known", native: .serverResponseLost, remedy: "Fetch."))
        await setting.cloud.failNext(.lostOnTheWay, .answer(status: refusal.status, headers: [:], body: refusal.body))
        let error = await thrown { try await setting.database.save(note()) }
        #expect(error?.code == .serverResponseLost)
        #expect(await setting.cloud.seen.count == 2)
        #expect(await setting.cloud.stored("a") == nil)
    }

    @Test func `a save that got lost on its way is made by the repetition`() async throws {
        await setting.cloud.failNext(.lostOnTheWay, .lostOnTheWay)
        #expect(try await setting.database.save(note()).recordChangeTag == "tag1")
    }

    @Test func `answers that keep getting lost end as serverResponseLost`() async throws {
        await setting.cloud.failNext(.answerLost, .lostOnTheWay, .notSent, .lostOnTheWay)
        #expect(await thrown { try await setting.database.save(note()) }?.code == .serverResponseLost)
        #expect(await setting.cloud.seen.count == 4)
        #expect(await setting.cloud.stored("a") != nil)
    }

    @Test func `a server that cannot be reached is networkUnavailable, at once`() async throws {
        await setting.cloud.failNext(.notSent)
        #expect(await thrown { try await setting.database.save(note()) }?.code == .networkUnavailable)
        #expect(await setting.cloud.seen.count == 1)
    }

    @Test func `a fetch whose answer got lost is networkFailure, and in the background it is made again`() async throws {
        await setting.cloud.failNext(.lostOnTheWay)
        #expect(await thrown { try await setting.database.allRecordZones() }?.code == .networkFailure)
        let configuration = CKOperation.Configuration()
        configuration.qualityOfService = .utility
        await setting.cloud.failNext(.notSent, .lostOnTheWay)
        let zones = try await setting.database.configuredWith(configuration: configuration) { try await $0.allRecordZones() }
        #expect(zones.count == 1)
        #expect(setting.time.pauses == [1, 2])
    }

    @Test func `background work gives up after its resource timeout`() async throws {
        let configuration = CKOperation.Configuration()
        configuration.qualityOfService = .background
        configuration.timeoutIntervalForResource = 4.5
        await setting.cloud.failNext(.notSent, .notSent, .notSent, .notSent)
        let error = await thrown {
            try await setting.database.configuredWith(configuration: configuration) { try await $0.allRecordZones() }
        }
        #expect(error?.code == .networkUnavailable)
        #expect(setting.time.pauses == [1, 2, 0.5], "the last pause is cut")
    }

    @Test(arguments: [
        (ServerError(.tryAgainLater, "later", retryAfter: 30), CKError.Code.serviceUnavailable),
        (ServerError(.throttled, "slower", retryAfter: 30), .requestRateLimited),
    ])
    func `later is told with the seconds to wait, and not waited for`(error: ServerError, code: CKError.Code) async throws {
        let refusal = PretendCloud.refusal(error)
        await setting.cloud.failNext(.answer(status: refusal.status, headers: [:], body: refusal.body))
        let told = await thrown { try await setting.database.save(note()) }
        #expect(told?.code == code && told?.retryAfterSeconds == 30)
        #expect(await setting.cloud.seen.count == 1)
    }

    @Test(
        arguments: [
            ("7", 7), ("0.5", 0.5), ("-3", 0), ("90000", 86_400), ("1e300", 86_400), ("inf", nil), ("nan", nil), ("1e400", nil),
            ("Fri, 27 Nov 2026 20:00:00 GMT", nil),
        ] as [(String, Double?)])
    func `the seconds of a proxy are a number from 0 to a day`(text: String, seconds: Double?) {
        #expect(TransportAnswer(status: 503, headers: ["retry-after": text], body: []).retryAfter == seconds)
    }

    @Test func `a proxy's answer reads by its status, and a gateway without an answer may have lost one`() async throws {
        await setting.cloud.failNext(.answer(status: 503, headers: ["retry-after": "7"], body: Array("<html>".utf8)))
        let busy = await thrown { try await setting.database.save(note()) }
        #expect(busy?.code == .serviceUnavailable && busy?.retryAfterSeconds == 7)
        for text in ["inf", "nan", "1e400"] {
            await setting.cloud.failNext(.answer(status: 503, headers: ["retry-after": text], body: []))
            let busy = await thrown { try await setting.database.save(note()) }
            #expect(busy?.code == .serviceUnavailable && busy?.retryAfterSeconds == nil, "\(text)")
        }
        await setting.cloud.failNext(.answer(status: 502, headers: [:], body: []))
        #expect(try await setting.database.save(note()).recordChangeTag == "tag1")
        await setting.cloud.failNext(.answer(status: 504, headers: [:], body: []))
        #expect(await thrown { try await setting.database.allRecordZones() }?.code == .serviceUnavailable)
    }

    @Test func `a server of another version that does not know a request, or is not understood, is told with both versions`() async throws {
        let unknown = PretendCloud.refusal(ServerError(.notFound, "could not find handler for endpoint", native: .serverRejectedRequest))
        for (status, body) in [(unknown.status, unknown.body), (200, Array("{\"zones\":[".utf8)), (404, Array("<html>".utf8))] {
            await setting.cloud.failNext(.answer(status: status, headers: ["x-nacre-version": "0.0.1"], body: body))
            let error = await thrown { try await setting.database.allRecordZones() }
            #expect((error?.userInfo["CKErrorRemedy"] as? String)?.contains("version 0.0.1") == true, "\(status) \(error?.description ?? "")")
        }
    }

    @Test func `an answer that is none is an error, and not a crash`() async throws {
        await setting.cloud.failNext(.answer(status: 200, headers: [:], body: Array("{\"records\":[".utf8)))
        #expect(await thrown { try await setting.database.save(note()) }?.code == .internalError)
        await setting.cloud.failNext(.answer(status: 200, headers: [:], body: Array("{\"records\":[]}".utf8)))
        #expect(await thrown { try await setting.database.save(note()) }?.code == .internalError)
    }

    @Test func `the network failing between zones leaves what was done, and fails the rest`() async throws {
        await setting.cloud.addZone("A")
        let there = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "r", zoneID: CKRecordZone.ID(zoneName: "A")))
        await setting.cloud.failNext(.answer(status: 503, headers: [:], body: []))
        #expect(await thrown { try await setting.database.modifyRecords(saving: [note(), there], deleting: []) }?.code == .serviceUnavailable)
        let database = setting.database
        try await database.save(there)
        let third = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "r", zoneID: CKRecordZone.ID(zoneName: "B")))
        await setting.cloud.failSecond(.notSent)
        let results = try await database.modifyRecords(saving: [note(), there, third], deleting: [])
        #expect(results.saveResults[note().recordID]?.word == "ok")
        #expect(results.saveResults[there.recordID]?.word == "networkUnavailable")
        #expect(results.saveResults[third.recordID]?.word == "networkUnavailable")
    }
}

extension PretendCloud {
    /// Lets the next request succeed, and the one after it fail.
    func failSecond(_ fault: Fault) {
        failNext(.none, fault)
    }
}
