import Glibc

/// The clock of histories: monotonic nanoseconds, the same for every thread of this process.
enum MonotonicClock {
    static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(bitPattern: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    static func seconds(since start: UInt64) -> Double {
        Double(now - start) / 1e9
    }
}
