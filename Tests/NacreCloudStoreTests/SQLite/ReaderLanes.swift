import Glibc
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudTestSupport
import NacreLocks
import Testing

@Suite struct ReaderLanes {
    @Test(arguments: [[Turn.Kind.query], [.bulk], [.query, .bulk]])
    func `long reads of one asker leave readers to another's long reads and to short ones`(lanes: [Turn.Kind]) async throws {
        let temporary = try await TemporarySQLiteStore()
        try await temporary.populate()
        let (hold, running) = (ThreadHold(), Locked(0))
        let store = temporary.store
        @Sendable func ask(_ turn: Turn, _ body: @escaping @Sendable () -> Void = {}) async throws {
            try await Turn.$current.withValue(turn) {
                try await store.read { transaction in
                    _ = try transaction.databases([Sample.database])
                    body()
                }
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    try await ask(Turn(asker: "greedy", kind: lanes[number % lanes.count])) {
                        running.withLock { $0 += 1 }
                        hold.wait()
                    }
                }
            }
            while running.withLock({ $0 }) < 2 { await Task.yield() }
            try await ask(Turn(asker: "another", kind: .query))
            try await ask(Turn(asker: "another", kind: .bulk))
            try await ask(Turn(asker: "another"))
            try await ask(Turn(asker: "greedy"))
            #expect(running.withLock { $0 } == 2)
            hold.release()
            try await group.waitForAll()
        }
        #expect(running.withLock { $0 } == 8)
    }

    @Test(arguments: Turn.Kind.allCases) func `a long read steps back for others, and a short one does not`(kind: Turn.Kind) async throws {
        let temporary = try await TemporarySQLiteStore()
        // Many rows: the calling thread does not read them.
        let nice = try await Turn.$current.withValue(Turn(asker: "ada", kind: kind, rows: 1000)) {
            try await temporary.store.read { _ in getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) }
        }
        let usual = getpriority(__priority_which_t(PRIO_PROCESS.rawValue), id_t(getpid()))
        #expect(nice == (kind == .short ? usual : max(usual, 10)))
    }
}
