import Foundation
import NacreLocks
import Testing

@testable import CloudKit

/// Tests of `docs/sync-engine.md` that both engines run from one table, `Tests/sync-engine-order.json`: this one, and
/// that of CloudKit JS (`sync-order.test.mjs`).
struct SyncEngineTableTests {
    @Test(arguments: Scene.all)
    func `the engine keeps each promise of the table`(scene: Scene) async throws {
        try await SyncDevice.pair { a, b, _ in
            for (index, step) in scene.steps.enumerated() {
                try await step.run(on: step.device == "a" ? a : b, "step \(index + 1) of '\(scene)'")
            }
        }
    }

    @Test func `the table has scenes`() {
        #expect(Scene.all.count > 30)
    }
}

/// A row of the table, with the values of one of its variants.
struct Scene: Decodable, Sendable, CustomStringConvertible {
    let name: String
    let promises: [Int]
    let steps: [SceneStep]

    var description: String { "\(name) (\(promises.map { "\($0)" }.joined(separator: ", ")))" }

    private struct Variants: Decodable {
        var with: [[String: String]]?
    }

    static let all: [Scene] = (try? read()) ?? []

    private static func read() throws -> [Scene] {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let file = tests.appendingPathComponent("sync-engine-order.json")
        let rows = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [[String: Any]] ?? []
        return try rows.flatMap { row in
            let data = try JSONSerialization.data(withJSONObject: row)
            return try (JSONDecoder().decode(Variants.self, from: data).with ?? [[:]]).map { variant in
                let text = variant.reduce(String(decoding: data, as: UTF8.self)) { $0.replacingOccurrences(of: "$\($1.key)", with: $1.value) }
                return try JSONDecoder().decode(Scene.self, from: Data(text.utf8))
            }
        }
    }
}

struct SceneStep: Decodable, Sendable {
    struct Scope: Decodable, Sendable {
        var zones: [String]?
        var excluding: [String]?
        var records: [String]?
    }

    struct Fault: Decodable, Sendable {
        let kind: String
        var names: [String]?
        var without: String?
        var code: String?
        var word: String?
        var status: Int?
        var retryAfter: Int?
    }

    /// A step or fault of the table that these tests do not know.
    struct Unknown: Error {
        let name: String
    }

    let device: String
    let `do`: String
    var name: String?
    var word: String?
    var zone: String?
    var scope: Scope?
    var gives: String?
    var path: String?
    var fault: Fault?
    var lines: [String]?
    var words: [String: Set<String>]?
    var count: Int?
    var atomic: Bool?
    var mends: Bool?
    var readds: Bool?
    var heedsScope: Bool?
    var batchItems: Int?

