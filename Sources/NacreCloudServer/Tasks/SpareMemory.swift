import Glibc

/// Returns memory to the system that the allocator keeps after a burst of work.
///
/// glibc by itself frees only the end of its heaps, and one small value high up keeps everything free below it. After
/// 64 clients had saved batches of 200, 112 MB stayed resident; 48 MB after a return.
struct SpareMemory {
    /// CPU seconds since the last return that make another one worth its walk over the heaps: the work of thousands of
    /// requests.
    private static let workSeconds = 0.2
    /// CPU seconds between two looks, one rest of the task runner apart. Below that the server is idle, and no request
    /// waits for an allocation.
    private static let idleSeconds = 0.02
    /// Looks after which memory is returned although the server is busy: 20 seconds. A server with a few constant
    /// clients never idles, and kept 25 MB from an hour before.
    private static let looksUntilReturn = 10

    /// `malloc_trim`; nil if the C library has none.
    private let trim: (@convention(c) (Int) -> Int32)? = dlsym(nil, "malloc_trim").map {
        unsafeBitCast($0, to: (@convention(c) (Int) -> Int32).self)
    }
    /// Bytes at the end of a heap that the allocator keeps. A page of a feed takes more than glibc's 128 KB in its
    /// several forms. Each page then gave the memory back and took it again, with 70 page faults and a tenth of its
    /// CPU. Kept memory goes back at the next rest.
    private static let keptBytes: Int32 = 4 * 1024 * 1024
    /// Size from which a value gets memory of its own, which is returned with the value.
    private static let mappedBytes: Int32 = 1024 * 1024

    /// Constants of malloc.h that Swift's Glibc module leaves out: `M_TRIM_THRESHOLD`, `M_MMAP_THRESHOLD`.
    private static let (trimThreshold, mapThreshold): (Int32, Int32) = (-1, -3)

    private var lastLook = SpareMemory.processSeconds()
    private var lastReturn = 0.0
    private var looks = 0

    /// Sets how much memory the allocator of this process keeps between bursts.
    init() {
        guard let symbol = dlsym(nil, "mallopt") else { return }
        let set = unsafeBitCast(symbol, to: (@convention(c) (Int32, Int32) -> Int32).self)
        _ = set(Self.trimThreshold, Self.keptBytes)
        _ = set(Self.mapThreshold, Self.mappedBytes)
    }

    /// Returns memory if a return is due. Call it at every rest; it costs a system call, and a few milliseconds after a
    /// burst.
    mutating func returnAfterBurst() {
        let now = Self.processSeconds()
        defer { lastLook = now }
        looks += 1
        guard let trim, Self.isDue(looks, work: now - lastReturn, recentWork: now - lastLook) else { return }
        _ = trim(0)
        (lastReturn, looks) = (Self.processSeconds(), 0)
    }

    /// - Parameters:
    ///   - looks: the number since the last return, including this one.
    ///   - work: CPU seconds since the last return.
    ///   - recentWork: CPU seconds since the last look.
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
