import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of an account's sessions and devices: found, bounded and ended, over every engine.
@Suite struct SignInTests {
    private static let notes = "iCloud.com.example.notes"
    private static let games = "iCloud.com.example.games"

    /// An account that may sign in to two containers.
    private struct Scene {
        let test: TestCloud
        let ada: AccountEntry
        private var tokens: [String: (token: String, entry: APITokenEntry)] = [:]

        var registry: Registry { test.cloud.registry }

        init(_ engine: Engine) async throws {
            test = try await TestCloud(engine)
            let registry = test.cloud.registry
            ada = try await registry.createAccount(email: "ada@example.com", passwordHash: "h")
            for container in [notes, games] {
                _ = try await registry.createContainer(container)
                let token = try await registry.createAPIToken(container: container, environment: .development, name: "")
                tokens[container] = (token, try #require(try await registry.apiToken(token)))
            }
        }

        func apiToken(_ container: String) throws -> String { try #require(tokens[container]).token }

        func session(_ container: String = notes, of account: AccountEntry? = nil) async throws -> String {
            let (token, entry) = try #require(tokens[container])
            test.clock.move(bySeconds: 1)
            return try await registry.startSession(of: account ?? ada, as: "_ada", apiToken: token, entry: entry, isKept: false).id
        }

        func device(_ container: String = notes, _ environment: DatabaseKey.Environment = .development) async throws -> String {
            try await registry.createAccountToken(for: ada, containers: [container], environment: environment, device: "Mac").id
        }

        /// Returns all sessions and devices, in pages.
        func all(in place: SignIn.Audience? = nil) async throws -> [String] {
            var found: [String] = []
            var next: SignIn.Position?
            repeat {
                let page = try await registry.signIns(of: ada.id, in: place, after: next)
                found += page.page.map(\.id)
                next = page.next
            } while next != nil
            return found
        }
    }

    private static func place(_ containers: Set<String>, _ environment: String = "development") -> SignIn.Audience {
        SignIn.Audience(containers: containers, environment: environment)
    }

    @Test func `who is signed in hears of what allows no more than that`() {
        let both = Self.place([Self.notes, Self.games])
        let table: [(SignIn.Audience, SignIn.Audience, Bool)] = [
            (Self.place([Self.notes]), Self.place([Self.notes]), true),
            (Self.place([Self.notes]), Self.place([Self.games]), false),
            (Self.place([Self.notes]), Self.place([Self.notes], "production"), false),
            (Self.place([Self.notes]), both, false),
            (both, Self.place([Self.games]), true),
            (both, both, true),
        ]
        for (own, other, covers) in table { #expect(own.covers(other) == covers, "\(own) \(other)") }
    }

    @Test func `a web auth token is asked for by users, in the private database`() {
        let callers = [Caller(.world), Caller(.user("_ada"), account: "ada"), Caller(.serverKey("_key"))]
        let table: [(DatabaseKey.Scope, [ServerErrorCode?])] = [
            (.private, [.authenticationRequired, nil, .authenticationFailed]), (.public, [.authenticationRequired, .badRequest, .badRequest]),
            (.shared, [.authenticationRequired, .badRequest, .authenticationFailed]),
        ]
        for (scope, codes) in table {
            let target = DatabaseTarget(container: Self.notes, environment: .development, scope: scope)
            for (caller, code) in zip(callers, codes) {
                #expect(webAuthTokenVerdict(target, by: caller)?.code == code, "\(scope) \(caller.identity)")
            }
        }
    }

    @Test(arguments: Engine.ofRules) func `a device has one session under an API token, and takes its sessions along, whichever way it ends`(
        engine: Engine
    ) async throws {
        for way in 0..<4 {
            let scene = try await Scene(engine)
            let registry = scene.registry
            let (device, other) = (try await scene.device(), try await scene.device())
            let entry = try #require(try await registry.apiToken(try scene.apiToken(Self.notes)))
            func session(of device: String) async throws -> SessionEntry {
                try await registry.session(
                    ofDevice: device, of: scene.ada.id, as: "_ada", apiToken: try scene.apiToken(Self.notes), entry: entry)
            }
            let first = try await session(of: device)
            scene.test.clock.move(bySeconds: 60)
            let again = try await session(of: device)
            #expect(again.id == first.id && again.prolonged == scene.test.cloud.clock().secondsSince2001 && !first.isKept)
            let (others, own) = (try await session(of: other), try await scene.session())
            #expect(Set([first.id, others.id, own]).count == 3)
            switch way {
            case 0: try await registry.revokeAccountToken(device, of: scene.ada.id)
            case 1: _ = try await registry.endSignIn(device, of: scene.ada.id, in: nil)
            case 2: #expect(try await registry.endSignIns(of: scene.ada.id, in: nil, except: own) == 4)
            default: try await registry.endSession(first.id, of: scene.ada.id)
            }
            let left = Set(try await scene.all())
            #expect(left == [[other, others.id, own], [other, others.id, own], [own], [device, other, others.id, own]][way], "\(way)")
            if way < 3 { await #expect(throws: ServerError.self) { try await session(of: device) } }
        }
    }

    @Test(arguments: Engine.ofRules) func `all of an account are listed in pages, those of its own containers to who has a token`(
        engine: Engine
    ) async throws {
        let scene = try await Scene(engine)
        let ids = [
            try await scene.session(), try await scene.session(Self.games), try await scene.device(), try await scene.device(Self.notes, .production),
        ]
        #expect(Set(try await scene.all()) == Set(ids))
        #expect(try await scene.all(in: Self.place([Self.notes])) == [ids[0], ids[2]])
        let devices = try await scene.registry.signIns(of: scene.ada.id, in: nil, after: .init(kind: .account, id: nil)).page
        #expect(devices.allSatisfy { $0.device == "Mac" && $0.kind == .account && $0.created == scene.test.cloud.clock() })
        #expect(try await scene.registry.signIns(of: "bob", in: nil, after: nil).page.isEmpty)
        _ = try await scene.registry.revokeAppCredential(try scene.apiToken(Self.games))
        #expect(!(try await scene.all().contains(ids[1])), "a session ends with its API token")
        scene.test.clock.move(bySeconds: Limits.keptSessionSeconds + Limits.sessionProlongSeconds)
        #expect(Set(try await scene.all()) == Set(ids[2...]))
    }

    @Test(arguments: Engine.ofRules) func `of too many sessions the oldest end, and one device too many is refused`(engine: Engine) async throws {
        let scene = try await Scene(engine)
        var sessions: [String] = []
        for _ in 0..<Limits.sessionsPerAccount + 2 { sessions.append(try await scene.session()) }
        #expect(Set(try await scene.all()) == Set(sessions.dropFirst(2)))
        var devices: [String] = []
        for _ in 0..<Limits.devicesPerAccount { devices.append(try await scene.device()) }
        await #expect(throws: ServerError.tooManyDevices) { try await scene.device() }
        #expect(try await scene.all().count == Limits.sessionsPerAccount + Limits.devicesPerAccount)
        _ = try await scene.registry.endSignIn(devices[3], of: scene.ada.id, in: nil)
        _ = try await scene.device()
    }

    @Test(arguments: Engine.ofRules) func `one is ended by its account alone, and by a token alone that allows as much`(engine: Engine) async throws {
        let scene = try await Scene(engine)
        let (session, device) = (try await scene.session(), try await scene.device(Self.games))
        for id in [session, device, "none", ""] {
            await #expect(throws: ServerError.noSuchSignIn) { try await scene.registry.endSignIn(id, of: "bob", in: nil) }
        }
        await #expect(throws: ServerError.noSuchSignIn) {
            try await scene.registry.endSignIn(device, of: scene.ada.id, in: Self.place([Self.notes]))
        }
        #expect(Set(try await scene.all()) == [session, device])
        #expect(try await scene.registry.endSignIn(session, of: scene.ada.id, in: Self.place([Self.notes])).kind == .web)
        #expect(try await scene.registry.endSignIn(device, of: scene.ada.id, in: nil).kind == .account)
        #expect(try await scene.all().isEmpty)
        await #expect(throws: ServerError.noSuchSignIn) { try await scene.registry.endSignIn(device, of: scene.ada.id, in: nil) }
    }

    @Test(arguments: Engine.ofRules) func `all others are ended at once, and of a token's containers alone where a token asks`(
        engine: Engine
    ) async throws {
        let scene = try await Scene(engine)
        let own = try await scene.session()
        let elsewhere = try await scene.session(Self.games)
        let others = [try await scene.session(), try await scene.device()]
        #expect(try await scene.registry.endSignIns(of: scene.ada.id, in: Self.place([Self.notes]), except: own) == others.count)
        #expect(Set(try await scene.all()) == [own, elsewhere])
        #expect(try await scene.registry.endSignIns(of: scene.ada.id, in: nil) == 2)
        #expect(try await scene.registry.endSignIns(of: scene.ada.id, in: nil) == 0)
        #expect(try await scene.all().isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `a sign-in whose password was changed under way begins nothing`(engine: Engine) async throws {
        let scene = try await Scene(engine)
        var before = scene.ada
        before.passwordHash = "older"
        await #expect(throws: ServerError.accountChanged) { try await scene.session(of: before) }
        await #expect(throws: ServerError.accountChanged) {
            try await scene.registry.createAccountToken(for: before, containers: [Self.notes], environment: .development, device: "")
        }
        #expect(try await scene.all().isEmpty)
    }
}
