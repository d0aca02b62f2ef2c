import NacreCloudWire

/// One page of a zone's feed, with the token after it. A damaged record is an error in its place, and holds nothing up.
struct FeedPage: Sendable {
    let entries: [Entry]
    /// Behind the page: of the views that are followed, in their order.
    let tokens: [ChangeToken.OfZone]
    let moreComing: Bool
    let isMidCommit: Bool
    let clientChangeToken: [UInt8]?

    /// A record, where it stands in the feed, and since when its reader follows.
    struct Entry: Sendable {
        let record: StoredRecord
        let row: FeedRow
        let baseline: ChangeNumber
    }

    var records: [StoredRecord] { entries.map(\.record) }

    /// - Parameters:
    ///   - read: of its feed behind the token; nothing, where other zones have filled the answer.
    ///   - rest: of the last commit, behind `read`.
    fileprivate init(after token: ChangeToken.OfZone, of zone: ZoneRow, _ read: FeedRead, rest: FeedRest) {
        clientChangeToken = zone.clientChangeToken
        entries = zip(read.records + rest.read.records, read.entries + rest.read.entries).map {
            Entry(record: $0, row: $1.feed, baseline: token.baseline)
        }
        isMidCommit = rest.goesOn
        let end = (rest.read.entries.last ?? read.entries.last).map { FeedPosition($0.feed.place.number, name: rest.goesOn ? $0.record.name : nil) }
        let position = end ?? token.position
        moreComing = !read.isWhole && (position.name != nil || position.number < zone.number)
        var next = moreComing ? end.map { token.moved(to: $0, in: zone) } ?? token : .caughtUp(with: zone, view: token.view)
        next.began = token.began
        tokens = [next]
    }

    /// Pages of some views of a zone as one.
    /// - Parameter tokens: of all views, behind these pages.
    private init(_ pages: [FeedPage], tokens: [ChangeToken.OfZone], moreComing: Bool, of zone: ZoneRow) {
        clientChangeToken = zone.clientChangeToken
        entries = pages.flatMap(\.entries)
        self.tokens = tokens
        self.moreComing = moreComing
        isMidCommit = pages.last?.isMidCommit ?? false
    }

    /// The page as it is answered.
    /// - Parameters:
    ///   - types: only records of these types, or all when nil. What is gone is told whatever its type was.
    func results(by showing: ShownRecords, types: [String]?, keys: [String]?) -> [RecordResult] {
        entries.compactMap { entry in
            let stored = entry.record
            if entry.row.place.view != .owner, entry.row.isDeparture { return departure(of: entry, from: showing) }
            // Its type is not sure: everybody hears of it.
            if stored.isDamaged { return .failure(recordName: stored.row.name, .recordDamaged) }
            guard stored.isLive else {
                return .deleted(Tombstone(recordName: stored.row.name, recordType: stored.row.type))
            }
            if let types, !types.contains(stored.row.type) { return departure(of: stored, from: types, since: entry.baseline) }
            return showing.record(stored, keys: keys).map(RecordResult.record)
        }
    }

    /// Who still sees a record by another share does not hear that it left one; who saw it leave several hears so of the last, as far as that view tells
    /// them.
    private func departure(of entry: Entry, from showing: ShownRecords) -> RecordResult? {
        let (record, views) = (entry.record, showing.rule.views ?? [])
        if record.isLive, showing.shows(record) { return nil }
        let left = record.content.shared.places.filter { views.contains($0.view) }
        let isToldLater = left.contains { place in
            place.number > entry.row.place.number && tokens.contains { $0.view == place.view && $0.began < place.number }
        }
        if isToldLater { return nil }
        return .deleted(Tombstone(recordName: record.row.name, recordType: left.first { $0.view == entry.row.place.view }?.typeLeft))
    }

    /// A client that wants a type hears that its record went, when the name has been made again as another type since the client began. It hears so
    /// with each change of the new record: the place that it has reached does not tell whether it has heard.
    private func departure(of stored: StoredRecord, from types: [String], since baseline: ChangeNumber) -> RecordResult? {
        let isNews = stored.content.entered > baseline
        guard isNews, let type = stored.content.formerTypes.first(where: types.contains) else { return nil }
        return .deleted(Tombstone(recordName: stored.row.name, recordType: type))
    }
}

/// What was read of a feed and has room on its page.
private struct FeedRead {
    var entries: [FeedEntry] = []
    /// Those of the entries, in their order.
    var records: [StoredRecord] = []
    /// There is no more.
    var isWhole: Bool
}

/// Of the commit that a page ends in, what is behind its limit.
private struct FeedRest {
    var read = FeedRead(isWhole: false)
    /// The commit is longer than what was read of it.
    var goesOn = false
}

/// Where a page of a zone's feed begins.
struct AskedFeed: Sendable {
    var token: ChangeToken.OfZone
    var zone: ZoneRow
    var limit: Int

    fileprivate func scan(after position: FeedPosition, through last: ChangeNumber? = nil, limit: Int) -> FeedScan {
        FeedScan(of: token.zone, view: token.view, after: position, through: last, baseline: token.baseline, limit: limit)
    }
}

extension FeedPage {
    /// A page of each of these feeds of one database: three questions at most, and bodies of `Limits.pageBytes` in all, or one record. Once that is full,
    /// the pages of the other zones are empty, and say that there is more.
    ///
    /// - Parameters:
    ///   - room: for records, on all pages of an answer; what they take is taken off.
    ///   - keepsCommitsWhole: the rest of a page's last commit comes along, beyond its limit, as far as it may.
    static func read(
        _ asked: [AskedFeed], room: inout Int, keepsCommitsWhole: Bool, _ transaction: any ReadTransaction
    ) throws -> [FeedPage] {
        let read = try transaction.portions(of: asked.map { $0.scan(after: $0.token.position, limit: $0.limit) }, in: &room)
        var rests = asked.map { _ in FeedRest() }
        // Who ends in a commit that may go on, and where.
        var open = asked.indices.compactMap { place in
            read[place].isWhole ? nil : read[place].entries.last.map { (place: place, last: FeedPosition(of: $0)) }
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
    /// A page of some views of one zone, one after the other. Costs three questions for each that is reached.
    static func read(
        _ tokens: [ChangeToken.OfZone], of zone: ZoneRow, limit: Int, room: inout Int, keepsCommitsWhole: Bool, _ transaction: any ReadTransaction
    ) throws -> FeedPage {
        var (next, pages, left) = (tokens, [FeedPage](), limit)
        for place in tokens.indices where tokens[place].position != FeedPosition(zone.number) {
            guard left > 0, room > 0 || pages.isEmpty, pages.last?.moreComing != true else { break }
            let asked = AskedFeed(token: tokens[place], zone: zone, limit: left)
            let found = try read([asked], room: &room, keepsCommitsWhole: keepsCommitsWhole, transaction)
            pages += found
            left -= found.reduce(0) { $0 + $1.entries.count }
            next[place] = found.first?.tokens.first ?? tokens[place]
        }
        let moreComing = next.contains { $0.position != FeedPosition(zone.number) }
        for place in next.indices { next[place].seen = zone.number }
        return FeedPage(pages, tokens: next, moreComing: moreComing, of: zone)
    }
}

extension ReadTransaction {
    /// - Parameter room: for records, as `StoredRecord.pageBytes` counts them; what they take is taken off. Only the first record of all may need
    ///   more than there is.
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
        self.init(entry.feed.place.number, name: entry.record.name)
    }
}
