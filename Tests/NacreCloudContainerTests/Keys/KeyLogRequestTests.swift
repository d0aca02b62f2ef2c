import NacreCloudTestSupport
import NacreCloudWire
import NacreEncryptionForms
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of `keys/append` and `keys/log` over the engines.
@Suite(.timeLimit(.minutes(1))) struct KeyLogRequestTests {
    /// Returns an answer without the tree of logs.
    private func log(_ user: TestCloudUser, of name: String? = nil, after: Int? = nil) async throws -> KeysLogResponse {
        var answer = try await user.cloud.keyLog(KeysLogRequest(user: name, after: after), in: user.target, by: user.caller)
        answer.tree = nil
        return answer
    }

    private func append(_ request: KeysAppendRequest, _ user: TestCloudUser) async throws -> Int {
        try await user.cloud.appendKeyStatement(request, in: user.target, by: user.caller).place
    }

    @Test(arguments: Engine.embedded)
    func `a log grows by what follows it, and others read its statements without what is sealed`(_ engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let (ada, bob) = (test.user("_ada"), test.user("_bob"))
        var keys = try SampleKeyring("_ada", container: TestCloud.container)
        var statements = [keys.newest.bytes]
        #expect(try await append(keys.request(), ada) == 0)
        // Sent again after a lost answer.
        #expect(try await append(keys.request(), ada) == 0)
        let phone = try KeyringDevice("phone")
        try keys.say(keys.adding(phone))
        statements.append(keys.newest.bytes)
        #expect(try await append(keys.request(), ada) == 1)
        #expect(try await log(ada).wraps?.count == 3)
        try keys.say(keys.removing(phone))
        statements.append(keys.newest.bytes)
        #expect(try await append(keys.request(), ada) == 2)
        let own = try await log(ada)
        #expect(own.statements == statements && own.moreComing == false)
        let newest = try keys.request()
        #expect(Set(own.wraps ?? []) == Set(newest.wraps) && own.olderKeys == newest.olderKey.map { [$0] })
        #expect(try await log(bob, of: "_ada") == KeysLogResponse(statements: statements))
        #expect(try await log(bob, of: "_ada", after: 1).statements == [statements[2]])
        #expect(try await log(bob, of: "_nobody") == log(bob, of: "not a\u{1}name"))
        #expect(try await log(bob).statements == [])
    }

    @Test func `of two statements that follow the same one, one is kept`() async throws {
        let test = try await TestCloud(.memory)
        let ada = test.user("_ada")
        let keys = try SampleKeyring("_ada", container: TestCloud.container)
        _ = try await append(keys.request(), ada)
        let requests = try ["phone", "tablet", "watch"].map { name in
            var next = keys
            try next.say(next.adding(KeyringDevice(name)))
            return try next.request()
        }
        let kept = try await withThrowingTaskGroup(of: Bool.self) { group in
            for request in requests {
                group.addTask {
                    do {
                        return try await append(request, ada) == 1
                    } catch let error as ServerError {
                        #expect(error.code == .conflict)
                        return false
                    }
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(kept == 1)
        #expect(try await log(ada).statements.count == 2)
    }

    @Test func `a reset takes what was sealed, and the end of the account leaves the log, for readers of what the user wrote`() async throws {
        let test = try await TestCloud(.memory)
        let ada = test.user("_ada")
        var keys = try SampleKeyring("_ada", container: TestCloud.container)
        _ = try await append(keys.request(), ada)
        try keys.say(keys.renewing(KeyringDevice("paper")))
        _ = try await append(keys.request(), ada)
        try keys.say(SampleKeyring.reset())
        _ = try await append(keys.request(), ada)
        let ended = try await log(ada)
        #expect(ended.wraps == [] && ended.olderKeys == [])
        let next = try SampleKeyring("_ada", container: TestCloud.container, follows: keys.log.head.hash, named: "new")
        #expect(try await append(next.request(), ada) == 3)
        #expect(try await log(ada).wraps?.count == 2)
        try await test.cloud.forgetKeys(of: ada.cloud.database(ada.target, for: .read, by: ada.caller).id)
        let left = try await log(ada)
        #expect(left.statements.count == 4 && left.wraps == [] && left.olderKeys == [])
        #expect(try await log(test.user("_bob"), of: "_ada").statements == left.statements)
    }
}
