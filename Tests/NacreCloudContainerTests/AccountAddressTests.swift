import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of changes of an account's address, over every engine: after any interruption the account has one address,
/// and others can take the rest.
@Suite struct AccountAddressTests {
    private static let old = "ada@example.com"
    private static let new = "lovelace@example.com"

    private struct Scene {
        let store: FailingStore
        let test: TestCloud
        let ada: AccountEntry

        var registry: Registry { test.cloud.registry }

        init(_ engine: Engine) async throws {
            store = FailingStore(try await engine.makeStore(), failingAtCall: nil)
            test = TestCloud(store)
            ada = try await test.cloud.registry.createAccount(email: old, passwordHash: "h")
        }

        /// Returns the addresses by which the account is found.
        func addresses(_ all: [String] = [old, new]) async throws -> [String] {
            var found: [String] = []
            for address in all where try await registry.account(email: address)?.id == ada.id { found.append(address) }
            return found
        }

        func isFree(_ address: String) async throws -> Bool {
            (try? await registry.createAccount(email: address, passwordHash: "other")) != nil
        }

        func settle() async throws {
            test.clock.move(bySeconds: Limits.emailChangeSeconds)
            try await test.runAllTasks()
        }
    }

    @Test(arguments: Engine.ofRules) func `an account has its new address at once, and others may have the old one`(engine: Engine) async throws {
        let scene = try await Scene(engine)
        let changed = try await scene.registry.changeEmail(of: scene.ada, to: "Lovelace@Example.com")
        #expect(changed.email == Self.new && changed.id == scene.ada.id && changed.leaving?.isEmpty == false)
        #expect(try await scene.addresses() == [Self.new])
        #expect(try await scene.isFree(Self.old))
        #expect(!(try await scene.isFree(Self.new)))
        try await scene.settle()
        #expect(try await scene.addresses() == [Self.new])
        let same = try #require(try await scene.registry.account(email: Self.new))
        #expect(same.leaving == nil)
        #expect(try await scene.registry.changeEmail(of: same, to: Self.new) == same)
        await #expect(throws: ServerError.emailTaken) { try await scene.registry.changeEmail(of: same, to: Self.old) }
        try await scene.settle()
        #expect(try await scene.addresses() == [Self.new])
        #expect(try await scene.registry.account(email: Self.old)?.passwordHash == "other")
    }

    @Test(arguments: Engine.ofRules) func `an address comes back to the account that left it`(engine: Engine) async throws {
        let scene = try await Scene(engine)
        let changed = try await scene.registry.changeEmail(of: scene.ada, to: Self.new)
        _ = try await scene.registry.changeEmail(of: changed, to: Self.old)
        #expect(try await scene.addresses() == [Self.old])
        try await scene.settle()
        #expect(try await scene.addresses() == [Self.old])
        #expect(try await scene.isFree(Self.new))
    }

    @Test(arguments: Engine.ofRules) func `what is no address, and a password of before, change nothing`(engine: Engine) async throws {
        let scene = try await Scene(engine)
        await #expect(throws: ServerError.self) { try await scene.registry.changeEmail(of: scene.ada, to: "lovelace") }
        var before = scene.ada
        before.passwordHash = "older"
        await #expect(throws: ServerError.accountChanged) { try await scene.registry.changeEmail(of: before, to: Self.new) }
        #expect(try await scene.addresses() == [Self.old])
        #expect(try await scene.isFree(Self.new))
    }

    @Test(arguments: Engine.ofRules, 1...24) func `a change that is cut short leaves one address, and the other is free after a minute`(
        engine: Engine, call: Int
    ) async throws {
        let scene = try await Scene(engine)
        scene.store.fail(atCall: call)
        let changed = try? await scene.registry.changeEmail(of: scene.ada, to: Self.new)
        scene.store.fail(atCall: nil)
        let now = try await scene.addresses()
        #expect(now.count == 1)
        if changed != nil { #expect(now == [Self.new]) }
        try await scene.settle()
        #expect(try await scene.addresses() == now)
        let other = now == [Self.new] ? Self.old : Self.new
        #expect(try await scene.isFree(other))
        #expect(try await scene.registry.account(email: now[0])?.leaving == nil)
    }

    @Test(arguments: Engine.ofRules) func `a change that is overtaken by its task gives up, and can be made again`(engine: Engine) async throws {
        let scene = try await Scene(engine)
        // The state after a process died that had claimed the address.
        scene.store.fail(atCall: nil)
        _ = try await scene.registry.changeEmail(of: scene.ada, to: Self.new)
        let changed = try #require(try await scene.registry.account(email: Self.new))
        async let first = try? scene.registry.changeEmail(of: changed, to: "first@example.com")
        async let second = try? scene.registry.changeEmail(of: changed, to: "second@example.com")
        let made = await [first, second].compactMap { $0?.email }
        try await scene.settle()
        let all = [Self.old, Self.new, "first@example.com", "second@example.com"]
        let addresses = try await scene.addresses(all)
        #expect(addresses.count == 1 && (made.isEmpty || addresses.allSatisfy(made.contains)), "\(made) \(addresses)")
        for address in all where !addresses.contains(address) { #expect(try await scene.isFree(address), "\(address)") }
    }

    @Test(arguments: Engine.ofRules) func `of two accounts that want one address, one gets it`(engine: Engine) async throws {
        let scene = try await Scene(engine)
        let bob = try await scene.registry.createAccount(email: "bob@example.com", passwordHash: "h")
        async let first = try? scene.registry.changeEmail(of: scene.ada, to: Self.new)
        async let second = try? scene.registry.changeEmail(of: bob, to: Self.new)
        let winners = await [first, second].compactMap { $0?.id }
        #expect(winners.count == 1)
        try await scene.settle()
        #expect(try await scene.registry.account(email: Self.new)?.id == winners.first)
        let loser = winners == [bob.id] ? scene.ada : bob
        #expect(try await scene.registry.account(email: loser.email)?.id == loser.id)
    }
}
