import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests with random histories in which older copies are restored again and again: no device ever has a false copy.
@Suite struct PutBackHistoryTests {
    private static let zones = ["Y", "Z"]

    /// A device with its tokens and its copy.
    private struct Device {
        struct Version: Equatable {
            var tag: String
            var value: Int64
        }

        var database: String?
        var tokens: [String: String] = [:]
        var records: [String: [String: Version]] = [:]
        var told = 0
    }

    /// A server over a store, reopened at each start, and its devices.
    private struct History {
        let store: ReopenableStore
        var random: SeededRandom
        var user: TestCloudUser
        var run: Int64
        var devices = [Device](repeating: Device(), count: 4)
        var copies: [ReopenableStore.Copy] = []
        var value: Int64 = 0
        var putBacks = 0
        var savesOverTags = 0

        init(_ engine: Engine, seed: UInt64) async throws {
            random = SeededRandom(seed: seed)
            run = Run.number(after: Run.none, random: random.next())
            store = try await ReopenableStore(engine, run: run)
            user = TestCloud(store, seed: random.next()).user("_ann")
            try await user.makeZone("Y", "Z")
        }

        mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

        mutating func step() async throws {
            let device = number(0...devices.count - 1)
            let zone = PutBackHistoryTests.zones[number(0...1)]
            switch number(0...19) {
            case 0...7: try await save(zone)
            case 8...10: try await saveOverTag(device, zone)
            case 11...14: try await follow(device, zone, limit: number(1...4))
            case 15: try await follow(device, zone, limit: nil)
            case 16: try await followDatabase(device)
            case 17: try await remakeZone(zone)
            case 18: if let copy = try store.copy() { copies.append(copy) }
            default: try await restart()
            }
        }

        /// Restarts the server, half the time on an older copy.
        private mutating func restart() async throws {
            if !copies.isEmpty, number(0...1) == 0 {
                try await putBack(copies[number(0...copies.count - 1)])
            } else {
                run = Run.number(after: run, random: random.next())
                try await store.reopen(run: run)
            }
            user = TestCloud(store, seed: random.next()).user("_ann")
        }

        /// Restores a copy in a run that a store draws: after the newest one that the copy knows.
        private mutating func putBack(_ copy: ReopenableStore.Copy) async throws {
            putBacks += 1
            try await store.putBack(copy, run: .max)
            let key = DatabaseKey(container: TestCloud.container, environment: .development, scope: .private, owner: "_ann")
            let database = DatabaseID(key)
            let newest = try await store.read { transaction in
                let zones = try transaction.zoneFeed(in: database, after: .start, limit: 1000)
                return max(try transaction.databases([database]).first?.run ?? 0, zones.map(\.run).max() ?? 0)
            }
            run = Run.number(after: newest, random: random.next())
            try await store.putBack(copy, run: run)
        }

        private mutating func save(_ zone: String) async throws {
            value += 1
            let name = "r\(number(0...9))"
            let operation = number(0...4) == 0 ? RecordOperation.delete(name) : .update(name, ["v": .int64(value)])
            _ = try await user.modify([operation], zone: zone)
        }

        /// Saves over a tag, and checks that an accepted one names the version that its device has seen.
        private mutating func saveOverTag(_ device: Int, _ zone: String) async throws {
            guard let (name, version) = devices[device].records[zone]?.randomElement(using: &random) else { return }
            value += 1
            let before = try await user.lookup([name], zone: zone).first?.record
            let saved = try await user.modify([.make(.update, name, tag: version.tag, ["v": .int64(value)])], zone: zone).first?.record
            guard saved != nil else { return }
            savesOverTags += 1
            #expect(before?.fields["v"] == .int64(version.value), "\(name) was changed over \(version), and was \(String(describing: before))")
        }

        private mutating func remakeZone(_ zone: String) async throws {
            guard number(0...3) == 0 else { return }
            try await user.deleteZone(zone)
            try await user.makeZone(zone)
        }

        private mutating func followDatabase(_ device: Int) async throws {
            do {
                devices[device].database = try await user.databaseChanges(after: devices[device].database).syncToken
            } catch let error as ServerError where error == .tokenExpired {
                devices[device].database = nil
                devices[device].told += 1
            }
        }

        /// Follows a zone.
        /// - Parameter limit: Of one page; nil: to the end.
        mutating func follow(_ device: Int, _ zone: String, limit: Int?) async throws {
            while true {
                do {
                    let page = try await user.changes(zone, after: devices[device].tokens[zone], limit: limit ?? 7)
                    for result in page.records {
                        guard let name = result.recordName else { continue }
                        devices[device].records[zone, default: [:]][name] = result.record.map(Self.version)
                    }
                    devices[device].tokens[zone] = page.syncToken
                    if !page.moreComing || limit != nil { return }
                } catch let error as ServerError where error == .tokenExpired || error == .tokenOfAnotherZone {
                    devices[device].tokens[zone] = nil
                    devices[device].records[zone] = nil
                    devices[device].told += 1
                }
            }
        }

        private static func version(_ record: Record) -> Device.Version {
            guard case .int64(let value)? = record.fields["v"] else { return Device.Version(tag: record.recordChangeTag, value: -1) }
            return Device.Version(tag: record.recordChangeTag, value: value)
        }

        mutating func check() async throws {
            for zone in PutBackHistoryTests.zones {
                var truth: [String: Device.Version] = [:]
                for record in try await user.changes(zone).records.compactMap(\.record) { truth[record.recordName] = Self.version(record) }
                for device in devices.indices {
                    try await follow(device, zone, limit: nil)
                    #expect(devices[device].records[zone] ?? [:] == truth, "device \(device) in \(zone)")
                }
            }
        }
    }

    @Test(arguments: Engine.ofHistories, 0..<6)
    func `whatever copy is put back, every device ends with what a new one is shown`(engine: Engine, round: Int) async throws {
        let seed = HistorySeed.value &+ UInt64(round)
        var history = try await History(engine, seed: seed)
        for _ in 0..<12 {
            for _ in 0..<40 { try await history.step() }
            try await history.check()
        }
        #expect(history.putBacks > 0 && history.devices.contains { $0.told > 0 } && history.savesOverTags > 0, "NACRE_SEED=\(seed)")
        await history.store.close()
    }
}
