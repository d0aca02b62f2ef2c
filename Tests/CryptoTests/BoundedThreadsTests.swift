import Dispatch
import Locks
import Testing

@testable import Crypto

struct BoundedThreadsTests {
    /// Holds the jobs of one test at a gate, and notes in which order they ran and how they ended.
    private final class Gate: Sendable {
        let entered = DispatchSemaphore(value: 0)
        let opened = DispatchSemaphore(value: 0)
        let ran = Locked<[UInt64]>([])
        let abandoned = Locked<[UInt64: String]>([:])
        let ended = DispatchSemaphore(value: 0)

        func job(_ id: UInt64) -> BoundedThreads.Job {
            BoundedThreads.Job(
                id: id,
                run: {
                    self.entered.signal()
                    self.opened.wait()
                    self.ran.withLock { $0.append(id) }
                    self.ended.signal()
                },
                abandon: { error in
                    self.abandoned.withLock { $0[id] = String(describing: type(of: error)) }
                })
        }
    }

    @Test func `work beyond threads and queue is abandoned, and the rest runs in order`() {
        let gate = Gate()
        let threads = BoundedThreads(threadsMaximum: 1, waitingMaximum: 2)
        for id in 1...5 as ClosedRange<UInt64> { threads.submit(gate.job(id)) }
        #expect(gate.abandoned.withLock { Set($0.keys) } == [4, 5])
        for _ in 1...3 {
            gate.opened.signal()
            gate.ended.wait()
        }
        #expect(gate.ran.withLock { $0 } == [1, 2, 3])
    }

    @Test func `as many jobs run at once as there may be threads, and no more`() {
        let gate = Gate()
        let threads = BoundedThreads(threadsMaximum: 2, waitingMaximum: 10)
        for id in 1...5 as ClosedRange<UInt64> { threads.submit(gate.job(id)) }
        gate.entered.wait()
        gate.entered.wait()
        // The third can enter only when one of the first two was let go.
        #expect(gate.entered.wait(timeout: .now()) == .timedOut)
        gate.opened.signal()
        gate.entered.wait()
        #expect(gate.ran.withLock { $0.count } == 1)
        for _ in 2...5 { gate.opened.signal() }
        for _ in 1...5 { gate.ended.wait() }
        #expect(gate.ran.withLock { Set($0) } == [1, 2, 3, 4, 5])
    }

    @Test func `cancelled work leaves the queue and makes room`() {
        let gate = Gate()
        let threads = BoundedThreads(threadsMaximum: 1, waitingMaximum: 1)
        threads.submit(gate.job(1))
        threads.submit(gate.job(2))
        threads.cancel(2)
        threads.submit(gate.job(3))
        threads.cancel(99)
        #expect(gate.abandoned.withLock { $0 } == [2: "CancellationError"])
        for _ in 1...2 {
            gate.opened.signal()
            gate.ended.wait()
        }
        #expect(gate.ran.withLock { $0 } == [1, 3])
    }

    @Test func `cancelling work that runs does not end it`() async throws {
        let gate = Gate()
        let threads = BoundedThreads(threadsMaximum: 1, waitingMaximum: 1)
        let (started, starts) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            try await threads.run {
                starts.finish()
                gate.opened.wait()
                return 42
            }
        }
        for await _ in started {}
        task.cancel()
        gate.opened.signal()
        #expect(try await task.value == 42)
    }

    @Test func `a task that is already cancelled never runs its work`() async {
        let threads = BoundedThreads(threadsMaximum: 1, waitingMaximum: 1)
        let (entered, enter) = AsyncStream.makeStream(of: Void.self)
        let ran = Locked(false)
        let task = Task {
            for await _ in entered {}
            try await threads.run { ran.withLock { $0 = true } }
        }
        task.cancel()
        enter.finish()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(!ran.withLock { $0 })
    }

    @Test func `every job of many tasks ends, with its own answer`() async throws {
        let threads = BoundedThreads(threadsMaximum: 2, waitingMaximum: 1_000)
        let peak = Locked((now: 0, most: 0))
        let answers = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<300 {
                group.addTask {
                    try await threads.run {
                        peak.withLock { peak in
                            peak.now += 1
                            peak.most = max(peak.most, peak.now)
                        }
                        defer { peak.withLock { $0.now -= 1 } }
                        return number
                    }
                }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(answers == Set(0..<300))
        #expect(peak.withLock { $0.most } <= 2)
    }
}
