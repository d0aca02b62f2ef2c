import Glibc
import NacreCloudStorage

/// The chunks whose bytes this process wrote or verified a short while ago. A value, kept under a lock.
///
/// The part of an unchanged file that is still in the kernel's page cache holds the verified bytes: later damage on the
/// disk is not in it. Only another program could bring damage into the cache, by reading the file after the kernel
/// dropped its pages, within `lifetime`.
struct SoundChunks: Sendable {
    struct Note: Sendable {
        var state: FileState
        /// The moment at which the chunk was written or hashed.
        var moment: UInt64
        /// A number that no other note has.
        fileprivate var number: Int
    }

    /// The nanoseconds for which bytes are not hashed again: a minute. On this server: a user's other devices fetch
    /// saved bytes within seconds, and bytes that many fetch are hashed once a minute.
    static let lifetime: UInt64 = 60_000_000_000
    /// The most notes: two gigabytes of chunks, and a megabyte of notes.
    static let notesMax = 8192

    private var notes: [ChunkName: Note] = [:]
    /// The notes in the order of their moments, including those that were replaced since.
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
        // Drop old elements when they are half of all, so that a note costs the same however many there are.
        if oldest * 2 > order.count {
            order.removeFirst(oldest)
            oldest = 0
        }
    }

    /// Returns the note of a chunk; nil if the chunk must be hashed.
    func note(of name: ChunkName, at now: UInt64) -> Note? {
        notes[name].flatMap { Self.isGood($0, at: now) ? $0 : nil }
    }

    /// Removes the note of a chunk. Call it before its file may be read into memory from the disk without a hash.
    mutating func forget(_ name: ChunkName) { notes[name] = nil }

    /// Whether a note is still valid.
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
