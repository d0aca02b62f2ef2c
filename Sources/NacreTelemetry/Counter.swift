import Synchronization

/// A number that only rises. A count is one atomic addition, from any thread.
package final class Counter: Sendable {
    private let count = Atomic<UInt64>(0)

    package init() {}

    package func add(_ amount: UInt64 = 1) {
        count.wrappingAdd(amount, ordering: .relaxed)
    }

    /// Sets the count to one that is kept elsewhere and only rises, such as the system's.
    package func follow(_ count: UInt64) {
        self.count.store(count, ordering: .relaxed)
    }

    package var value: UInt64 { count.load(ordering: .relaxed) }
}

/// A number that rises and falls. A change is one atomic operation, from any thread.
package final class Gauge: Sendable {
    private let level = Atomic<Int>(0)

    package init() {}

    package func add(_ amount: Int = 1) {
        level.wrappingAdd(amount, ordering: .relaxed)
    }

    package func set(_ value: Int) {
        level.store(value, ordering: .relaxed)
    }

    package var value: Int { level.load(ordering: .relaxed) }
}
