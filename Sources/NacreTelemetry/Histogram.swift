import Synchronization

/// The number of values of each size, in buckets whose bounds are powers of two. A value costs two atomic additions,
/// from any thread and without a lock. The memory is fixed.
package final class Histogram: Sendable {
    package let unit: MetricUnit
    private let buckets: Buckets
    private let total = Atomic<UInt64>(0)

    package init(unit: MetricUnit) {
        self.unit = unit
        // One bucket for each bound, and one for values above the last bound.
        buckets = Buckets(count: unit.exponents.count + 1)
    }

    /// Records a value, in nanoseconds if the unit is seconds.
    package func record(_ value: UInt64) {
        buckets.add(bucket(of: value))
        total.wrappingAdd(value, ordering: .relaxed)
    }

    package func record(_ duration: Duration) {
        record(duration.nanoseconds)
    }

    /// Returns the smallest bucket whose bound is not below the value. Bounds are inclusive, like Prometheus' `le`.
    private func bucket(of value: UInt64) -> Int {
        let exponent = value <= 1 ? 0 : UInt64.bitWidth - (value - 1).leadingZeroBitCount
        return min(max(exponent - unit.exponents.lowerBound, 0), unit.exponents.count)
    }

    /// The values recorded up to now. A value that arrives meanwhile may be in one part and not yet in another.
    package var snapshot: Snapshot {
        Snapshot(bounds: unit.exponents.map { UInt64(1) << UInt64($0) }, counts: buckets.counts, sum: total.load(ordering: .relaxed))
    }

    package struct Snapshot: Sendable {
        /// The inclusive upper bounds. `counts` has one more element, for values above the last bound.
        package let bounds: [UInt64]
        package let counts: [UInt64]
        package let sum: UInt64

        package var count: UInt64 { counts.reduce(0, +) }
    }
}

private final class Buckets: @unchecked Sendable {
    // Sendable: the pointer never changes, and its memory is only touched by atomic operations until the last reference
    // is gone.
    private let storage: UnsafeMutablePointer<Atomic<UInt64>>
    private let count: Int

    init(count: Int) {
        self.count = count
        storage = .allocate(capacity: count)
        for index in 0..<count { (storage + index).initialize(to: Atomic(0)) }
    }

    deinit {
        storage.deinitialize(count: count)
        storage.deallocate()
    }

    func add(_ index: Int) {
        storage[index].wrappingAdd(1, ordering: .relaxed)
    }

    var counts: [UInt64] { (0..<count).map { storage[$0].load(ordering: .relaxed) } }
}

extension Duration {
    /// Whole nanoseconds; 0 for a negative duration.
    package var nanoseconds: UInt64 { UInt64(clamping: components.seconds &* 1_000_000_000 &+ components.attoseconds / 1_000_000_000) }
    /// Whole microseconds; 0 for a negative duration.
    package var microseconds: Int64 { max(0, components.seconds &* 1_000_000 &+ components.attoseconds / 1_000_000_000_000) }
}
