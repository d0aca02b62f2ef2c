import NacreCloudTestSupport
import NacreCloudWire
import NacreCrypto
import NacreEncryptionForms
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of the tree of logs that the server keeps: docs/encryption.md, "The tree of logs".
@Suite(.timeLimit(.minutes(1))) struct LogTreeTests {
    /// The tree of an answer, as a client verifies it.
    private struct Shown {
        let head: TreeHead
        let server: Ed25519.PublicKey
        let answer: KeysLogResponse
        let tree: KeysLogResponse.Tree

        init(_ answer: KeysLogResponse) throws {
            self.answer = answer
            tree = try #require(answer.tree)
            head = try TreeHead(tree.head)
            server = try Ed25519.PublicKey(tree.serverKey)
        }

        /// Whether the tree has the last answered statement, which is of the newest log.
        func includesNewest(of log: KeyLog) throws -> Bool {
            let statement = try KeyStatement(#require(answer.statements.last))
            let entry = TreeOfLogs.entry(fingerprint: log.fingerprint, number: statement.number, hash: statement.hash)
            let (index, proof) = (try #require(tree.index), try #require(tree.inclusion))
            return head.isSigned(by: server) && head.merkle.includes(entry, at: index, proof: proof)
        }
    }

    private func log(_ user: TestCloudUser, of name: String? = nil, after: Int? = nil, since size: Int? = nil) async throws -> Shown {
        let request = KeysLogRequest(user: name, after: after, treeSize: size)
        return try Shown(try await user.cloud.keyLog(request, in: user.target, by: user.caller))
    }

    private func append(_ keys: SampleKeyring, _ user: TestCloudUser) async throws {
        _ = try await user.cloud.appendKeyStatement(keys.request(), in: user.target, by: user.caller)
    }

    @Test(arguments: Engine.embedded)
    func `every answered log is in one tree, which only grows`(_ engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let (ada, bob) = (test.user("_ada"), test.user("_bob"))
        let empty = try await log(ada)
        #expect(empty.head.size == 0 && empty.head.isSigned(by: empty.server) && empty.tree.index == nil && empty.tree.inclusion == nil)
        #expect(empty.head.container == TestCloud.container && empty.head.environment == "development")
        var kept = try KeptTreeHead(first: empty.head, server: empty.server)
        var (adas, bobs) = (
            try SampleKeyring("_ada", container: TestCloud.container), try SampleKeyring("_bob", container: TestCloud.container)
        )
        for number in 1...5 {
            if number > 1 {
                try adas.say(adas.adding(KeyringDevice("device \(number)")))
                try bobs.say(bobs.adding(KeyringDevice("device \(number)")))
            }
            try await append(adas, ada)
            try await append(bobs, bob)
            let shown = try await log(bob, of: "_ada", since: Int(kept.head.size))
            #expect(shown.head.size == UInt64(2 * number))
            #expect(try shown.includesNewest(of: adas.log))
            try kept.take(shown.head, proof: #require(shown.tree.consistency), server: shown.server)
            #expect(try await log(bob).includesNewest(of: bobs.log))
        }
        // Sent again after a lost answer.
        try await append(adas, ada)
        let end = try await log(ada, after: 4)
        #expect(end.head.size == 10 && end.tree.index == nil && end.tree.consistency == nil && end.tree.serverKey == empty.tree.serverKey)
        #expect(try await log(test.user("_ada", environment: .production)).head.size == 0, "an environment has a tree of its own")
    }

    @Test(arguments: Engine.embedded) func `statements of several users at once have places of their own`(_ engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let names = (1...6).map { "_user\($0)" }
        let places = try await withThrowingTaskGroup(of: Int?.self) { group in
            for name in names {
                group.addTask {
                    let keys = try SampleKeyring(name, container: TestCloud.container)
                    try await append(keys, test.user(name))
                    let shown = try await log(test.user(name))
                    #expect(try shown.includesNewest(of: keys.log))
                    return shown.tree.index
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(places) == Set((0..<names.count).map(Optional.some)))
    }

    @Test func `a log after a reset is in the tree by its own fingerprint, and a statement that a crash kept out enters it`() async throws {
        let test = try await TestCloud(.memory)
        let (ada, bob) = (test.user("_ada"), test.user("_bob"))
        var keys = try SampleKeyring("_ada", container: TestCloud.container)
        try await append(keys, ada)
        try keys.say(SampleKeyring.reset())
        try await append(keys, ada)
        let next = try SampleKeyring("_ada", container: TestCloud.container, follows: keys.log.head.hash, named: "new")
        // The crash came between the log and the tree.
        let database = try await test.cloud.database(ada.target, for: .write, by: ada.caller).id
        let row = EntryRow(key: KeyEntries.statement(at: 2, in: database), value: next.newest.bytes)
        try await test.store.write { transaction in
            var plan = WritePlan()
            plan.entries = [row]
            try transaction.apply(plan)
            return .commit(())
        }
        let shown = try await log(bob, of: "_ada", since: 2)
        #expect(try shown.head.size == 3 && shown.tree.index == 2 && shown.includesNewest(of: next.log))
        #expect(try await log(bob, of: "_ada").head.size == 3)
        var added = next
        try added.say(added.adding(KeyringDevice("phone")))
        try await append(added, ada)
        #expect(try await log(bob, of: "_ada", after: 2).includesNewest(of: added.log), "the page does not have the log's beginning")
    }

    @Test func `a client that has seen a larger tree, or none of a size that is one, is told so`() async throws {
        let test = try await TestCloud(.memory)
        let ada = test.user("_ada")
        try await append(SampleKeyring("_ada", container: TestCloud.container), ada)
        await #expect(throws: ServerError.treeIsSmaller) { try await log(ada, since: 2) }
        await #expect(throws: ServerError.self) { try await log(ada, since: -1) }
        #expect(try await log(ada, since: 0).tree.consistency == [])
        #expect(try await log(ada, since: 1).tree.consistency == [])
    }
}
