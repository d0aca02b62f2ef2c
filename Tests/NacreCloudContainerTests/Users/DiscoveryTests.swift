import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests of user discovery with permission, over every engine.
@Suite struct DiscoveryTests {
    private static let container = TestCloud.container
    private static let target = DatabaseTarget(container: container, environment: .development, scope: .public)
    private static let emails = ["ann": "ann@example.com", "bob": "bob@example.com", "eve": "eve@example.com"]
    private static let firstNames = ["ann": "Ann", "bob": "Bob", "eve": "Eve"]

    /// A scene in which Ann asks. Bob has allowed discovery; Eve was never asked.
    private struct Scene {
        let counting: CountingStore
        let failing: FailingStore
        let test: TestCloud
        private(set) var accounts: [String: AccountEntry] = [:]
        private(set) var names: [String: String] = [:]

        var cloud: Cloud { test.cloud }
        var registry: Registry { test.cloud.registry }

        init(_ engine: Engine) async throws {
            failing = FailingStore(try await engine.makeStore(), failingAtCall: nil)
            counting = CountingStore(failing)
            test = TestCloud(counting)
            _ = try await test.cloud.registry.createContainer(container)
            for (user, email) in emails.sorted(by: { $0.key < $1.key }) {
                let account = try await test.cloud.registry.createAccount(
                    email: email, passwordHash: "h", names: NameComponents(givenName: firstNames[user], familyName: "Example"), isVouched: true)
                accounts[user] = account
                names[user] = try await test.cloud.admit(account: account.id, to: container, .development)
            }
            #expect(try await answer(.granted, "bob") == .granted)
        }

