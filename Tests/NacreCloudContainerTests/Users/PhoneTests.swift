import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of phone numbers of accounts: set once a code sent to the number was typed.
@Suite struct PhoneTests {
    private static let number = "+49301234567"
    private static let now = Timestamp(secondsSince2001: 1000)

    private static func code(number: String = number, expires: Double = 1001, attemptsLeft: Int = 1) -> PhoneCode {
        PhoneCode(number: number, digits: "012345", expires: expires, attemptsLeft: attemptsLeft)
    }

    @Test(
        arguments: [
            (nil, "012345", .over), (code(), "012345", .right), (code(), "12345", .wrong), (code(), "", .wrong),
            (code(number: "+49301234568"), "012345", .over), (code(expires: 1000), "012345", .over), (code(attemptsLeft: 0), "012345", .over),
        ] as [(PhoneCode?, String, PhoneCodeVerdict)])
    func `a code is right for its number, in its time, and while attempts are left`(code: PhoneCode?, digits: String, verdict: PhoneCodeVerdict) {
        #expect(code.verdict(on: digits, for: Self.number, at: Self.now) == verdict)
    }

    private func account(_ test: TestCloud, _ email: String = "ada@example.com") async throws -> AccountEntry {
        try await test.cloud.registry.createAccount(email: email, passwordHash: "h", isVouched: true)
    }

    private func kept(_ test: TestCloud, _ account: AccountEntry) async throws -> AccountEntry {
        try #require(try await test.cloud.registry.account(id: account.id))
    }

    @Test(arguments: Engine.ofRules) func `the digits that were sent last give the number, once and in time`(engine: Engine) async throws {
        let test = TestCloud(try await engine.makeStore())
        let registry = test.cloud.registry
        let ada = try await account(test)
        await #expect(throws: ServerError.phoneCodeIsOver) { try await registry.confirmPhone(Self.number, code: "000000", of: ada) }
        try await registry.sendPhoneCode(to: Self.number, of: ada)
        let first = try #require(try await kept(test, ada).phoneDigits)
        #expect(first.count == Limits.phoneCodeDigits && first.allSatisfy(\.isNumber))
        try await registry.sendPhoneCode(to: Self.number, of: ada)
        let second = try #require(try await kept(test, ada).phoneDigits)
        if first != second {
            await #expect(throws: ServerError.wrongPhoneCode) { try await registry.confirmPhone(Self.number, code: first, of: ada) }
        }
        await #expect(throws: ServerError.phoneCodeIsOver) { try await registry.confirmPhone("+49301234568", code: second, of: ada) }
        let confirmed = try await registry.confirmPhone(Self.number, code: second, of: ada)
        #expect(confirmed.phone == Self.number && confirmed.phoneDigits == nil)
        #expect(try await registry.confirmPhone(Self.number, code: "again", of: confirmed).phone == Self.number)

        // Another number, too late; and the existing one is removed when its user asks.
        try await registry.sendPhoneCode(to: "+49301234568", of: ada)
        let late = try #require(try await kept(test, ada).phoneDigits)
        test.clock.move(bySeconds: Limits.phoneCodeSeconds)
        await #expect(throws: ServerError.phoneCodeIsOver) { try await registry.confirmPhone("+49301234568", code: late, of: confirmed) }
        #expect(try await kept(test, ada).phone == Self.number)
        #expect(try await registry.removePhone(of: confirmed).phone == nil)
        #expect(try await kept(test, ada).phone == nil)
    }

    @Test(arguments: Engine.ofRules) func `wrong digits count, and after so many the right ones are none`(engine: Engine) async throws {
        let test = TestCloud(try await engine.makeStore())
        let registry = test.cloud.registry
        let ada = try await account(test)
        try await registry.sendPhoneCode(to: Self.number, of: ada)
        let digits = try #require(try await kept(test, ada).phoneDigits)
        let wrong = digits == "000000" ? "000001" : "000000"
        for _ in 0..<Limits.phoneCodeAttempts {
            await #expect(throws: ServerError.wrongPhoneCode) { try await registry.confirmPhone(Self.number, code: wrong, of: ada) }
        }
        await #expect(throws: ServerError.phoneCodeIsOver) { try await registry.confirmPhone(Self.number, code: digits, of: ada) }
    }

    @Test func `an account has so many codes sent in a day`() async throws {
        let test = TestCloud(try await Engine.memory.makeStore())
        let registry = test.cloud.registry
        let ada = try await account(test)
        for index in 0..<Limits.phoneCodesPerDay {
            try await registry.sendPhoneCode(to: "+4930123456\(index)", of: ada)
            test.clock.move(bySeconds: 60)
        }
        let error = await #expect(throws: ServerError.self) { try await registry.sendPhoneCode(to: Self.number, of: ada) }
        let wait = try #require(error?.retryAfter)
        #expect(error?.code == .throttled && wait > 23 * 3600)
        test.clock.move(bySeconds: Double(wait))
        try await registry.sendPhoneCode(to: Self.number, of: ada)
    }

    @Test(arguments: Engine.ofRules) func `who has allowed it is found by the number, as long as the account has it`(engine: Engine) async throws {
        let test = TestCloud(try await engine.makeStore())
        let (cloud, registry) = (test.cloud, test.cloud.registry)
        _ = try await registry.createContainer(TestCloud.container)
        let target = DatabaseTarget(container: TestCloud.container, environment: .development, scope: .public)
        var callers: [Caller] = []
        var accounts: [AccountEntry] = []
        for email in ["ada@example.com", "bob@example.com"] {
            let made = try await account(test, email)
            accounts.append(made)
            callers.append(Caller(.user(try await cloud.admit(account: made.id, to: TestCloud.container, .development)), account: made.id))
        }
        func found() async throws -> [String] {
            let infos: [UserLookupInfo] = [.phoneNumber("+49 30 1234567"), .emailAddress("ada@example.com")]
            return try await cloud.discoverUsers(infos, field: "lookupInfos", in: target, by: callers[1]).users.map { "\($0.lookupInfo!)" }
        }
        func confirm(_ account: AccountEntry, _ number: String = Self.number) async throws {
            try await registry.sendPhoneCode(to: number, of: account)
            _ = try await registry.confirmPhone(number, code: try #require(try await kept(test, account).phoneDigits), of: account)
            try await cloud.refreshIdentity(of: account.id)
        }
        _ = try await cloud.answerDiscoverability(.granted, in: target, by: callers[0])
        #expect(try await found() == [#"emailAddress("ada@example.com")"#])
        try await confirm(accounts[0])
        #expect(try await found() == [#"phoneNumber("+49 30 1234567")"#, #"emailAddress("ada@example.com")"#])
        // Another number; the old one belongs to no account.
        try await confirm(accounts[0], "+49301234568")
        #expect(try await found() == [#"emailAddress("ada@example.com")"#])
        try await confirm(accounts[0])
        _ = try await registry.removePhone(of: try await kept(test, accounts[0]))
        test.clock.move(bySeconds: Limits.emailChangeSeconds)
        try await test.runAllTasks()
        #expect(try await found() == [#"emailAddress("ada@example.com")"#], "the task settles it, too")
        try await confirm(accounts[0])
        _ = try await cloud.answerDiscoverability(.denied, in: target, by: callers[0])
        #expect(try await found() == [])
    }
}
