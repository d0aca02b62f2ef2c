import Foundation
import NacreLocks
import Testing

@testable import CloudKit

/// A device with the note app and an engine: several in one process are several devices, or users.
final class SyncDevice: Sendable {
    let container: CKContainer
    let transport = SyncTransport()
    let clock: SyncClock
    let scope: CKDatabase.Scope
    private let running: Locked<(app: NoteApp, engine: CKSyncEngine)>

    var app: NoteApp { running.withLock(\.app) }
    var engine: CKSyncEngine { running.withLock(\.engine) }
    var database: CKDatabase { container.database(with: scope) }

    /// Makes a device.
    /// - Parameter token: An account token; nil: the one that `CloudKitServer.configure` sets for the cloud's
    ///   container.
    /// - Parameter keyStore: The device's folder of keys; nil: in memory.
    init(
        _ cloud: NewCloud, token: String?, scope: CKDatabase.Scope = .private, app: NoteApp = NoteApp(), automatically: Bool = false,
        clock: SyncClock = SyncClock(jumps: true), keyStore: KeyStore? = nil
    ) throws {
        let server = CloudKitServer(
            url: try WebServicesClient.url(cloud.server.url), environment: .development, apiToken: cloud.apiToken, accountToken: token)
        let line = ServerLine(
            identifier: cloud.container, source: token == nil ? .ambient : .explicit(server), transport: transport, timekeeper: clock.timekeeper,
            keyStore: keyStore, log: { _ in })
        container = CKContainer(line: line)
        self.clock = clock
        self.scope = scope
        running = Locked((app, Self.engine(app, container.database(with: scope), automatically)))
    }

    static func engine(_ app: NoteApp, _ database: CKDatabase, _ automatically: Bool = false) -> CKSyncEngine {
        let kept = app.disk.state.flatMap { try? JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: $0) }
        var configuration = CKSyncEngine.Configuration(database: database, stateSerialization: kept, delegate: app)
        configuration.automaticallySync = automatically
        return CKSyncEngine(configuration)
    }

    /// Kills the app, and starts it again with the contents of its disk.
    func restart(diesAfter events: Int? = nil, automatically: Bool = false) {
        let app = NoteApp(zoneID: app.zoneID, disk: app.disk, diesAfter: events, knowsColours: app.knowsColours, seals: app.seals)
        let engine = Self.engine(app, database, automatically)
        running.withLock { $0 = (app, engine) }
    }

    /// Returns when the engine has handled earlier changes, and the app has stored them, or has died.
    func told() async {
        await withCheckedContinuation { continuation in engine.activity.queue.add { continuation.resume() } }
        app.keepNotes()
    }

    func write(_ name: String, _ word: String) { app.write(name, word, engine) }
    func delete(_ name: String) { app.delete(name, engine) }

    /// Sends changes.
    /// - Returns: The code of its failure.
    @discardableResult
    func send(_ scope: CKSyncEngine.SendChangesOptions.Scope = .all) async -> CKError.Code? {
        do {
            try await engine.sendChanges(.init(scope: scope))
            return nil
        } catch {
            return (error as? CKError)?.code
        }
    }

    /// Fetches changes.
    /// - Returns: The code of its failure.
    @discardableResult
    func fetch(_ scope: CKSyncEngine.FetchChangesOptions.Scope = .all) async -> CKError.Code? {
        do {
            try await engine.fetchChanges(.init(scope: scope))
            return nil
        } catch {
            return (error as? CKError)?.code
        }
    }

    /// served[recordName]: the texts of all notes of a zone that the server has.
    func served(_ zoneID: CKRecordZone.ID? = nil) async throws -> [String: Set<String>] {
        var words: [String: Set<String>] = [:]
        var token: CKServerChangeToken?
        while true {
            let page = try await database.recordZoneChanges(inZoneWith: zoneID ?? app.zoneID, since: token)
            for (recordID, result) in page.modificationResultsByID {
                words[recordID.recordName] = Set(try result.get().record["words"] as? [String] ?? [])
            }
            token = page.changeToken
            if !page.moreComing { return words }
        }
    }

    /// Runs a server with Ada on it.
    static func cloud(_ body: (_ cloud: NewCloud) async throws -> Void) async throws {
        try await RunningServer.with { server in
            let cloud = try await NewCloud(server)
            try await cloud.addUser(Device.ada)
            try await body(cloud)
        }
    }

    /// Runs a server on which Ada has two unused devices.
    static func pair(_ body: (_ a: SyncDevice, _ b: SyncDevice, _ cloud: NewCloud) async throws -> Void) async throws {
        try await cloud { cloud in
            let a = try SyncDevice(cloud, token: try await cloud.device(of: Device.ada))
            let b = try SyncDevice(cloud, token: try await cloud.device(of: Device.ada))
            try await body(a, b, cloud)
        }
    }
}
