import Foundation
import NacreCloudTestSupport
import NacreLocks
import Testing

@testable import CloudKit

/// Devices that write, send, fetch, fail and die in an order that a seed draws; then they come to rest without
/// faults.
struct SyncHistory {
    /// An action of a user; when it returns, the device has stored it, or has died.
    typealias Act = (_ device: SyncDevice, _ random: inout SeededRandom) async throws -> Void

    static let steps = 40

    private(set) var random: SeededRandom
    private(set) var devices: [SyncDevice]

    init(_ devices: [SyncDevice], _ random: SeededRandom) {
        self.devices = devices
        self.random = random
    }

    /// The seeds of this test run; each gives a history.
    static var seeds: [UInt64] { (0..<3).map { HistorySeed.value &+ $0 } }

    mutating func run(_ act: Act) async throws {
        begin()
        for _ in 0..<Self.steps { try await step(act) }
        try await end()
    }

    /// Has requests of the devices fail from now on.
    mutating func begin() {
        for device in devices { device.transport.fail(Self.faults(random.branch())) }
    }

    /// Lets one device do one thing.
    mutating func step(_ act: Act) async throws {
        let device = devices[Int.random(in: devices.indices, using: &random)]
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<5: try await act(device, &random)
        case 5, 6: await device.send()
        case 7, 8: await device.fetch()
        default: await die(device)
        }
    }

    /// Ends the faults, and has the devices come to rest.
    func end() async throws {
        for device in devices { device.transport.fail(nil) }
        try await rest()
    }

    /// Lets another device take part, whose requests fail too.
    mutating func add(_ device: SyncDevice) {
        device.transport.fail(Self.faults(random.branch()))
        devices.append(device)
    }

    /// Lets a device take part no longer.
    mutating func remove(_ device: SyncDevice) {
        device.transport.fail(nil)
        devices.removeAll { $0 === device }
    }

    /// Kills a device at once, or in the middle of its next work.
    private mutating func die(_ device: SyncDevice) async {
        device.restart(diesAfter: random.chance(3) ? nil : Int.random(in: 0..<12, using: &random))
        if random.chance(2) { await device.send() }
        await device.fetch()
        device.restart()
    }

    /// Sends and fetches until nothing changes any more.
    private func rest() async throws {
        for device in devices { device.restart() }
        for _ in 0..<12 {
            var isStill = true
            for device in devices {
                device.app.clearLog()
                let codes = [await device.send(), await device.fetch()]
                let isQuiet = !device.app.events.contains { $0.hasPrefix("sent") || $0.hasPrefix("fetched") }
                isStill = isStill && codes == [nil, nil] && isQuiet && device.engine.state.pendingRecordZoneChanges.isEmpty
            }
            if isStill { return }
        }
        Issue.record("the devices do not come to rest: \(devices.map(\.app.log)), \(random)")
    }

    private static func faults(_ random: SeededRandom) -> @Sendable (String) -> SyncTransport.Fault? {
        let random = Locked(random)
        return { path in
            switch random.withLock({ Int.random(in: 0..<36, using: &$0) }) {
            case 0, 1: .notSent
            case 2, 3: .answerLost
            case 4: SyncTransport.refusal(.serviceUnavailable, "TRY_AGAIN_LATER", status: 503, retryAfter: 1)
            case 5: SyncTransport.refusal(.requestRateLimited, "THROTTLED", status: 429, retryAfter: 2)
            case 6 where path.hasPrefix("records/"): SyncTransport.refusal(.zoneBusy, "TRY_AGAIN_LATER", status: 503, retryAfter: 1)
            // Only for the database: if a zone's feed begins again, it does not report earlier deletions.
            case 7 where path == "changes/database": SyncTransport.refusal(.changeTokenExpired, "BAD_REQUEST")
            default: nil
            }
        }
    }
}

/// The expected end, independent of any engine: words that were written and stored are there, and deleted notes are
/// not.
struct NoteOracle {
    private(set) var words: [String: Set<String>] = [:]
    private(set) var deleted: Set<String> = []
    private var creators: [String: Int] = [:]
    private var count = 0

    var expected: [String: Set<String>] { words.filter { !deleted.contains($0.key) } }

    /// Lets a user write a word into a new note or one on the device, or delete one that they made and that the
    /// server has.
    mutating func act(_ device: SyncDevice, _ index: Int, _ random: inout SeededRandom, deletes: Bool = true) async {
        let notes = device.app.notes.keys.filter { $0.zoneID == device.app.zoneID }.map(\.recordName).sorted()
        let own = notes.filter { creators[$0] == index && device.app.disk.notes[device.app.recordID($0)]?.system != nil }
        count += 1
        if deletes, random.chance(6), let name = own.randomElement(using: &random) {
            device.delete(name)
            await device.told()
            if device.app.disk.notes[device.app.recordID(name)] == nil { deleted.insert(name) }
            return
        }
        let name = random.chance(3) ? "note-\(count)" : notes.randomElement(using: &random) ?? "note-\(count)"
        await write(name, device, index)
    }

    mutating func write(_ name: String, _ device: SyncDevice, _ index: Int) async {
        let word = "word-\(count)"
        count += 1
        device.write(name, word)
        await device.told()
        guard device.app.disk.notes[device.app.recordID(name)]?.words.contains(word) == true else { return }
        if words[name] == nil { creators[name] = index }
        words[name, default: []].insert(word)
    }
}
