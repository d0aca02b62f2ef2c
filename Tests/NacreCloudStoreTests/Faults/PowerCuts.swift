import FoundationEssentials
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudTestSupport
import NacreLocks
import Testing

/// Tests of power cuts: all disk calls of one history are recorded once. Then the power is cut after each call, in a
/// simulation, and a possible state of the disk at that moment is opened.
@Suite struct PowerCuts {
    /// An event, in its order.
    private enum Event: Sendable {
        case disk(DiskCall)
        case acknowledged(UInt8)
    }

    /// The calls since the last sync of a file that survive.
    private enum Survival: String, CaseIterable, Sendable, CustomTestStringConvertible {
        case nothing
        case everything
        /// Any of them, in any order, and only some sectors of the last write.
        case chance

        var testDescription: String { rawValue }
    }

    private static func trace() async throws -> [Event] {
        let events = Locked([Event]())
        let disk = try #require(
            WatchedDisk { call in
                events.withLock { $0.append(.disk(call)) }
                return .carryOut
            })
        let folder = try TemporaryFolder(on: .memory)
        let store = try await SQLiteStore.open(folder: folder.path, options: FaultScript.packingOptions(disk.name))
        try await FaultScript.run(1, on: store)
        events.withLock { $0.append(.acknowledged(1)) }
        // One after the other, and then all at once, so that some share a commit.
        for number in 2...4 as ClosedRange<UInt8> {
            try await FaultScript.run(number, on: store)
            events.withLock { $0.append(.acknowledged(number)) }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 5...10 as ClosedRange<UInt8> {
                group.addTask {
                    try await FaultScript.run(number, on: store)
                    events.withLock { $0.append(.acknowledged(number)) }
                }
            }
            try await group.waitForAll()
        }
        // A repeated transaction is there once a later one was acknowledged, and never partly; also beside others.
        for number in [11, 13, 15] as [UInt8] {
            try await runAgain(number, on: store)
            try await FaultScript.run(number + 1, on: store)
            events.withLock { $0 += [.acknowledged(number + 1), .acknowledged(number)] }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in [17, 19, 21] as [UInt8] {
                group.addTask { try await runAgain(number, on: store) }
                group.addTask {
                    try await FaultScript.run(number + 1, on: store)
                    events.withLock { $0.append(.acknowledged(number + 1)) }
                }
            }
            try await group.waitForAll()
        }
        try await FaultScript.run(23, on: store)
        events.withLock { $0 += [17, 19, 21, 23].map { .acknowledged($0) } }
        await store.close()
        return events.withLock { $0 }
    }

    private static func runAgain(_ number: UInt8, on store: SQLiteStore) async throws {
        var turn = Turn.current
        turn.isDoneAgain = true
        try await Turn.$current.withValue(turn) { try await FaultScript.run(number, on: store) }
    }

    @Test func `what is done again waits for no sync, and what follows it waits for one`() async throws {
        let syncs = Locked(0)
        let disk = try #require(
            WatchedDisk { call in
                if case .sync(let path) = call, path.hasSuffix("-wal") { syncs.withLock { $0 += 1 } }
                return .carryOut
            })
        var options = FaultScript.packingOptions(disk.name)
        options.pagesInLog = .max
        let folder = try TemporaryFolder(on: .memory)
        let store = try await SQLiteStore.open(folder: folder.path, options: options)
        try await FaultScript.run(1, on: store)
        let before = syncs.withLock { $0 }
        for number in 2...4 as ClosedRange<UInt8> { try await Self.runAgain(number, on: store) }
        #expect(syncs.withLock { $0 } == before)
        try await FaultScript.run(5, on: store)
        #expect(syncs.withLock { $0 } == before + 1)
        #expect(try await FaultScript.found(in: store).transactions == [1, 2, 3, 4, 5])
        await store.close()
    }

    /// Opens the state after one call in eight, or after each in a whole search. For a disk that lies, one loss is
    /// enough.
    /// - Returns: Losses and contradictions, a line for each cut.
    private static func faults(
        of events: [Event], _ survival: Survival, syncing isHonest: Bool, _ random: inout SeededRandom
    ) async throws -> [String] {
        var platter = Platter()
        var acknowledged: Set<UInt8> = []
        var faults: [String] = []
        let cuts = Set(LongSearch.calls(upTo: events.count, every: isHonest ? 8 : 1))
        for (index, event) in events.enumerated() {
            switch event {
            case .acknowledged(let number): acknowledged.insert(number)
            case .disk(.sync) where !isHonest: continue
            case .disk(let call): platter.take(call)
            }
            // A cut between two acknowledgements finds the same disk with less to prove.
            if index + 1 < events.count, case .acknowledged = events[index + 1] { continue }
            guard cuts.contains(index + 1) else { continue }
            let folder = try TemporaryFolder(on: .memory)
            let left: ([UInt8], [DiskCall]) -> [UInt8] = { kept, open in
                switch survival {
                case .nothing: kept
                case .everything: Platter.applying(open, to: kept)
                case .chance: Platter.applying(Platter.chosen(of: open, &random), to: kept)
                }
            }
            for (name, bytes) in platter.files(left) {
                try Data(bytes).write(to: URL(fileURLWithPath: folder.path + "/" + name))
            }
            if let fault = await fault(in: folder, acknowledged) { faults.append("after call \(index) of \(events.count): \(fault)") }
            if !isHonest, !faults.isEmpty { return faults }
        }
        return faults
    }

    private static func fault(in folder: TemporaryFolder, _ acknowledged: Set<UInt8>) async -> String? {
        do {
            let store = try await SQLiteStore.open(folder: folder.path)
            let found = try await FaultScript.found(in: store)
            await store.close()
            if !found.contradictions.isEmpty { return found.contradictions.joined(separator: "; ") }
            let lost = acknowledged.subtracting(found.transactions)
            return lost.isEmpty ? nil : "lost \(lost.sorted())"
        } catch {
            return "\(error)"
        }
    }

    @Test(arguments: Survival.allCases)
    private func `wherever the power is cut, what was acknowledged is there, and nothing is there by half`(survival: Survival) async throws {
        let seed = HistorySeed.value
        var random = SeededRandom(seed: seed)
        let events = try await Self.trace()
        #expect(events.count > 100)
        let faults = try await Self.faults(of: events, survival, syncing: true, &random)
        #expect(faults.isEmpty, "NACRE_SEED=\(seed): \(faults.count) faults, \(faults.first ?? "")")
    }

    /// The same history on a disk whose syncs do nothing: if this loses nothing, the test above proves nothing.
    @Test func `a disk that lies about its syncs loses what was acknowledged`() async throws {
        var random = SeededRandom(seed: 1)
        #expect(try await !Self.faults(of: Self.trace(), .nothing, syncing: false, &random).isEmpty)
    }
}

