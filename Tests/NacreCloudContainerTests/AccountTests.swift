import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of containers, accounts, sessions and tokens over every engine.
@Suite struct AccountTests {
    @Test(arguments: Engine.ofRules) func `an account is found by its address however that is spelled, and made once`(engine: Engine) async throws {
        let cloud = try await TestCloud(engine).cloud
        #expect(try await cloud.registry.account(email: "ada@example.com") == nil)
        let ada = try await cloud.registry.createAccount(email: "Ada@Example.com", passwordHash: "h1")
        #expect(ada.email == "ada@example.com" && ada.passwordHash == "h1")
        #expect(try await cloud.registry.account(email: "ADA@example.com") == ada)
        await #expect(throws: ServerError.emailTaken) { try await cloud.registry.createAccount(email: "ada@example.com", passwordHash: "h2") }
        #expect(try await cloud.registry.account(email: "ada@example.com") == ada)
        #expect(try await cloud.registry.createAccount(email: "bob@example.com", passwordHash: "h").id != ada.id)
    }

    @Test(arguments: [
        "", "ada", "@example.com", "ada@", "a@b@c", "a da@example.com", "ada@exam\tple.com", "e\u{301}@example.com", "\u{212A}@example.com",
        String(repeating: "a", count: 250) + "@b.co",
    ])
    func `what is no address makes no account`(email: String) async throws {
        let cloud = try await TestCloud(.memory).cloud
        let error = await #expect(throws: ServerError.self) { try await cloud.registry.createAccount(email: email, passwordHash: "h") }
        #expect(error?.field == "email")
        #expect(try await cloud.registry.account(email: email) == nil)
    }

    @Test(arguments: Engine.ofRules) func `of many that sign up with one address at once, one gets the account`(engine: Engine) async throws {
        let cloud = try await TestCloud(engine).cloud
        let made = await withTaskGroup(of: AccountEntry?.self) { group in
            for index in 0..<16 {
                group.addTask { try? await cloud.registry.createAccount(email: "ada@example.com", passwordHash: "h\(index)") }
            }
            return await group.reduce(into: [AccountEntry]()) { made, entry in
                if let entry { made.append(entry) }
            }
        }
        #expect(made.count == 1)
        #expect(try await cloud.registry.account(email: "ada@example.com") == made.first)
    }

    @Test(arguments: Engine.ofRules, 1...8) func `a sign-up that was cut short is taken up where it stopped`(engine: Engine, call: Int) async throws {
        let failing = FailingStore(try await engine.makeStore(), failingAtCall: call)
        let cloud = TestCloud(failing).cloud
        let error = await #expect(throws: ServerError.self) { try await cloud.registry.createAccount(email: "ada@example.com", passwordHash: "h1") }
        #expect(error?.code == .tryAgainLater && error?.retryAfter != nil)
        failing.fail(atCall: nil)
        #expect(try await cloud.registry.account(email: "ada@example.com") == nil)
        let ada = try await cloud.registry.createAccount(email: "ada@example.com", passwordHash: "h2")
        #expect(ada.passwordHash == "h2")
        #expect(try await cloud.registry.account(email: "ada@example.com") == ada)
    }

