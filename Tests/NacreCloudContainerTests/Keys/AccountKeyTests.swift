import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire
import NacreEncryptionForms
import Testing

@testable import NacreCloudContainer

/// Tests of the statements that the server keeps: the rules as values.
@Suite struct AccountKeyTests {
    private let phone = Result { try KeyringDevice("phone") }

    private func refusal(
        _ request: KeysAppendRequest, after statements: [KeyStatement], of account: AccountName
    ) throws -> ServerError? {
        let addition = try KeyAddition(request)
        let keys = try AccountKeys(statements)
        do throws(ServerError) {
            _ = try keys.adding(addition, of: account)
            return nil
        } catch {
            return error
        }
    }

    @Test func `a statement is kept with the account key for each device that needs it, and for no other`() throws {
        let phone = try phone.get()
        var ada = try SampleKeyring("_ada", container: TestCloud.container)
        var statements: [KeyStatement] = []
        func check(_ device: KeyringDevice) throws {
            let right = try ada.request()
            #expect(try refusal(right, after: statements, of: ada.account) == nil)
            var wrong = [right, right, right, right]
            wrong[0].wraps.removeLast()
            wrong[1].wraps.append(right.wraps[0])
            wrong[2].wraps[0] = try ada.wrap(for: device.id, generation: ada.log.generation + 1).bytes
            wrong[3].wraps[0] = try ada.wrap(for: device.id, by: KeyringDevice("stranger")).bytes
            for request in wrong { #expect(try refusal(request, after: statements, of: ada.account)?.field == "wraps") }
            wrong = [right, right]
            wrong[0].olderKey = try right.olderKey == nil ? ada.olderKey(under: 1).bytes : nil
            wrong[1].olderKey = try ada.olderKey(under: ada.log.generation + 1).bytes
            for request in wrong { #expect(try refusal(request, after: statements, of: ada.account)?.field == "olderKey") }
            statements.append(ada.newest)
        }
        try check(ada.first)
        try ada.say(ada.adding(phone))
        try check(phone)
        try ada.say(ada.removing(phone))
        try check(ada.first)
        try ada.say(ada.renewing(KeyringDevice("paper")))
        try check(ada.first)
    }

    @Test func `what a client would refuse the server refuses, and a stale statement as a conflict`() throws {
        let phone = try phone.get()
        let ada = try SampleKeyring("_ada", container: TestCloud.container)
        var grown = ada
        try grown.say(grown.adding(phone))
        let both = [ada.newest, grown.newest]
        var stale = ada
        try stale.say(stale.adding(KeyringDevice("tablet")))
        #expect(try refusal(stale.request(), after: both, of: ada.account)?.code == .conflict)
        #expect(try refusal(ada.request(), after: both, of: ada.account)?.code == .conflict)
        #expect(try refusal(grown.request(), after: [], of: ada.account)?.code == .badRequest)
        // Signed by a device that is not enrolled.
        let forged = try grown.statement(SampleKeyring.reset(), by: KeyringDevice("stranger"))
        #expect(try refusal(KeysAppendRequest(statement: forged.bytes), after: both, of: ada.account)?.code == .badRequest)
        // The log of another user, and of the same user in another container.
        let bob = try SampleKeyring("_bob", container: TestCloud.container)
        #expect(try refusal(bob.request(), after: [], of: ada.account)?.field == "statement")
        let elsewhere = try SampleKeyring("_ada", container: "iCloud.com.example.other")
        #expect(try refusal(elsewhere.request(), after: [], of: ada.account)?.field == "statement")
        #expect(throws: ServerError.self) { try KeyAddition(KeysAppendRequest(statement: ada.newest.bytes + [0])) }
    }

    @Test func `a log ends with a signed reset alone, and the next one names it`() throws {
        var ada = try SampleKeyring("_ada", container: TestCloud.container)
        let first = ada.newest
        let unasked = try SampleKeyring("_ada", container: TestCloud.container, named: "new")
        #expect(try refusal(unasked.request(), after: [first], of: ada.account)?.code == .conflict)
        try ada.say(SampleKeyring.reset(), isRecovery: true)
        #expect(try refusal(ada.request(), after: [first], of: ada.account) == nil)
        let ended = [first, ada.newest]
        #expect(try refusal(unasked.request(), after: ended, of: ada.account)?.field == "statement")
        let next = try SampleKeyring("_ada", container: TestCloud.container, follows: ada.log.head.hash, named: "new")
        let unnamed = try SampleKeyring("_ada", container: TestCloud.container, follows: ada.log.head.hash, named: "other")
        #expect(try refusal(unnamed.request(), after: ended, of: ada.account)?.field == "statement")
        #expect(try refusal(next.request(), after: ended, of: ada.account) == nil)
        #expect(try refusal(next.request(), after: [], of: ada.account)?.field == "statement")
        #expect(try AccountKeys(ended + [next.newest]).log?.fingerprint == next.log.fingerprint)
    }

    @Test func `an account with as many statements as it may have still removes devices and is reset`() throws {
        let phone = try phone.get()
        var ada = try SampleKeyring("_ada", container: TestCloud.container)
        // Older logs count, and nobody reads them.
        var statements = [KeyStatement](repeating: ada.newest, count: Limits.keyStatementsPerAccount - 1)
        try ada.say(ada.adding(phone))
        #expect(try refusal(ada.request(), after: statements, of: ada.account) == nil)
        statements.append(ada.newest)
        let next: (KeyStatement.Action) throws -> ServerError? = { action in
            var after = ada
            try after.say(action)
            return try refusal(after.request(), after: statements, of: ada.account)
        }
        #expect(try next(ada.adding(KeyringDevice("tablet"))) == .tooManyStatements)
        #expect(try next(ada.renewing(phone)) == .tooManyStatements)
        #expect(try next(ada.removing(phone)) == nil)
        #expect(try next(SampleKeyring.reset()) == nil)
    }
}
