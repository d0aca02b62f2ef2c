import Testing

@testable import CloudKit

/// Tests of `docs/sync-engine.md`, By itself: when. The numbers are that page's.
@Suite struct SyncScheduleTests {
    private typealias Due = SyncSchedule.Due

    @Test func `nothing is done that nobody wants, and what is wanted is done at once, and once (38)`() {
        var schedule = SyncSchedule()
        #expect(schedule.decide(now: 0) == .idle)
        schedule.want(Due(fetch: true))
        schedule.want(Due(send: true))
        #expect(schedule.decide(now: 0) == .run(Due(fetch: true, send: true)))
        schedule.begin(Due(fetch: true, send: true))
        #expect(schedule.decide(now: 0) == .idle)
        schedule.want(Due(send: true))
        schedule.end(Due(send: true), .success, now: 0, spread: 1)
        #expect(schedule.decide(now: 0) == .run(Due(send: true)), "what was wanted meanwhile")
    }

    private static let busy = SyncSchedule.Ending.retry(after: nil, isNetwork: false)
    private static let offline = SyncSchedule.Ending.retry(after: nil, isNetwork: true)

    @Test func `pauses double from one second to five minutes, and begin again after a success (39)`() {
        var schedule = SyncSchedule()
        var pauses: [Double] = []
        for _ in 0..<11 {
            schedule.end(Due(send: true), Self.busy, now: 100, spread: 1)
            guard case .wait(let pause) = schedule.decide(now: 100) else { return #expect(Bool(false), "it waits") }
            pauses.append(pause)
        }
        #expect(pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300])
        #expect(schedule.decide(now: 400) == .run(Due(send: true)))
        schedule.end(Due(send: true), .success, now: 400, spread: 1)
        schedule.end(Due(send: true), Self.busy, now: 400, spread: 0)
        #expect(schedule.decide(now: 400) == .wait(0.75))
    }

    @Test func `the server's seconds count where they are more, and hold only what failed (39)`() {
        var schedule = SyncSchedule()
        schedule.end(Due(send: true), .retry(after: 30, isNetwork: false), now: 0, spread: 1)
        #expect(schedule.decide(now: 0) == .wait(30))
        schedule.want(Due(fetch: true))
        #expect(schedule.decide(now: 0) == .run(Due(fetch: true)))
        schedule.begin(Due(fetch: true))
        schedule.end(Due(fetch: true), .success, now: 10, spread: 1)
        schedule.want(Due(send: true))
        #expect(schedule.decide(now: 10) == .wait(20), "neither a fetch nor wanting more hurries what the server asked to wait for")
        schedule.retryNow()
        #expect(schedule.decide(now: 10) == .run(Due(send: true)))
        schedule.end(Due(send: true), .retry(after: 0.1, isNetwork: false), now: 0, spread: 1)
        #expect(schedule.decide(now: 0) == .wait(2), "the pauses of this engine count where they are more")
    }

    @Test func `a pause for want of a network ends when the other direction reaches the server (39)`() {
        var schedule = SyncSchedule()
        for _ in 0..<6 { schedule.end(Due(fetch: true, send: true), Self.offline, now: 0, spread: 1) }
        #expect(schedule.decide(now: 0) == .wait(32))
        schedule.begin(Due(fetch: true))
        schedule.end(Due(fetch: true), .success, now: 1, spread: 1)
        #expect(schedule.decide(now: 1) == .run(Due(send: true)))
        schedule.begin(Due(send: true))
        schedule.end(Due(send: true), Self.offline, now: 1, spread: 1)
        #expect(schedule.decide(now: 1) == .wait(64), "a network that comes and goes is not a success")
        schedule.retryNetwork()
        #expect(schedule.decide(now: 1) == .run(Due(send: true)))
    }

    @Test func `a failure of another kind than the last one pauses from the beginning (39)`() {
        var schedule = SyncSchedule()
        var pauses: [SyncSchedule.Decision] = []
        for ending in [Self.offline, Self.offline, Self.offline, Self.busy, Self.busy, Self.offline] {
            schedule.end(Due(fetch: true), ending, now: 0, spread: 1)
            pauses.append(schedule.decide(now: 0))
        }
        #expect(pauses == [.wait(1), .wait(2), .wait(4), .wait(1), .wait(2), .wait(1)])
    }

    @Test func `a call by hand that fails leaves the pause as it is, and one that succeeds ends it (39)`() {
        var schedule = SyncSchedule()
        schedule.end(Due(send: true), Self.busy, byHand: true, now: 0, spread: 1)
        #expect(schedule.decide(now: 0) == .wait(1), "it is tried again")
        for _ in 0..<3 { schedule.end(Due(send: true), Self.busy, byHand: true, now: 0.5, spread: 1) }
        #expect(schedule.decide(now: 0.5) == .wait(0.5))
        schedule.end(Due(send: true), .retry(after: 7, isNetwork: false), byHand: true, now: 0.5, spread: 1)
        #expect(schedule.decide(now: 0.5) == .wait(7), "but the server's seconds count")
        schedule.end(Due(send: true), .success, byHand: true, now: 0.5, spread: 1)
        #expect(schedule.decide(now: 0.5) == .run(Due(send: true)))
    }

    @Test func `scheduled work that the app cancels is done after the first pause, and a cancelled call by hand changes nothing (5, 39)`() {
        var schedule = SyncSchedule()
        schedule.end(Due(send: true), .cancelled, byHand: true, now: 0, spread: 1)
        #expect(schedule.decide(now: 0) == .idle)
        for _ in 0..<3 { schedule.end(Due(fetch: true, send: true), .cancelled, now: 0, spread: 1) }
        #expect(schedule.decide(now: 0) == .wait(1))
        #expect(schedule.decide(now: 1) == .run(Due(fetch: true, send: true)))
        let part = CKError.partial("Failed", of: ["one": CKError(.operationCancelled)] as [AnyHashable: any Error])
        #expect(SyncSchedule.Ending(part, isFruitless: true) == .cancelled)
    }

    @Test func `changes that fail for good and are added again go at once, and then with longer pauses, until one succeeds (16, 39)`() {
        var schedule = SyncSchedule()
        func added(_ ending: SyncSchedule.Ending) -> SyncSchedule.Decision {
            schedule.begin(Due(send: true))
            schedule.want(Due(send: true))
            schedule.end(Due(send: true), ending, now: 0, spread: 1)
            return schedule.decide(now: 0)
        }
        let run = SyncSchedule.Decision.run(Due(send: true))
        #expect([added(.fruitless), added(.fruitless), added(.fruitless)] == [run, .wait(1), .wait(2)])
        #expect([added(.success), added(.fruitless)] == [run, run])
        var offline = SyncSchedule()
        for _ in 0..<6 { offline.end(Due(send: true), Self.offline, now: 0, spread: 1) }
        offline.end(Due(send: true), .fruitless, now: 0, spread: 1)
        #expect(offline.decide(now: 0) == run, "failures of the network do not count")
        schedule = SyncSchedule()
        #expect([added(.fruitless), added(.fruitless), added(Self.busy)] == [run, .wait(1), .wait(1)])
        schedule.retryNow()
        #expect(added(.fruitless) == run, "nor what was fruitless before a failure that may pass")
    }
}
