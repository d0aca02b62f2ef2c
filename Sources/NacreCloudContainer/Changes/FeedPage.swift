import NacreCloudStorage
import NacreCloudWire

/// One page of a zone's feed, with the tokens behind it. A damaged record is an error at its position, and holds
/// nothing up.
struct FeedPage: Sendable {
    package let entries: [Entry]
    /// The tokens behind the page, one for each followed view, in the order of the views.
    package let tokens: [ChangeToken.OfZone]
    package let moreComing: Bool
    package let isMidCommit: Bool
    package let clientChangeToken: [UInt8]?

    /// A record, its position in the feed, and the baseline from which its reader follows the feed.
    package struct Entry: Sendable {
        package let record: StoredRecord
        package let row: FeedRow
        package let baseline: ChangeNumber
    }

    package var records: [StoredRecord] { entries.map(\.record) }

    /// - Parameters:
    ///   - read: the entries behind the token; none, where other zones have filled the answer.
    ///   - rest: the rest of the last commit, behind `read`.
    fileprivate init(after token: ChangeToken.OfZone, of zone: ZoneRow, _ read: FeedRead, rest: FeedRest) {
        clientChangeToken = zone.clientChangeToken
        entries = zip(read.records + rest.read.records, read.entries + rest.read.entries).map {
            Entry(record: $0, row: $1.feed, baseline: token.baseline)
        }
        isMidCommit = rest.goesOn
        let end = (rest.read.entries.last ?? read.entries.last).map {
            FeedPosition($0.feed.position.number, name: rest.goesOn ? $0.record.name : nil)
        }
        let position = end ?? token.position
        moreComing = !read.isWhole && (position.name != nil || position.number < zone.number)
        var next = moreComing ? end.map { token.moved(to: $0, in: zone) } ?? token : .caughtUp(with: zone, view: token.view)
        next.began = token.began
        tokens = [next]
    }

    /// Joins the pages of some views of a zone to one.
    /// - Parameter tokens: the tokens of all views, behind these pages.
    private init(_ pages: [FeedPage], tokens: [ChangeToken.OfZone], moreComing: Bool, of zone: ZoneRow) {
        clientChangeToken = zone.clientChangeToken
        entries = pages.flatMap(\.entries)
        self.tokens = tokens
        self.moreComing = moreComing
        isMidCommit = pages.last?.isMidCommit ?? false
    }

    /// Returns the page as it is answered.
    /// - Parameters:
    ///   - types: only records of these types, or all when nil. Tombstones are answered whatever their type.
    package func results(by showing: ShownRecords, types: [String]?, keys: [String]?) -> [RecordResult] {
        entries.compactMap { entry in
            let stored = entry.record
            if entry.row.position.view != .owner, entry.row.isDeparture { return departure(of: entry, from: showing) }
            // The type of a damaged record is not sure: every client hears of it.
            if stored.isDamaged { return .failure(recordName: stored.row.name, .recordDamaged) }
            guard stored.isLive else {
                return .deleted(Tombstone(recordName: stored.row.name, recordType: stored.row.type))
            }
            if let types, !types.contains(stored.row.type) { return departure(of: stored, from: types, since: entry.baseline) }
            return showing.record(stored, keys: keys).map(RecordResult.record)
        }
    }

    /// Returns the tombstone of a record that left a view; nil for a reader who still sees it in another. A record that
    /// left several of the reader's views is told of once, with its last departure since the reader began there.
    private func departure(of entry: Entry, from showing: ShownRecords) -> RecordResult? {
        let (record, views) = (entry.record, showing.rule.views ?? [])
        if record.isLive, showing.shows(record) { return nil }
        let left = record.content.shared.places.filter { views.contains($0.view) }
        let isToldLater = left.contains { place in
            place.number > entry.row.position.number && tokens.contains { $0.view == place.view && $0.began < place.number }
        }
        if isToldLater { return nil }
        return .deleted(Tombstone(recordName: record.row.name, recordType: left.first { $0.view == entry.row.position.view }?.typeLeft))
    }

    /// Returns the tombstone of a former record of a wanted type, where the name was made again as another type since
    /// the client began. It comes with each change of the new record: the client's position does not say whether it was
    /// told.
    private func departure(of stored: StoredRecord, from types: [String], since baseline: ChangeNumber) -> RecordResult? {
        let isNews = stored.content.entered > baseline
        guard isNews, let type = stored.content.formerTypes.first(where: types.contains) else { return nil }
        return .deleted(Tombstone(recordName: stored.row.name, recordType: type))
    }
}

/// Entries of a feed that were read and have room on their page.
private struct FeedRead {
    var entries: [FeedEntry] = []
    /// The records of the entries, in the same order.
    var records: [StoredRecord] = []
    /// The feed has no further entries.
    var isWhole: Bool
}

/// The rest of the commit in which a page ends, behind the page's limit.
private struct FeedRest {
    var read = FeedRead(isWhole: false)
    /// The commit has more entries than were read.
    var goesOn = false
}

