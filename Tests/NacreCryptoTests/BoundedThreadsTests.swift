import Dispatch
import Synchronization
import Testing

@testable import NacreCrypto

@Suite(.timeLimit(.minutes(5))) struct BoundedThreadsTests {
    private enum Event: Hashable {
        case entered(UInt64)
        case ran(UInt64)
        case cancelled(UInt64)
        case refused(UInt64)
        case failed(UInt64)
    }

    /// Holds the jobs of one test at a gate and reports their events in order.
    private final class Gate: Sendable {
        private let opened = DispatchSemaphore(value: 0)
        private let stream: AsyncStream<Event>
        private let told: AsyncStream<Event>.Continuation

        init() {
            (stream, told) = AsyncStream.makeStream()
        }

        func open(for jobs: Int = 1) {
            for _ in 0..<jobs { opened.signal() }
        }

        /// Returns the next events; the test takes exactly as many as come.
        func events(_ count: Int) async -> [Event] {
            var events: [Event] = []
            for await event in stream {
                events.append(event)
                if events.count == count { break }
            }
            return events
        }

        func job(_ id: UInt64) -> BoundedThreads.Job {
            BoundedThreads.Job(
                id: id,
                run: {
                    self.told.yield(.entered(id))
                    self.opened.wait()
                    self.told.yield(.ran(id))
                },
                abandon: { error in
                    switch error {
                    case is CancellationError: self.told.yield(.cancelled(id))
                    case CryptoError(.busy) as CryptoError: self.told.yield(.refused(id))
                    default: self.told.yield(.failed(id))
                    }
                })
        }
    }

    @Test func `work beyond threads and queue is refused at once, and the rest runs in order`() async {
        let gate = Gate()
        let threads = BoundedThreads(threadsMaximum: 1, waitingMaximum: 2)
        for id in 1...5 as ClosedRange<UInt64> { threads.submit(gate.job(id)) }
        // The first enters at any time; the two refusals come at once.
        let first = await gate.events(3)
        #expect(Set(first) == [.entered(1), .refused(4), .refused(5)])
        gate.open(for: 3)
        #expect(await gate.events(5) == [.ran(1), .entered(2), .ran(2), .entered(3), .ran(3)])
    }

    /// Tests that two of six jobs start, neither fewer nor more: one is refused if three may wait.
    @Test func `as many jobs run at once as there may be threads, and no more`() async {
        let gate = Gate()
        let threads = BoundedThreads(threadsMaximum: 2, waitingMaximum: 3)
        for id in 1...6 as ClosedRange<UInt64> { threads.submit(gate.job(id)) }
        #expect(Set(await gate.events(3)) == [.entered(1), .entered(2), .refused(6)])
        gate.open()
        let next = await gate.events(2)
        #expect(next.first == .ran(1) || next.first == .ran(2))
        #expect(next.last == .entered(3))
        gate.open(for: 4)
        let rest = await gate.events(6)
        #expect(Set(rest).isSuperset(of: [.entered(4), .entered(5), .ran(3), .ran(4), .ran(5)]))
    }

    @Test func `cancelled work leaves the queue and makes room`() async {
        let gate = Gate()
        let threads = BoundedThreads(threadsMaximum: 1, waitingMaximum: 1)
        threads.submit(gate.job(1))
        threads.submit(gate.job(2))
        threads.cancel(2)
        threads.submit(gate.job(3))
        threads.cancel(99)
        #expect(Set(await gate.events(2)) == [.entered(1), .cancelled(2)])
        gate.open(for: 2)
        #expect(await gate.events(3) == [.ran(1), .entered(3), .ran(3)])
    }

    @Test func `cancelling work that runs does not end it`() async throws {
        let threads = BoundedThreads(threadsMaximum: 1, waitingMaximum: 1)
        let gate = DispatchSemaphore(value: 0)
        let (started, starts) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            try await threads.run {
                starts.finish()
                gate.wait()
                return 42
            }
        }
        for await _ in started {}
        task.cancel()
        gate.signal()
        #expect(try await task.value == 42)
    }

    @Test func `a task that is cancelled while its work waits is told so at once`() async throws {
        let threads = BoundedThreads(threadsMaximum: 1, waitingMaximum: 1)
        let gate = Gate()
        threads.submit(gate.job(threads.newID()))
        let task = Task { try await threads.run { 42 } }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        gate.open()
        #expect(await gate.events(2) == [.entered(1), .ran(1)])
    }

    @Test func `a task that is already cancelled never runs its work`() async {
        let threads = BoundedThreads(threadsMaximum: 1, waitingMaximum: 1)
        let (ran, runs) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await threads.run { _ = runs.yield() }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        runs.finish()
        var count = 0
        for await _ in ran { count += 1 }
        #expect(count == 0)
    }

    @Test func `what the work throws comes out`() async {
        let threads = BoundedThreads(threadsMaximum: 1, waitingMaximum: 1)
        await #expect(throws: CryptoError(.notAuthentic)) { try await threads.run { throw CryptoError(.notAuthentic) } }
    }

    private final class Peak: Sendable {
        let now = Atomic(0)
        let most = Atomic(0)
    }

    @Test func `every job of many tasks ends, with its own answer`() async throws {
        let threads = BoundedThreads(threadsMaximum: 2, waitingMaximum: 1_000)
        let peak = Peak()
        let answers = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<300 {
                group.addTask {
                    try await threads.run {
                        peak.most.max(peak.now.add(1, ordering: .relaxed).newValue, ordering: .relaxed)
                        defer { peak.now.subtract(1, ordering: .relaxed) }
                        return number
                    }
                }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(answers == Set(0..<300))
        #expect(peak.most.load(ordering: .relaxed) <= 2)
    }
}
