import Foundation
import NacreLocks
import Testing

@testable import CloudKit

/// Tests of `docs/sync-engine.md`, Accounts. The numbers are that page's.
@Suite(.serialized)
struct SyncEngineAccountTests {
    private static let ben = "ben@example.com"

    private static func set(_ state: String, of email: String, _ cloud: NewCloud) async throws {
        _ = try await NewCloud.admin(cloud.server, "users/state", ["email": email, "state": state])
    }

    /// Returns a container whose account is the last one set by `CloudKitServer.configure`.
    private func ambient(_ cloud: NewCloud, token: String?) throws -> CKContainer {
        let server = CloudKitServer(
            url: try WebServicesClient.url(cloud.server.url), environment: .development, apiToken: cloud.apiToken, accountToken: token)
        CloudKitServer.configure(server, forContainer: cloud.container)
        return CKContainer(identifier: cloud.container)
    }

    @Test func `signing in comes before anything else, and keeps what was added before (34)`() async throws {
        try await SyncDevice.pair { a, _, _ in
            a.write("one", "bread")
            a.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: a.app.zoneID))])
            await a.send()
            #expect(a.app.log.first == "signIn" && a.app.events.contains("sent +one"))
        }
    }

    @Test func `without a network the state is told, and signing in comes with the first answer (34)`() async throws {
        try await SyncDevice.pair { a, _, _ in
            a.transport.failNext("users/caller", .notSent)
            a.write("one", "bread")
            await a.app.heard("state")
            #expect(a.app.log == ["state"] && a.app.disk.state != nil)
            a.restart()
            #expect(a.engine.state.pendingRecordZoneChanges == [.saveRecord(a.app.recordID("one"))])
            #expect(await a.send() == nil)
            #expect(a.app.events == ["signIn", "willSend", "sentZones +Notes", "sent +one", "didSend"])
        }
    }

    @Test func `signing out and another user forget all that was one user's, and several changes are one (35, 36, 37)`() async throws {
        try await SyncDevice.cloud { cloud in
            try await cloud.addUser(Self.ben)
            let ada = try await cloud.device(of: Device.ada)
            defer { CloudKitServer.configure(nil, forContainer: cloud.container) }
            let container = try ambient(cloud, token: ada)
            let app = NoteApp()
            let engine = SyncDevice.engine(app, container.privateCloudDatabase)
            app.write("one", "bread", engine)
            try await engine.sendChanges()
            try await engine.fetchChanges()
            app.write("two", "wine", engine)
            app.clearLog()

            let pending = Locked<[CKSyncEngine.PendingRecordZoneChange]?>(nil)
            app.hook.withLock {
                $0 = { event, engine in
                    if case .accountChange = event { pending.withLock { $0 = engine.state.pendingRecordZoneChanges } }
                }
            }
            _ = try ambient(cloud, token: nil)
            let error = await #expect(throws: CKError.self) { try await engine.sendChanges() }
            #expect(error?.code == .notAuthenticated && pending.withLock { $0 } == [])
            #expect(app.events == ["signOut"] && app.words.isEmpty)
            #expect(engine.state.held.withLock { $0.databaseToken == nil && $0.zoneTokens.isEmpty && !$0.hasSubscription })
            let again = await #expect(throws: CKError.self) { try await engine.fetchChanges() }
            #expect(again?.code == .notAuthenticated)
            #expect(app.events == ["signOut"], "told once, and without a will")

            _ = try ambient(cloud, token: try await cloud.device(of: Self.ben))
            try await engine.fetchChanges()
            #expect(app.events.suffix(3) == ["signIn", "willFetch", "didFetch"] && app.words.isEmpty, "nothing of Ada's is Ben's")

            // While nothing runs, Ben goes, Ada comes and goes, and comes on another device: one change.
            let kept = app.disk
            for token in [nil, ada, nil, try await cloud.device(of: Device.ada)] { _ = try ambient(cloud, token: token) }
            let later = NoteApp(disk: kept)
            let next = SyncDevice.engine(later, container.privateCloudDatabase)
            try await next.fetchChanges()
            #expect(later.events.first == "switchAccounts" && later.events.count { $0 == "switchAccounts" } == 1)
            #expect(later.words == ["one": ["bread"]])
        }
    }

    @Test(arguments: ["restricted", "temporarilyUnavailable", "couldNotDetermine"])
    func `an account that cannot be used for now is no sign-out, and everything goes on when it can (36, 37)`(state: String) async throws {
        try await SyncDevice.pair { a, _, cloud in
            a.write("one", "bread")
            await a.send()
            a.write("two", "wine")
            await a.app.heard("state", 4)
            a.app.clearLog()
            try await Self.set(state, of: Device.ada, cloud)
            // The refusal in the middle of a send, and the immediate one.
            for _ in 0..<2 {
                let code = await a.send()
                #expect(code == .notAuthenticated || code == .accountTemporarilyUnavailable || code == .managedAccountRestricted)
            }
            #expect(!a.app.events.contains("signOut") && a.app.words.count == 2)
            #expect(a.engine.state.pendingRecordZoneChanges == [.saveRecord(a.app.recordID("two"))])
            try await Self.set("available", of: Device.ada, cloud)
            #expect(await a.send() == nil)
            #expect(a.app.events.suffix(2) == ["sent +two", "didSend"])
        }
    }

    @Test func `a token that the server refuses is a sign-out, told in the turn that met it (35, 36)`() async throws {
        try await SyncDevice.pair { a, _, cloud in
            a.write("one", "bread")
            await a.send()
            a.write("two", "wine")
            await a.app.heard("state", 4)
            a.app.clearLog()
            try await Self.set("noAccount", of: Device.ada, cloud)
            #expect(await a.send() == .notAuthenticated)
            #expect(a.app.events == ["willSend", "sent !two notAuthenticated", "didSend", "signOut"])
            #expect(a.engine.state.pendingRecordZoneChanges.isEmpty)
        }
    }
}
