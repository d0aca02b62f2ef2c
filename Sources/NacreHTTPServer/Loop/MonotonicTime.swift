import Glibc

/// Moments and spans of the clock that never jumps, in nanoseconds.
enum MonotonicTime {
    /// Far enough for "never".
    static let never = UInt64.max

    static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }
}

extension Duration {
    /// Whole nanoseconds; negative durations count as none.
    var nanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        // A century is as good as never, and does not overflow.
        return UInt64(min(seconds, 3_155_760_000)) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
    }
}
