import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

@Suite struct TokenBucketTests {
    private static let rate = TokenBucket.Rate(perSecond: 10, most: 100)

    private func at(_ seconds: Double) -> Timestamp { Timestamp(secondsSince2001: 1000 + seconds) }

    @Test(
        arguments: [
            // taken, seconds later, the pause in seconds
            (0, 0.0, nil), (99, 0, nil), (100, 0, 1), (101, 0, 1), (110, 0, 1), (111, 0, 2), (150, 0, 5), (150, 4, 1), (150, 4.9, 1), (150, 5.1, nil),
            (1100, 0, 100), (1100, 99, 1),
        ] as [(Int, Double, Int?)])
    func `who has had more waits until that is paid, in whole seconds`(taken: Int, later: Double, pause: Int?) {
        var bucket = TokenBucket(full: Self.rate, at: at(0))
        bucket.take(taken, Self.rate, at: at(0))
        #expect(bucket.pause(Self.rate, at: at(later)) == pause)
    }

    @Test func `who waits as long as it is told may begin`() {
        var bucket = TokenBucket(full: Self.rate, at: at(0))
        var now = 0.0
        for cost in 0..<500 {
            bucket.take(cost * 7 % 331, Self.rate, at: at(now))
            guard let pause = bucket.pause(Self.rate, at: at(now)) else { continue }
            now += Double(pause) + 0.001
            #expect(bucket.pause(Self.rate, at: at(now)) == nil, "\(cost)")
        }
    }

    @Test func `it holds so much and no more, however long nothing is asked`() {
        var bucket = TokenBucket(full: Self.rate, at: at(0))
        #expect(bucket.isFull(Self.rate, at: at(1_000_000)) == true)
        bucket.take(150, Self.rate, at: at(1_000_000))
        #expect(bucket.pause(Self.rate, at: at(1_000_000)) == 5 && bucket.isFull(Self.rate, at: at(1_000_014)) == false)
        #expect(bucket.isFull(Self.rate, at: at(1_000_015)) == true)
    }

    @Test func `a clock that is set back takes nothing and gives nothing`() {
        var bucket = TokenBucket(full: Self.rate, at: at(0))
        bucket.take(150, Self.rate, at: at(0))
        #expect(bucket.pause(Self.rate, at: at(-86400)) == 5)
        #expect(bucket.pause(Self.rate, at: at(-86396)) == 1)
    }

    @Test func `a request costs itself, the records that it names, and its bytes in thousands`() {
        let meter = WorkMeter()
        let request = Limits.requestCost
        #expect(meter.cost == request)
        meter.add(rows: 200, bytes: 999)
        #expect(meter.cost == request + 200)
        meter.add(bytes: 64_000_001)
        #expect(meter.cost == request + 64_201)
    }

    @Test func `each unit is paid once, and an answer counts once`() {
        let meter = WorkMeter()
        #expect(meter.takeUnpaid() == Limits.requestCost && meter.takeUnpaid() == 0)
        meter.add(rows: 3)
        for _ in 0..<2 { meter.answer(bytes: 2000) }
        #expect(meter.takeUnpaid() == 5 && meter.takeUnpaid() == 0)
        #expect(meter.cost == Limits.requestCost + 5)
    }

    @Test func `of too many owners those are forgotten first who owe nothing, and never more are remembered`() {
        var buckets = TokenBuckets<Int>(most: 4)
        for owner in 0..<4 { buckets.take(owner < 2 ? 150 : 20, from: owner, at: at(0)) { _ in Self.rate } }
        #expect((0..<4).map { buckets.pause(of: $0, Self.rate, at: at(0)) } == [5, 5, nil, nil])
        // Owners with little debt have all of it back by now.
        buckets.take(150, from: 4, at: at(3)) { _ in Self.rate }
        #expect((0..<5).map { buckets.pause(of: $0, Self.rate, at: at(3)) } == [2, 2, nil, nil, 5])
        for owner in 5..<20 { buckets.take(150, from: owner, at: at(3)) { _ in Self.rate } }
        #expect((0..<20).count { buckets.pause(of: $0, Self.rate, at: at(3)) != nil } <= 4)
    }
}
