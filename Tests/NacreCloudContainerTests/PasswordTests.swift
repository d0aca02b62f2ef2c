import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of new passwords in the registry, over every engine.
@Suite struct PasswordTests {
    private static let container = "iCloud.com.example.notes"

    private struct Scene {
        let store: FailingStore
        let test: TestCloud
        let ada: AccountEntry
        let session: String
        let device: String

        var registry: Registry { test.cloud.registry }

        init(_ engine: Engine) async throws {
            store = FailingStore(try await engine.makeStore(), failingAtCall: nil)
            test = TestCloud(store)
            let registry = test.cloud.registry
            ada = try await registry.createAccount(email: "ada@example.com", passwordHash: "old")
            _ = try await registry.createContainer(container)
            let token = try await registry.createAPIToken(container: container, environment: .development, name: "")
            let entry = try #require(try await registry.apiToken(token))
            session = try await registry.startSession(of: ada, as: "_ada", apiToken: token, entry: entry, isKept: true).id
            device = try await registry.createAccountToken(for: ada, containers: [container], environment: .development, device: "").id
        }

        var hash: String? { get async throws { try await registry.account(email: "ada@example.com")?.passwordHash } }

        var signIns: Set<String> { get async throws { Set(try await registry.signIns(of: ada.id, in: nil, after: nil).page.map(\.id)) } }
    }

    @Test(arguments: Engine.ofRules) func `a new password ends what it is told to end`(engine: Engine) async throws {
        let scene = try await Scene(engine)
        #expect(try await scene.registry.changePassword(of: scene.ada, to: "second", keepsDevices: true) == 1)
        #expect(try await scene.signIns == [scene.device])
        let second = try #require(try await scene.registry.account(email: "ada@example.com"))
        #expect(second.passwordHash == "second")
        #expect(try await scene.registry.changePassword(of: second, to: "third", except: scene.device) == 0)
        await #expect(throws: ServerError.accountChanged) { try await scene.registry.changePassword(of: second, to: "fourth") }
        #expect(try await scene.signIns == [scene.device])
        let third = try #require(try await scene.registry.account(email: "ada@example.com"))
        #expect(try await scene.registry.changePassword(of: third, to: "fourth") == 1)
        #expect(try await scene.signIns.isEmpty)
        #expect(try await scene.hash == "fourth")
    }

    @Test(arguments: Engine.ofRules, 1...6) func `a new password and the end of the sessions come together or not at all`(
        engine: Engine, call: Int
    ) async throws {
        let scene = try await Scene(engine)
        _ = try await scene.registry.openReset(of: scene.ada.id, digest: "d")
        scene.store.fail(atCall: call)
        let count = try? await scene.registry.resetPassword(of: scene.ada.id, digest: "d", to: "new")
        scene.store.fail(atCall: nil)
        if count == nil {
            #expect(try await scene.hash == "old")
            #expect(try await scene.signIns == [scene.session, scene.device])
            #expect(try await scene.registry.resetPassword(of: scene.ada.id, digest: "d", to: "new") == 2, "the code is as good as before")
        }
        #expect(try await scene.hash == "new")
        #expect(try await scene.signIns.isEmpty)
        #expect(try await scene.registry.resetPassword(of: scene.ada.id, digest: "d", to: "thief") == nil)
        #expect(try await scene.hash == "new")
    }

    @Test func `a code opens with its own digest until its time is over`() {
        let reset = PasswordReset(digest: "d", expires: 100)
        let table: [(String, Double, Bool)] = [("d", 0, true), ("d", 99.9, true), ("d", 100, false), ("e", 0, false), ("", 0, false)]
        for (digest, seconds, opens) in table {
            #expect(reset.isOpened(by: digest, at: Timestamp(secondsSince2001: seconds)) == opens, "\(digest) \(seconds)")
        }
    }

    @Test(arguments: Engine.ofRules) func `an account that is not there has no code`(engine: Engine) async throws {
        let scene = try await Scene(engine)
        await #expect(throws: ServerError.accountChanged) { try await scene.registry.openReset(of: "nobody", digest: "d") }
        #expect(try await scene.registry.resetPassword(of: "nobody", digest: "d", to: "h") == nil)
        #expect(try await scene.registry.resetPassword(of: scene.ada.id, digest: "", to: "h") == nil)
    }
}
