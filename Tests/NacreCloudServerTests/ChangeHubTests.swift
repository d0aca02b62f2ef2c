import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreLocks
import NacreTelemetry
import Testing

@testable import NacreCloudServer

@Suite(.timeLimit(.minutes(5))) struct ChangeHubTests {
    private let clock = TestClock()
    private let database = DatabaseID(rawValue: 1)

    /// Counts reads, and finds a change from a certain one on.
    private final class Feed: Sendable {
        private let reads = Locked(0)
        private let enough: Int

        init(enough: Int) { self.enough = enough }

        var count: Int { reads.withLock { $0 } }

        func read() -> Int {
            reads.withLock {
                $0 += 1
                return $0
            }
        }

        func isEnough(_ value: Int) -> Bool { value >= enough }
    }

    private func wait(_ hub: ChangeHub, _ feed: Feed, seconds: Double = 30) async throws -> Int {
        try await hub.read(database, waiting: seconds, until: feed.isEnough) { feed.read() }
    }

    @Test func `who finds enough at once does not wait, and nothing of it is left`() async throws {
        let hub = ChangeHub(sleep: clock.serverClock.sleep)
        #expect(try await wait(hub, Feed(enough: 1)) == 1)
        #expect(clock.sleeperCount == 0)
    }

    @Test func `a signal of the database makes the waiter read again, one of another does not`() async throws {
        let hub = ChangeHub(sleep: clock.serverClock.sleep)
        let feed = Feed(enough: 2)
        async let value = wait(hub, feed)
        await clock.sleeps(1)
        hub.signal(DatabaseID(rawValue: 2))
        hub.signal(database)
        #expect(try await value == 2)
        #expect(feed.count == 2)
    }

    @Test func `a change between the read and the wait is not lost`() async throws {
        let hub = ChangeHub(sleep: clock.serverClock.sleep)
        let feed = Feed(enough: 2)
        let value = try await hub.read(database, waiting: 30, until: feed.isEnough) {
            let value = feed.read()
            // No request waits yet, but the signal is noticed.
            if value == 1 { hub.signal(database) }
            return value
        }
        #expect(value == 2)
    }

    @Test func `when the time is up the waiter reads once more`() async throws {
        let hub = ChangeHub(sleep: clock.serverClock.sleep)
        let feed = Feed(enough: 9)
        async let value = wait(hub, feed, seconds: 5)
        await clock.sleeps(1)
        clock.advance(5)
        #expect(try await value == 2)
    }

    @Test func `closing ends all waiting, now and later`() async throws {
        let hub = ChangeHub(sleep: clock.serverClock.sleep)
        let feed = Feed(enough: 9)
        async let one = wait(hub, feed)
        async let two = wait(hub, feed)
        await clock.sleeps(2)
        hub.close()
        _ = try await (one, two)
        #expect(feed.count == 4)
        _ = try await wait(hub, feed)
        #expect(feed.count == 5)
    }

    @Test func `nobody waits more often than there are places, and nobody else is kept from waiting`() async throws {
        let lines = LogLines()
        let hub = ChangeHub(waitsPerUser: 2, overload: OverloadLog(lines.logger), sleep: clock.serverClock.sleep)
        @Sendable func wait(_ waiter: String) async throws -> Int {
            try await hub.read(database, waiting: 30, by: waiter, until: Feed(enough: 9).isEnough) { 1 }
        }
        async let one = wait("ada")
        async let two = wait("ada")
        await clock.sleeps(2)
        let refusal = await #expect(throws: ServerError.self) { try await wait("ada") }
        #expect(refusal?.code == .throttled && refusal?.retryAfter == 30)
        async let other = wait("bob")
        await clock.sleeps(3)
        #expect(lines.texts.count == 1 && lines.texts[0].contains("waits for changes too many times"))
        clock.advance(30)
        _ = try await (one, two, other)
        async let again = wait("ada")
        await clock.sleeps(4)
        clock.advance(30)
        let last = try await again
        #expect(last == 1, "places are given back")
    }

    @Test func `a cancelled task stops waiting`() async throws {
        let hub = ChangeHub(sleep: clock.serverClock.sleep)
        let feed = Feed(enough: 9)
        let task = Task { try await wait(hub, feed) }
        await clock.sleeps(1)
        task.cancel()
        #expect(try await task.value == 2)
    }

    @Test func `an error of the read is the waiter's, and its timer ends`() async throws {
        let hub = ChangeHub(sleep: clock.serverClock.sleep)
        await #expect(throws: StoreError.self) {
            try await hub.read(database, waiting: 30, until: Feed(enough: 9).isEnough) { throw StoreError.closed }
        }
        #expect(clock.sleeperCount == 0)
    }
}