/// A zone's feed, the token behind which a page begins, and the most entries of the page.
struct AskedFeed: Sendable {
    package var token: ChangeToken.OfZone
    package var zone: ZoneRow
    package var limit: Int

    fileprivate func scan(after position: FeedPosition, through last: ChangeNumber? = nil, limit: Int) -> FeedScan {
        FeedScan(of: token.zone, view: token.view, after: position, through: last, baseline: token.baseline, limit: limit)
    }
}

extension FeedPage {
    /// Reads a page of each of these feeds of one database, with at most three calls of the store. All pages have
    /// bodies of `Limits.pageBytes` together, or one record. Once that is full, the pages of the other zones are empty,
    /// and say that there is more.
    ///
    /// - Parameters:
    ///   - room: the room for records on all pages of an answer; what they take is subtracted.
    ///   - keepsCommitsWhole: the rest of a page's last commit comes along, beyond its limit, as far as it may.
    package static func read(
        _ asked: [AskedFeed], room: inout Int, keepsCommitsWhole: Bool, _ transaction: any ReadTransaction
    ) throws -> [FeedPage] {
        let read = try transaction.portions(of: asked.map { $0.scan(after: $0.token.position, limit: $0.limit) }, in: &room)
        var rests = asked.map { _ in FeedRest() }
        // The pages that end in a commit which may go on, and the position of their end.
        var open = asked.indices.compactMap { index in
            read[index].isWhole ? nil : read[index].entries.last.map { (place: index, last: FeedPosition(of: $0)) }
        }
        if keepsCommitsWhole, room > 0 {
            let cut = open.filter { read[$0.place].entries.count == asked[$0.place].limit }
            let found = try transaction.portions(
                of: cut.map { asked[$0.place].scan(after: $0.last, through: $0.last.number, limit: Limits.changesPerUnsplitCommit - 1) }, in: &room)
            for (cut, portion) in zip(cut, found) { rests[cut.place].read = portion }
            let whole = Set(zip(cut, found).filter { $1.isWhole }.map(\.0.place))
            open = open.filter { !whole.contains($0.place) }.map {
                (place: $0.place, last: rests[$0.place].read.entries.last.map(FeedPosition.init(of:)) ?? $0.last)
            }
        }
        let behind =
            open.isEmpty
            ? []
            : try transaction.feed(open.map { asked[$0.place].scan(after: $0.last, through: $0.last.number, limit: 1) }, bytesMax: Limits.pageBytes)
        for (open, portion) in zip(open, behind) { rests[open.place].goesOn = !portion.isWhole }
        return asked.indices.map { FeedPage(after: asked[$0].token, of: asked[$0].zone, read[$0], rest: rests[$0]) }
    }
}

extension FeedPage {
    /// Reads a page of some views of one zone, one view after the other. Costs at most three calls of the store for
    /// each view that is reached.
    package static func read(
        _ tokens: [ChangeToken.OfZone], of zone: ZoneRow, limit: Int, room: inout Int, keepsCommitsWhole: Bool, _ transaction: any ReadTransaction
    ) throws -> FeedPage {
        var (next, pages, left) = (tokens, [FeedPage](), limit)
        for index in tokens.indices where tokens[index].position != FeedPosition(zone.number) {
            guard left > 0, room > 0 || pages.isEmpty, pages.last?.moreComing != true else { break }
            let asked = AskedFeed(token: tokens[index], zone: zone, limit: left)
            let found = try read([asked], room: &room, keepsCommitsWhole: keepsCommitsWhole, transaction)
            pages += found
            left -= found.reduce(0) { $0 + $1.entries.count }
            next[index] = found.first?.tokens.first ?? tokens[index]
        }
        let moreComing = next.contains { $0.position != FeedPosition(zone.number) }
        for index in next.indices { next[index].seen = zone.number }
        return FeedPage(pages, tokens: next, moreComing: moreComing, of: zone)
    }
}

extension ReadTransaction {
    /// Reads portions of feeds, as far as there is room.
    /// - Parameter room: the room for records, as `StoredRecord.pageBytes` counts them; what they take is subtracted.
    ///   Only the first record of all may need more than there is.
    fileprivate func portions(of scans: [FeedScan], in room: inout Int) throws -> [FeedRead] {
        guard !scans.isEmpty else { return [] }
        var isFull = false
        var reads: [FeedRead] = []
        for (scan, portion) in zip(scans, try feed(scans, bytesMax: max(room, 1))) {
            var read = FeedRead(isWhole: portion.isWhole)
            for entry in portion.entries where !isFull {
                let record = StoredRecord(entry.record, in: scan.zone)
                isFull = record.pageBytes > room && room < Limits.pageBytes
                if isFull { break }
                room -= record.pageBytes
                read.entries.append(entry)
                read.records.append(record)
            }
            read.isWhole = portion.isWhole && read.entries.count == portion.entries.count
            reads.append(read)
        }
        return reads
    }
}

extension FeedPosition {
    fileprivate init(of entry: FeedEntry) {
        self.init(entry.feed.position.number, name: entry.record.name)
    }
}
