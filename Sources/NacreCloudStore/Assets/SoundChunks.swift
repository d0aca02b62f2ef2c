import Glibc
import NacreCloudContainer

/// Chunks whose bytes this process wrote or held against their names a short while ago: a value, kept under a lock.
///
/// What of them still lies in the kernel's memory, in a file that nobody has changed, is what was written or hashed then: what is altered on the disk
/// meanwhile is not in it. Only another program that reads the same file could bring it in, after the kernel gave the memory away: within this time.
struct SoundChunks: Sendable {
    struct Note: Sendable {
        var state: FileState
        /// When it was written or hashed.
        var moment: UInt64
        /// No two notes have one.
        fileprivate var number: Int
    }

    /// How long bytes are not hashed again, in nanoseconds: a minute. On this server: those that a user has saved are fetched by the user's other devices
    /// within seconds, and what many fetch is hashed once a minute.
    static let lifetime: UInt64 = 60_000_000_000
    /// Two gigabytes of chunks, and a megabyte of notes.
    static let notesMax = 8192

    private var notes: [ChunkName: Note] = [:]
    /// In the order of their moments, those too that were noted again since.
    private var order: [(name: ChunkName, moment: UInt64, number: Int)] = []
    private var oldest = 0
    private var number = 0

    mutating func note(_ name: ChunkName, _ state: FileState, at now: UInt64) {
        number += 1
        notes[name] = Note(state: state, moment: now, number: number)
        order.append((name, now, number))
        while oldest < order.count, order.count - oldest > Self.notesMax || !Self.isGood(at: now, since: order[oldest].moment) {
            let (name, _, number) = order[oldest]
            if notes[name]?.number == number { notes[name] = nil }
            oldest += 1
        }
        // What is behind is dropped when it is half of all, so that a note costs the same however many there are.
        if oldest * 2 > order.count {
            order.removeFirst(oldest)
            oldest = 0
        }
    }

    /// nil: the chunk is to be hashed.
    func note(of name: ChunkName, at now: UInt64) -> Note? {
        notes[name].flatMap { Self.isGood($0, at: now) ? $0 : nil }
    }

    /// To be told before anything may bring the chunk's file into memory from the disk that does not hash it first: what has a note from before is not
    /// good any more.
    mutating func forget(_ name: ChunkName) { notes[name] = nil }

    /// Whether a note still stands.
    func stands(_ note: Note, of name: ChunkName, at now: UInt64) -> Bool {
        notes[name]?.number == note.number && Self.isGood(note, at: now)
    }

    private static func isGood(_ note: Note, at now: UInt64) -> Bool { isGood(at: now, since: note.moment) }

    private static func isGood(at now: UInt64, since moment: UInt64) -> Bool { now >= moment && now - moment < lifetime }

    static let now: @Sendable () -> UInt64 = {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
