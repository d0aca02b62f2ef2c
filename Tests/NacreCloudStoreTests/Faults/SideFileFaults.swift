import NacreCloudStorage
import NacreCloudTestSupport
import NacreLocks
import Testing

@testable import NacreCloudStore

/// Tests of telemetry and the request log on a disk that is full or fails, at each call that changes a file.
@Suite struct SideFileFaults {
    private static let noon: Int64 = 1_800_000_000_000
    private static let turns = 3
    /// More calls than the turns make.
    private static let calls = LongSearch.calls(upTo: 100, every: 6)

    @Test(.timeLimit(.minutes(1)), arguments: [CountdownDisk.Fault.full, .error, .errorOnce])
    func `telemetry loses nothing and counts nothing twice, whichever call of its disk fails`(_ fault: CountdownDisk.Fault) async throws {
        let disk = try #require(CountdownDisk())
        for call in Self.calls {
            let folder = try TemporaryFolder()
            disk.arm(fault, at: call)
            let file = TelemetryFile(folder: folder.path, vfs: disk.name)
            var waiting = 0
            for turn in 1...Self.turns {
                if turn == Self.turns { disk.heal() }
                waiting += 1
                if try await file.add(waiting) { waiting = 0 }
            }
            #expect(waiting == 0, "\(fault) at call \(call)")
            #expect(try await file.sum() == Self.turns, "\(fault) at call \(call)")
            await file.close()
            if disk.failures == 0 { return #expect(call > Self.turns) }
        }
        Issue.record("the search did not end")
    }

    @Test(.timeLimit(.minutes(1)), arguments: [CountdownDisk.Fault.full, .error, .errorOnce])
    func `the request log counts each row that it loses, tells it once and goes on, whichever call of its disk fails`(
        _ fault: CountdownDisk.Fault
    ) async throws {
        let disk = try #require(CountdownDisk())
        for call in Self.calls {
            let folder = try TemporaryFolder()
            disk.arm(fault, at: call)
            let events = Locked([String]())
            let ring = try RequestRing(
                folder: folder.path, vfs: disk.name, server: "one", bounds: .usual, now: { Self.noon },
                report: { event in
                    let text = if case .failed = event { "failed" } else if case .recovered = event { "recovered" } else { "\(event)" }
                    events.withLock { $0.append(text) }
                })
            for turn in 1...Self.turns {
                if turn == Self.turns { disk.heal() }
                var row = RequestRow()
                (row.ended, row.took) = (Self.noon, turn)
                ring.add(bytes: 1000) { [row] in row }
                // A page writes what waits. It may fail as the disk does.
                _ = try? await ring.page(RequestFilter())
            }
            let page = try await ring.page(RequestFilter())
            #expect(page.rows.first?.took == Self.turns, "\(fault) at call \(call)")
            #expect(page.rows.count + page.lost == Self.turns, "\(fault) at call \(call): \(page)")
            #expect(events.withLock { $0 } == (page.lost == 0 ? [] : ["failed", "recovered"]), "\(fault) at call \(call)")
            await ring.close()
            if disk.failures == 0 { return #expect(call > Self.turns) }
        }
        Issue.record("the search did not end")
    }
}

extension TelemetryFile {
    private static let key = TelemetryKey(.days, 0, "sums")

    /// Adds to a row, which has a byte for each.
    /// - Returns: whether it was committed.
    fileprivate func add(_ count: Int) async throws -> Bool {
        let endings = Locked([Bool]())
        do {
            try await transaction(
                { table in
                    let bytes = try table.entry(at: Self.key)?.bytes ?? []
                    try table.put(TelemetryEntry(state: .shown, bytes: bytes + [UInt8](repeating: 1, count: count)), at: Self.key)
                }, ended: { isCommitted in endings.withLock { $0.append(isCommitted) } })
        } catch is StoreError {}
        return try #require(endings.withLock { $0.count == 1 ? $0.first : nil } as Bool?, "each transaction ends once")
    }

    fileprivate func sum() async throws -> Int {
        try await transaction({ try $0.entry(at: Self.key)?.bytes.count ?? 0 }, ended: { _ in })
    }
}
