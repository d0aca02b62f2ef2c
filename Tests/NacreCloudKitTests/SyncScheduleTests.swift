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
        schedule.end(Due(send: true), mayPass: false, now: 0, spread: 1)
        #expect(schedule.decide(now: 0) == .run(Due(send: true)), "what was wanted meanwhile")
    }

    @Test func `pauses double from one second to five minutes, and begin again after a success (39)`() {
        var schedule = SyncSchedule()
        var pauses: [Double] = []
        for _ in 0..<11 {
            schedule.end(Due(send: true), mayPass: true, now: 100, spread: 1)
            guard case .wait(let pause) = schedule.decide(now: 100) else { return #expect(Bool(false), "it waits") }
            pauses.append(pause)
        }
        #expect(pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300])
        #expect(schedule.decide(now: 400) == .run(Due(send: true)))
        schedule.end(Due(send: true), mayPass: false, now: 400, spread: 1)
        schedule.end(Due(send: true), mayPass: true, now: 400, spread: 0)
        #expect(schedule.decide(now: 400) == .wait(0.75))
    }

    @Test func `the server's seconds count where they are more, and hold only what failed (39)`() {
        var schedule = SyncSchedule()
        schedule.end(Due(send: true), mayPass: true, retryAfter: 30, now: 0, spread: 1)
        #expect(schedule.decide(now: 0) == .wait(30))
        schedule.want(Due(fetch: true))
        #expect(schedule.decide(now: 0) == .run(Due(fetch: true)))
        schedule.begin(Due(fetch: true))
        schedule.want(Due(send: true))
        #expect(schedule.decide(now: 10) == .wait(20), "wanting more does not hurry what the server asked to wait for")
        schedule.retryNow()
        #expect(schedule.decide(now: 10) == .run(Due(send: true)))
        schedule.end(Due(send: true), mayPass: true, retryAfter: 0.1, now: 0, spread: 1)
        #expect(schedule.decide(now: 0) == .wait(2), "the pauses of this engine count where they are more")
    }
}