        func caller(_ user: String = "ann", client: Caller.Client = .framework) throws -> Caller {
            Caller(.user(try #require(names[user])), client: client, account: try #require(accounts[user]).id)
        }

        /// Answers the permission, as an app with the user's token.
        @discardableResult
        func answer(_ answer: Discoverability, _ user: String) async throws -> Discoverability {
            try await cloud.answerDiscoverability(answer, in: target, by: caller(user))
        }

        func discover(_ infos: UserLookupInfo...) async throws -> [UserIdentity] {
            try await cloud.discoverUsers(infos, field: "lookupInfos", in: target, by: caller()).users
        }

        func hash(_ email: String) async throws -> UserLookupInfo {
            let key = try await cloud.contactKey(in: target, by: caller()).contactKey
            return .contactHash(HashedAddress.text(of: PlainTokens().code(for: HashedAddress.message(emailAddress: email), key: key)))
        }

        /// Returns the names found for an address; empty where it is not found.
        func found(_ email: String) async throws -> [String?] {
            try await discover(.emailAddress(email)).map(\.nameComponents?.givenName)
        }

        func settle() async throws {
            test.clock.move(bySeconds: Limits.emailChangeSeconds)
            try await test.runAllTasks()
        }
    }

    private func identity(_ scene: Scene, _ user: String, _ info: UserLookupInfo) throws -> UserIdentity {
        UserIdentity(
            userRecordName: try #require(scene.names[user]), nameComponents: NameComponents(givenName: Self.firstNames[user], familyName: "Example"),
            lookupInfo: info)
    }

    @Test(arguments: Engine.ofRules) func `who has allowed it is found by address, hash and name, in the order asked`(engine: Engine) async throws {
        let scene = try await Scene(engine)
        let (bob, hash) = (UserLookupInfo.userRecordName(try #require(scene.names["bob"])), try await scene.hash("BOB@example.com"))
        let found = try await scene.discover(
            bob, .emailAddress("eve@example.com"), hash, .phoneNumber("+44 1"), .emailAddress("Bob@Example.com"), .emailAddress("none"),
            .userRecordName("_none"), .userRecordName("a\u{0}b"), .userRecordName(""))
        #expect(
            found == [
                try identity(scene, "bob", bob), try identity(scene, "bob", hash), try identity(scene, "bob", .emailAddress("Bob@Example.com")),
            ])
        // The caller is no exception.
        #expect(try await scene.found("ann@example.com") == [])
        #expect(try scene.cloud.discoverContacts(in: Self.target, by: scene.caller()).users.isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `elsewhere nobody has allowed anything`(engine: Engine) async throws {
        let scene = try await Scene(engine)
        var other = Self.target
        other.environment = .production
        let bob = UserLookupInfo.userRecordName(try #require(scene.names["bob"]))
        let (infos, hash) = ([bob, .emailAddress("bob@example.com")], try await scene.hash("bob@example.com"))
        #expect(try await scene.cloud.discoverUsers(infos, field: "lookupInfos", in: other, by: scene.caller()).users.isEmpty)
        other = Self.target
        other.container = "iCloud.com.example.other"
        #expect(try await scene.cloud.discoverUsers(infos + [hash], field: "lookupInfos", in: other, by: scene.caller()).users.isEmpty)
        // A hash of one container is not valid in another.
        let key = try await scene.cloud.contactKey(in: Self.target, by: scene.caller())
        #expect(try await scene.cloud.contactKey(in: Self.target, by: scene.caller("eve")) == key)
        #expect(key.contactKey.count == 32)
        #expect(try await scene.cloud.contactKey(in: other, by: scene.caller()) != key)
        #expect(try await scene.cloud.discoverability(in: other, by: scene.caller("bob")) == .initialState)
        #expect(try await scene.cloud.discoverability(in: Self.target, by: scene.caller("bob")) == .granted)
    }

    @Test(arguments: Engine.ofRules) func `an app's answer is kept, for all devices, and the user takes it back`(engine: Engine) async throws {
        let scene = try await Scene(engine)
        let (bob, eve) = (try #require(scene.accounts["bob"]), try #require(scene.accounts["eve"]))
        #expect(try await scene.answer(.denied, "eve") == .denied)
        #expect(try await scene.answer(.granted, "eve") == .denied)
        #expect(try await scene.found("eve@example.com") == [])
        #expect(try await scene.cloud.answerDiscoverability(.granted, of: eve, in: Self.container, .development) == .granted)
        #expect(try await scene.found("eve@example.com") == ["Eve"])
        #expect(try await scene.cloud.answerDiscoverability(.denied, of: bob, in: Self.container, .development) == .denied)
        #expect(try await scene.found("bob@example.com") == [])
        #expect(try await scene.discover(.userRecordName(try #require(scene.names["bob"]))).isEmpty)
        #expect(try await scene.cloud.identity(of: try #require(scene.names["bob"]), in: Self.target).nameComponents == nil)
        #expect(try await scene.cloud.identity(of: try #require(scene.names["eve"]), in: Self.target).nameComponents?.givenName == "Eve")
        await #expect(throws: ServerError.unknownPlace) {
            try await scene.cloud.answerDiscoverability(.granted, of: eve, in: Self.container, .production)
        }
        await #expect(throws: ServerError.permissionNeedsAnswer) { try await scene.answer(.initialState, "eve") }
        await #expect(throws: ServerError.authenticationRequired) {
            try await scene.cloud.answerDiscoverability(.granted, in: Self.target, by: Caller(.world))
        }
    }

    /// The number of calls and transactions does not depend on the users.
    @Test(arguments: Engine.ofRules) func `an unknown address costs what one costs whose user has not allowed it`(engine: Engine) async throws {
        let scene = try await Scene(engine)
        try await scene.answer(.denied, "eve")
        try await scene.answer(.granted, "ann")
        try await scene.cloud.registry.deleteAccount(try #require(scene.accounts["ann"]))
        try await scene.cloud.concealIdentity(of: try #require(scene.accounts["ann"]).id)
        func calls(_ infos: UserLookupInfo..., isFound: Bool = false) async throws -> [CountingStore.Transaction] {
            _ = try await scene.cloud.databaseID(DatabaseKey(container: Self.container, environment: .development, scope: .public, owner: ""))
            scene.counting.reset()
            let found = try await scene.cloud.discoverUsers(infos, field: "lookupInfos", in: Self.target, by: scene.caller("eve"))
            #expect(found.users.isEmpty != isFound)
            return scene.counting.transactions
        }
        let unknown = try await calls(.emailAddress("nobody@example.com"))
        #expect(unknown == [CountingStore.Transaction(kind: .read, verbs: [.entries, .entries, .entries])])
        // A refusal, a deleted account, no address at all, and an unknown hash; for comparison, a user who is found.
        #expect(try await calls(.emailAddress("eve@example.com")) == unknown)
        #expect(try await calls(.emailAddress("ann@example.com")) == unknown)
        #expect(try await calls(.emailAddress("nobody")) == unknown)
        #expect(try await calls(.contactHash(String(repeating: "0", count: 64))) == unknown)
        #expect(try await calls(.phoneNumber("1")) == unknown)
        #expect(try await calls(.userRecordName("_nobody")) == unknown)
        #expect(try await calls(.userRecordName(try #require(scene.names["eve"]))) == unknown)
        #expect(try await calls(.emailAddress("bob@example.com"), isFound: true) == unknown)
    }

    @Test(arguments: Engine.ofRules) func `many at once are looked up in as many calls as one`(engine: Engine) async throws {
        let scene = try await Scene(engine)
        let infos = (0..<399).map { UserLookupInfo.emailAddress("nobody\($0)@example.com") } + [.emailAddress("bob@example.com")]
        scene.counting.reset()
        let meter = WorkMeter()
        let found = try await WorkMeter.$current.withValue(meter) {
            try await scene.cloud.discoverUsers(infos, field: "lookupInfos", in: Self.target, by: scene.caller()).users
        }
        #expect(found.count == 1 && scene.counting.transactions.flatMap(\.verbs).count == 3)
        #expect(meter.cost >= 400 * Limits.addressLookupCost)
    }

    @Test(arguments: Engine.ofRules) func `a user is found by the address of now, and with the names of now`(engine: Engine) async throws {
        let scene = try await Scene(engine)
        let bob = try #require(scene.accounts["bob"])
        let moved = try await scene.registry.changeEmail(of: bob, to: "Robert@example.com")
        try await scene.cloud.refreshIdentity(of: bob.id)
        #expect(try await scene.found("bob@example.com") == [])
        #expect(try await scene.found("robert@example.com") == [], "anybody can claim an address")
        #expect(try await scene.discover(scene.hash("robert@example.com")).isEmpty)
        #expect(try await scene.registry.verifyEmail("robert@example.com", of: bob.id))
        try await scene.cloud.refreshIdentity(of: bob.id)
        #expect(try await scene.found("robert@example.com") == ["Bob"])
        let renamed = try await scene.registry.changeNames(of: moved, to: NameComponents(givenName: "Robert", familyName: "  "))
        #expect(renamed.familyName == nil)
        try await scene.cloud.refreshIdentity(of: bob.id)
        let found = try await scene.discover(.emailAddress("robert@example.com"))
        #expect(found.map(\.nameComponents) == [NameComponents(givenName: "Robert")])
        _ = try await scene.registry.changeNames(of: renamed, to: NameComponents())
        try await scene.cloud.refreshIdentity(of: bob.id)
        #expect(try await scene.discover(.emailAddress("robert@example.com")).map(\.nameComponents) == [nil])
    }

    @Test(arguments: Engine.ofRules) func `who only claims an address is not found by it until it is verified`(engine: Engine) async throws {
        let scene = try await Scene(engine)
        let address = "boss@example.com"
        #expect(try await scene.registry.signUp(email: address, passwordHash: "h", names: NameComponents(givenName: "Boss")) == address)
        let boss = try #require(try await scene.registry.account(email: address))
        _ = try await scene.cloud.admit(account: boss.id, to: Self.container, .development)
        #expect(try await scene.cloud.answerDiscoverability(.granted, of: boss, in: Self.container, .development) == .granted)
        #expect(try await scene.found(address) == [])
        #expect(try await scene.registry.verifyEmail(address, of: boss.id))
        try await scene.settle()
        #expect(try await scene.found(address) == ["Boss"], "the task settles it, too")
        #expect(try await scene.registry.changeEmail(of: boss, to: address, isVouched: true).changesOfIdentity == 1, "once is enough")
    }

    @Test(arguments: Engine.ofRules) func `what a server had no time to take over a task takes over`(engine: Engine) async throws {
        let scene = try await Scene(engine)
        let bob = try #require(scene.accounts["bob"])
        let moved = try await scene.registry.changeEmail(of: bob, to: "robert@example.com")
        _ = try await scene.registry.changeNames(of: moved, to: NameComponents(givenName: "Robert"))
        #expect(try await scene.registry.verifyEmail("robert@example.com", of: bob.id))
        // The old address is free; from then on it finds its new holder.
        let names = NameComponents(givenName: "Next")
        let next = try await scene.registry.createAccount(email: "bob@example.com", passwordHash: "h", names: names, isVouched: true)
        _ = try await scene.cloud.admit(account: next.id, to: Self.container, .development)
        #expect(try await scene.cloud.answerDiscoverability(.granted, of: next, in: Self.container, .development) == .granted)
        #expect(try await scene.found("bob@example.com") == ["Next"])
        try await scene.settle()
        #expect(try await scene.found("robert@example.com") == ["Robert"])
        #expect(try await scene.found("bob@example.com") == ["Next"])
    }

    @Test(arguments: Engine.ofRules) func `an older state does not come over a newer one`(engine: Engine) async throws {
        let scene = try await Scene(engine)
        let bob = try #require(scene.accounts["bob"])
        let first = try await scene.registry.changeNames(of: bob, to: NameComponents(givenName: "First"))
        #expect(first.changesOfIdentity == 1)
        let second = try await scene.registry.changeNames(of: bob, to: NameComponents(givenName: "Second"))
        try await scene.cloud.refreshIdentity(of: bob.id)
        scene.counting.reset()
        try await scene.cloud.refreshIdentity(of: bob.id)
        #expect(scene.counting.transactions.allSatisfy { $0.kind == .read }, "what is taken over is not taken over again")
        #expect(second.changesOfIdentity == 2)
        // Another server, which had read the account between the two.
        let place = try #require(try await scene.registry.appUsers(of: bob.id).first)
        try await scene.cloud.takeOver(first, at: place)
        #expect(try await scene.found("bob@example.com") == ["Second"])
    }

    @Test(arguments: Engine.ofRules) func `a deleted account is found by nobody, and leaves nothing`(engine: Engine) async throws {
        let scene = try await Scene(engine)
        try await scene.answer(.denied, "eve")
        for user in ["bob", "eve"] { try await scene.registry.deleteAccount(try #require(scene.accounts[user])) }
        try await scene.cloud.concealIdentity(of: try #require(scene.accounts["bob"]).id)
        #expect(try await scene.found("bob@example.com") == [])
        await #expect(throws: ServerError.accountChanged) { try await scene.answer(.granted, "bob") }
        scene.test.clock.move(bySeconds: Limits.accountDeletionSeconds)
        try await scene.test.runAllTasks()
        let database = try await scene.registry.databaseID(Registry.Part.discovery(of: Self.target).key)
        for kind in [EntryKind.discoverability, .discoverable, .contact] {
            #expect(try await scene.test.store.read { try $0.entries(in: database, kind, after: nil, limit: 10) }.isEmpty, "\(kind)")
        }
        #expect(try await scene.test.check().isEmpty)
    }

    /// Whatever call fails, a user who has not allowed discovery is not found, and one who
    /// denied it is not found after the answer.
    @Test(arguments: Engine.ofRules) func `an answer that is cut short holds whole or not at all`(engine: Engine) async throws {
        for call in 1...40 {
            let scene = try await Scene(engine)
            scene.failing.fail(atCall: call)
            let said = try? await scene.answer(.denied, "bob")
            let allowed = try? await scene.answer(.granted, "eve")
            scene.failing.fail(atCall: nil)
            let (bob, eve) = (try await scene.found("bob@example.com"), try await scene.found("eve@example.com"))
            if said == .denied { #expect(bob == []) }
            if allowed == .granted { #expect(eve == ["Eve"]) }
            let status = try await scene.cloud.discoverability(in: Self.target, by: scene.caller("eve"))
            #expect((status == .granted) == (eve == ["Eve"]))
            if said != nil, allowed != nil, call > 10 { break }
        }
    }
}
