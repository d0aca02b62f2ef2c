import Glibc
import Testing

@testable import NacreHTTPServer

/// Tests of threads for long computations of requests.
@Suite(.timeLimit(.minutes(1))) struct LongWorkTests {
    @concurrent
    private static func priorityThere() async -> Int32 { getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) }

    @Test func `long work steps back for others, and who asked for it does not`() async {
        let usual = getpriority(__priority_which_t(PRIO_PROCESS.rawValue), id_t(getpid()))
        let there = await withTaskExecutorPreference(LongWork.shared) { await Self.priorityThere() }
        #expect(there == max(usual, 10))
        #expect(await Self.priorityThere() == usual)
    }

    @Test func `all that is asked for at once is done, and again when there was nothing for a while`() async {
        for _ in 0..<3 {
            let done = await withTaskGroup(of: Int.self) { group in
                for number in 0..<200 {
                    group.addTask(executorPreference: LongWork.shared) {
                        await Task.yield()
                        return number
                    }
                }
                return await group.reduce(into: Set<Int>()) { $0.insert($1) }
            }
            #expect(done == Set(0..<200))
        }
    }
}
