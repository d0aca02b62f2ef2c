import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreTelemetry
import Testing

@testable import NacreCloudServer

@Suite struct StoreFaultLogTests {
    @Test func `a failure of the store is one line with its place, what is wrong, and the request that met it`() async throws {
        let server = try await TestServer()
        let telemetry = Telemetry()
        let log = StoreFaultLog(logger: server.log.logger, telemetry)
        let place = ["database": "c/development/private/_ann", "zone": "Notes", "recordName": "r1"]
        let error = StoreError(.corrupt, "A record's checksum does not match", place.merging(["code": "11"]) { first, _ in first })
        WorkMeter.$current.withValue(WorkMeter(requestID: "the-request")) { log.log(error) }
        log.log(StoreError(.unavailable, "The disk failed"))
        #expect(telemetry.prometheusText().contains("nacre_store_errors_total{code=\"corrupt\"} 1\n"))
        let lines = server.log.objects("The store failed")
        #expect(lines.count == 2 && lines.map { $0["level"] } == [.string("error"), .string("error")])
        let line = try #require(lines.first)
        #expect([line["database"], line["zone"], line["record"]] == [.string("c/development/private/_ann"), .string("Notes"), .string("r1")])
        #expect(line["request_id"] == .string("the-request") && line["code"] == .string("corrupt"))
        #expect(line["error"] == .string("A record's checksum does not match, code 11"))
        #expect(lines.last?["request_id"] == .string("") && lines.last?["record"] == .string(""))
    }
}