    func run(on device: SyncDevice, _ place: String) async throws {
        let (app, engine) = (device.app, device.engine)
        switch `do` {
        case "write": app.write(try #require(name), try #require(word), engine, in: zone.map { CKRecordZone.ID(zoneName: $0) })
        case "delete": device.delete(try #require(name))
        case "send": #expect(await device.send(sendScope(app)).map { "\($0)" } ?? "ok" == gives, "\(place)")
        case "fetch": #expect(await device.fetch(fetchScope).map { "\($0)" } ?? "ok" == gives, "\(place)")
        case "log":
            #expect(app.log == lines, "\(place)")
            app.clearLog()
        case "events":
            #expect(app.events == lines, "\(place)")
            app.clearLog()
        case "lastEvents": #expect(Array(app.events.suffix(lines?.count ?? 0)) == lines, "\(place)")
        case "clear": app.clearLog()
        case "words": #expect(app.words == words, "\(place)")
        case "served":
            let served = try await device.served()
            #expect(served == words, "\(place)")
        case "pending": #expect(engine.state.pendingRecordZoneChanges.map(Self.line) == lines, "\(place)")
        case "pendingZones": #expect(engine.state.pendingDatabaseChanges.map { ($0.isSave ? "+" : "-") + $0.itemID.zoneName } == lines, "\(place)")
        case "unfetched": #expect(engine.state.zoneIDsWithUnfetchedServerChanges.map(\.zoneName) == lines, "\(place)")
        case "fail": device.transport.failNext(try #require(path), try made(try #require(fault)))
        case "app": set(app)
        case "restart": device.restart()
        case "told": await device.told()
        case "requests": #expect(device.transport.count(try #require(path)) == count, "\(place)")
        default: try await changeZone(CKRecordZone.ID(zoneName: try #require(zone)), device)
        }
    }

    private func changeZone(_ zoneID: CKRecordZone.ID, _ device: SyncDevice) async throws {
        let state = device.engine.state
        switch `do` {
        case "addZone": state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
        case "deleteZone": state.add(pendingDatabaseChanges: [.deleteZone(zoneID)])
        case "removeZoneChange": state.remove(pendingDatabaseChanges: [.deleteZone(zoneID)])
        case "makeZoneOnServer": try await device.database.save(CKRecordZone(zoneID: zoneID))
        case "dropZoneOnServer": try await device.database.deleteRecordZone(withID: zoneID)
        default: throw Unknown(name: `do`)
        }
    }

    private static func line(_ change: CKSyncEngine.PendingRecordZoneChange) -> String {
        switch change {
        case .saveRecord(let recordID): "+" + recordID.recordName
        case .deleteRecord(let recordID): "-" + recordID.recordName
        }
    }

    private func sendScope(_ app: NoteApp) -> CKSyncEngine.SendChangesOptions.Scope {
        if let records = scope?.records { return .recordIDs(records.map { app.recordID($0) }) }
        if let zones = scope?.zones { return .zoneIDs(zones.map { CKRecordZone.ID(zoneName: $0) }) }
        if let zones = scope?.excluding { return .allExcluding(zones.map { CKRecordZone.ID(zoneName: $0) }) }
        return .all
    }

    private var fetchScope: CKSyncEngine.FetchChangesOptions.Scope {
        if let zones = scope?.zones { return .zoneIDs(zones.map { CKRecordZone.ID(zoneName: $0) }) }
        if let zones = scope?.excluding { return .allExcluding(zones.map { CKRecordZone.ID(zoneName: $0) }) }
        return .all
    }

    private func set(_ app: NoteApp) {
        if let atomic { app.isAtomic.withLock { $0 = atomic } }
        if let mends { app.mends.withLock { $0 = mends } }
        if heedsScope != nil || batchItems != nil {
            let (heedsScope, batchItems) = (heedsScope ?? true, batchItems ?? .max)
            app.batch.withLock {
                $0 = { [app] context, engine in
                    let pending = engine.state.pendingRecordZoneChanges.filter { !heedsScope || context.options.scope.contains($0) }
                    return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: Array(pending.prefix(batchItems))) { app.record($0) }
                }
            }
        }
        if readds ?? false {
            app.hook.withLock {
                $0 = { event, engine in
                    guard case .sentRecordZoneChanges(let sent) = event else { return }
                    engine.state.add(pendingRecordZoneChanges: sent.failedRecordSaves.map { .saveRecord($0.record.recordID) })
                }
            }
        }
    }

    private func made(_ fault: Fault) throws -> SyncTransport.Fault {
        if fault.kind == "notSent" { return .notSent }
        let code = try #require((1..<100).lazy.compactMap(CKError.Code.init(rawValue:)).first { "\($0)" == fault.code })
        switch fault.kind {
        case "whole":
            return SyncTransport.refusal(code, try #require(fault.word), status: fault.status ?? 400, retryAfter: fault.retryAfter)
        case "items": return SyncTransport.itemRefusal(try #require(fault.names), code, try #require(fault.word), retryAfter: fault.retryAfter)
        case "page": return SyncTransport.page(without: try #require(fault.without), code)
        default: throw Unknown(name: fault.kind)
        }
    }
}
