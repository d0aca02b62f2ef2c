import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer

struct AuditLogTests {
    @Test(arguments: Engine.ofRules)
    func `entries are numbered, listed newest first in pages, and the oldest make room`(engine: Engine) async throws {
        let registry = TestCloud(try await engine.makeStore()).cloud.registry
        let count = Limits.resultsPerPage + 10
        for number in 1...count {
            let entry = AuditEntry(requestID: "r\(number)", action: "POST /admin/1/users", address: "127.0.0.1")
            #expect(try await registry.add(entry, keeping: count - 3) == Int64(number))
        }
        let first = try await registry.auditLog(after: nil)
        #expect(first.page.map(\.number) == (11...count).reversed().map(Int64.init) && first.next == 11)
        let second = try await registry.auditLog(after: first.next)
        #expect(second.page.map(\.requestID) == (4...10).reversed().map { "r\($0)" } && second.next == nil)
    }

    @Test func `how a request ended is added to its entry, and to no other`() async throws {
        let registry = TestCloud(try await Engine.memory.makeStore()).cloud.registry
        for name in ["a", "b"] { _ = try await registry.add(AuditEntry(requestID: name, action: "POST /admin/1/users", address: "::1")) }
        try await registry.end(auditEntry: 1, status: 201)
        try await registry.end(auditEntry: 99, status: 500)
        #expect(try await registry.auditLog(after: nil).page.map(\.status) == [nil, 201])
    }
}