    @Test(arguments: Engine.ofRules) func `an account has one name in each container and environment, and they cannot be compared`(
        engine: Engine
    ) async throws {
        let cloud = try await TestCloud(engine).cloud
        let ada = try await cloud.registry.createAccount(email: "ada@example.com", passwordHash: "h").id
        let bob = try await cloud.registry.createAccount(email: "bob@example.com", passwordHash: "h").id
        var names: [String] = []
        for last in ["a", "b", "c"] { _ = try await cloud.registry.createContainer("iCloud.com.example.\(last)") }
        for account in [ada, bob] {
            for container in ["iCloud.com.example.a", "iCloud.com.example.b"] {
                for environment in DatabaseKey.Environment.allCases {
                    let name = try await cloud.admit(account: account, to: container, environment)
                    #expect(try await cloud.admit(account: account, to: container, environment) == name)
                    #expect(name.hasPrefix("_") && name.utf8.count == 33)
                    names.append(name)
                }
            }
        }
        #expect(Set(names).count == 8)
        let racing = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<16 {
                group.addTask { try await cloud.admit(account: ada, to: "iCloud.com.example.c", .production) }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(racing.count == 1)
    }

    @Test(arguments: Engine.ofRules) func `containers are made once, and API tokens only for containers that are there`(engine: Engine) async throws {
        let cloud = try await TestCloud(engine).cloud
        let name = "iCloud.com.example.notes"
        await #expect(throws: ServerError.noContainer) {
            try await cloud.registry.createAPIToken(container: name, environment: .development, name: "web")
        }
        let made = try await cloud.registry.createContainer(name)
        #expect(made.isNew && made.container.name == name)
        let again = try await cloud.registry.createContainer(name)
        #expect(!again.isNew && again.container == made.container)
        #expect(try await cloud.registry.container(name) == made.container)
        #expect(try await cloud.registry.container("iCloud.com.example.others") == nil)
        await #expect(throws: ServerError.self) { try await cloud.registry.createContainer("notes") }
        for number in 0..<Limits.resultsPerPage { _ = try await cloud.registry.createContainer("iCloud.com.example.many\(number)") }
        let first = try await cloud.registry.containers(after: nil)
        let second = try await cloud.registry.containers(after: first.next)
        #expect(first.page.count == Limits.resultsPerPage && second.page.count == 1 && second.next == nil)
        #expect(Set((first.page + second.page).map(\.name)).count == Limits.resultsPerPage + 1)
        let token = try await cloud.registry.createAPIToken(container: name, environment: .development, name: "web")
        #expect(token.utf8.count == 64)
        #expect(try await cloud.registry.apiToken(token)?.container == name)
        #expect(try await cloud.registry.apiToken(String(token.dropLast()) + "x") == nil)
    }

    @Test(arguments: Engine.ofRules) func `a session and a device's token live until they end`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let cloud = test.cloud
        let container = "iCloud.com.example.notes"
        _ = try await cloud.registry.createContainer(container)
        let api = try await cloud.registry.createAPIToken(container: container, environment: .production, name: "web")
        let entry = try #require(try await cloud.registry.apiToken(api))
        let account = try await cloud.registry.createAccount(email: "ada@example.com", passwordHash: "h")
        let (ada, bob) = (account.id, "bob")
        let name = try await cloud.admit(account: ada, to: container, .production)
        let session = try await cloud.registry.startSession(of: account, as: name, apiToken: api, entry: entry, isKept: true)
        #expect(session.userRecordName == name && session.environment == "production")
        #expect(try await cloud.registry.session(session.id, of: ada) == session)
        #expect(try await cloud.registry.session(session.id, of: bob) == nil)
        let device = try await cloud.registry.createAccountToken(for: account, containers: [container], environment: .development, device: "Mac")
        #expect(try await cloud.registry.accountToken(device.id, of: ada) == device)
        try await cloud.registry.revokeAccountToken(device.id, of: bob)
        #expect(try await cloud.registry.accountToken(device.id, of: ada) == device, "nobody revokes another's")
        try await cloud.registry.revokeAccountToken(device.id, of: ada)
        #expect(try await cloud.registry.accountToken(device.id, of: ada) == nil)
        test.clock.move(bySeconds: 15 * 24 * 3600)
        #expect(try await cloud.registry.session(session.id, of: ada) == nil)
        let other = try await cloud.registry.startSession(of: account, as: name, apiToken: api, entry: entry, isKept: false)
        try await cloud.registry.endSession(other.id, of: ada)
        #expect(try await cloud.registry.session(other.id, of: ada) == nil)
    }

    @Test(arguments: Engine.ofRules) func `the first sealing key is made once and kept`(engine: Engine) async throws {
        let cloud = try await TestCloud(engine).cloud
        let first = try await cloud.registry.sealingKeys { [1, 2, 3] }
        let again = try await cloud.registry.sealingKeys { [4, 5, 6] }
        #expect(first.map(\.key) == [[1, 2, 3]] && again.map(\.key) == [[1, 2, 3]] && again.map(\.id) == first.map(\.id))
    }
}