/// Files as a disk has them: synced bytes, and pending calls.
private struct Platter {
    private struct File {
        var kept: [UInt8] = []
        var open: [DiskCall] = []
    }

    private var contents: [String: File] = [:]

    /// Bytes that a disk writes atomically even in a power cut: 512, as old ones do.
    private static let sectorBytes = 512

    mutating func take(_ call: DiskCall) {
        switch call {
        case .write(let path, _, _), .truncate(let path, _): contents[path, default: File()].open.append(call)
        case .sync(let path):
            let file = contents[path, default: File()]
            contents[path] = File(kept: Self.applying(file.open, to: file.kept))
        case .delete(let path): contents[path] = nil
        }
    }

    func files(_ left: ([UInt8], [DiskCall]) -> [UInt8]) -> [(name: String, bytes: [UInt8])] {
        contents.sorted { $0.key < $1.key }.map { path, file in
            (path.split(separator: "/").last.map(String.init) ?? path, left(file.kept, file.open))
        }
    }

    static func applying(_ calls: [DiskCall], to bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for call in calls {
            switch call {
            case .write(_, let offset, let new):
                let missing = Int(offset) + new.count - bytes.count
                if missing > 0 { bytes.append(contentsOf: [UInt8](repeating: 0, count: missing)) }
                bytes.replaceSubrange(Int(offset)..<Int(offset) + new.count, with: new)
            case .truncate(_, let size): bytes = Array(bytes.prefix(Int(size)))
            case .sync, .delete: break
            }
        }
        return bytes
    }

    /// Returns a random selection of the calls, and perhaps only the first sectors of a write.
    static func chosen(of calls: [DiskCall], _ random: inout SeededRandom) -> [DiskCall] {
        calls.compactMap { call in
            switch (call, Int.random(in: 0..<4, using: &random)) {
            case (_, 0): return nil
            case (.write(let path, let offset, let bytes), 1):
                let sectors = Int.random(in: 0...bytes.count / sectorBytes, using: &random)
                return .write(path: path, offset: offset, bytes: Array(bytes.prefix(sectors * sectorBytes)))
            default: return call
            }
        }
    }
}
