import Glibc

/// Gives back to the system what the allocator keeps after a burst of work.
///
/// glibc frees by itself only what lies at the end of its heaps, and one small value high up keeps all that is free below. After 64 clients had saved
/// batches of 200, 112 MB stayed resident, and 48 MB when this had run.
struct SpareMemory {
    /// CPU seconds since the last time from which it is worth walking the heaps: that is work for thousands of requests.
    private static let workSeconds = 0.2
    /// CPU seconds between two looks, a rest of the task runner apart, below which nobody waits for an allocation that this might hold up.
    private static let idleSeconds = 0.02
    /// Looks after which it is done nevertheless: where a few always ask, a server never idles, and kept 25 MB of an hour ago. Twenty seconds.
    private static let looksUntilReturn = 10

    /// `malloc_trim`; nil where the C library is another.
    private let trim: (@convention(c) (Int) -> Int32)? = dlsym(nil, "malloc_trim").map {
        unsafeBitCast($0, to: (@convention(c) (Int) -> Int32).self)
    }
    /// Bytes at the end of a heap that the allocator keeps by itself. glibc's own 128 KB are less than a page of a feed takes in its several forms, so each
    /// page gave them back and took them again: 70 page faults, and a tenth of its CPU. What is kept goes back at the next rest.
    private static let keptBytes: Int32 = 4 * 1024 * 1024
    /// Bytes of one value from which it gets memory of its own, which goes back with it.
    private static let mappedBytes: Int32 = 1024 * 1024

    /// malloc.h, which Swift's module of glibc leaves out: `M_TRIM_THRESHOLD`, `M_MMAP_THRESHOLD`.
    private static let (trimThreshold, mapThreshold): (Int32, Int32) = (-1, -3)

    private var lastLook = SpareMemory.processSeconds()
    private var lastReturn = 0.0
    private var looks = 0

    /// Sets how much the allocator of this process keeps between two bursts.
    init() {
        guard let symbol = dlsym(nil, "mallopt") else { return }
        let set = unsafeBitCast(symbol, to: (@convention(c) (Int32, Int32) -> Int32).self)
        _ = set(Self.trimThreshold, Self.keptBytes)
        _ = set(Self.mapThreshold, Self.mappedBytes)
    }

    /// To be called at every rest. Costs a system call, and after a burst a few milliseconds.
    mutating func returnAfterBurst() {
        let now = Self.processSeconds()
        defer { lastLook = now }
        looks += 1
        guard let trim, Self.isDue(looks, work: now - lastReturn, recentWork: now - lastLook) else { return }
        _ = trim(0)
        (lastReturn, looks) = (Self.processSeconds(), 0)
    }

    /// - Parameters:
    ///   - looks: since memory was returned, this one included.
    ///   - work: CPU seconds since then.
    ///   - recentWork: those since the last look.
    static func isDue(_ looks: Int, work: Double, recentWork: Double) -> Bool {
        work >= workSeconds && (recentWork < idleSeconds || looks >= looksUntilReturn)
    }

    /// CPU time of all threads so far.
    private static func processSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
