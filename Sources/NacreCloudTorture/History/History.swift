/// The requests and answers about one zone with their times. Compact, because there are millions of them.
package struct History: Sendable {
    /// A time span in nanoseconds of the monotonic clock.
    package struct Span: Hashable, Sendable {
        package var start: UInt64
        package var end: UInt64

        package init(_ start: UInt64, _ end: UInt64) {
            self.start = start
            self.end = end
        }
    }

    package enum Outcome: UInt8, Hashable, Sendable {
        /// The server said that all of it is done.
        case applied
        /// The server said that nothing of it is done.
        case refused
        /// No answer tells: it may have been done.
        case unknown
    }

    /// A batch that changes several records at once or none, from the first attempt's start to the last one's end.
    package struct Write: Sendable {
        package var batch: BatchID
        package var span: Span
        package var outcome: Outcome
        /// Its range of `items`.
        package var items: Range<Int>
        /// Its range of `sights`: the tags that its own answer gave.
        package var shown: Range<Int>
    }

    /// The change of one record by a batch.
    package struct Item: Sendable {
        package var record: RecordKey
        /// The version that it builds on: the server was told its tag, or the record has no other writer.
        package var before: Version
        package var isDeletion: Bool

        package init(_ record: RecordKey, over before: Version, isDeletion: Bool = false) {
            self.record = record
            self.before = before
            self.isDeletion = isDeletion
        }
    }

    /// A record as it was seen in an answer.
    package struct Sight: Sendable {
        package var record: RecordKey
        package var version: Version
        /// A digest of the change tag; 0 where there was none.
        package var tag: UInt64

        package init(_ record: RecordKey, _ version: Version, tag: UInt64 = 0) {
            self.record = record
            self.version = version
            self.tag = tag
        }
    }

    /// An answer that showed records of one moment.
    package struct Read: Sendable {
        package enum Kind: String, Sendable {
            case lookup
            /// A query's result: the records found, and those not found.
            case query
            /// The server's records in the refusal of a batch.
            case refusal
            /// The answer to a retry of a batch.
            case retry
        }

        package var kind: Kind
        package var span: Span
        /// Its range of `sights`.
        package var sights: Range<Int>
    }

    /// A page of the zone's feed.
    package struct Page: Sendable {
        package var span: Span
        /// Its range of `sights`, in the feed's order.
        package var sights: Range<Int>
        /// Whether nothing more was there when it was read.
        package var isCaughtUp: Bool
        /// Whether it says that it ends inside a commit.
        package var isMidCommit: Bool
    }

    /// A client that follows the feed from token to token.
    package struct Stream: Sendable {
        package enum Origin: Hashable, Sendable {
            case beginning
            /// The token of a page of another stream, used again.
            case token(stream: Int, page: Int)
        }

        package var origin: Origin
        package var pages: [Page] = []
    }

    package private(set) var writes: [Write] = []
    package private(set) var items: [Item] = []
    package private(set) var reads: [Read] = []
    package private(set) var sights: [Sight] = []
    package private(set) var streams: [Stream] = []
    /// The sights of lookups after the last write.
    package private(set) var finalSights: Range<Int> = 0..<0
    /// Violations that a writer or a follower found at once.
    package private(set) var faults: [Violation] = []

    package init() {}

    /// The number of entries. They cost 16 to 48 bytes of memory each.
    package var count: Int { writes.count + items.count + reads.count + sights.count }
}

// MARK: Recording

extension History {
    package mutating func write(_ batch: BatchID, _ span: Span, _ outcome: Outcome, _ items: [Item], shown: [Sight] = []) {
        let place = self.items.count
        self.items += items
        writes.append(Write(batch: batch, span: span, outcome: outcome, items: place..<self.items.count, shown: keep(shown)))
    }

    package mutating func read(_ kind: Read.Kind, _ span: Span, _ sights: [Sight]) {
        guard !sights.isEmpty else { return }
        reads.append(Read(kind: kind, span: span, sights: keep(sights)))
    }

    /// Adds a stream and returns its number.
    package mutating func follow(from origin: Stream.Origin = .beginning) -> Int {
        streams.append(Stream(origin: origin))
        return streams.count - 1
    }

    /// Adds the next page of a stream.
    package mutating func page(of stream: Int, _ span: Span, _ sights: [Sight], isCaughtUp: Bool, isMidCommit: Bool = false) {
        streams[stream].pages.append(Page(span: span, sights: keep(sights), isCaughtUp: isCaughtUp, isMidCommit: isMidCommit))
    }

    package mutating func end(with sights: [Sight]) {
        finalSights = keep(sights)
    }

    package mutating func fault(_ violation: Violation) {
        faults.append(violation)
    }

    private mutating func keep(_ sights: [Sight]) -> Range<Int> {
        let place = self.sights.count
        self.sights += sights
        return place..<self.sights.count
    }

    /// Adds another history of the same zone.
    package mutating func append(_ other: History) {
        let (item, sight, stream) = (items.count, sights.count, streams.count)
        items += other.items
        sights += other.sights
        writes += other.writes.map { write in
            var write = write
            write.items = write.items.moved(by: item)
            write.shown = write.shown.moved(by: sight)
            return write
        }
        reads += other.reads.map { Read(kind: $0.kind, span: $0.span, sights: $0.sights.moved(by: sight)) }
        streams += other.streams.map { other in
            var origin = other.origin
            if case .token(let parent, let page) = origin { origin = .token(stream: parent + stream, page: page) }
            let pages = other.pages.map { page in
                var page = page
                page.sights = page.sights.moved(by: sight)
                return page
            }
            return Stream(origin: origin, pages: pages)
        }
        if !other.finalSights.isEmpty { finalSights = other.finalSights.moved(by: sight) }
        faults += other.faults
    }
}

extension Range<Int> {
    fileprivate func moved(by distance: Int) -> Range<Int> { lowerBound + distance..<upperBound + distance }
}
