import NacreCloudWire

/// One page of a zone's feed, with the token after it. A damaged record is an error in its place, and holds nothing up.
struct FeedPage: Sendable {
    private(set) var records: [StoredRecord] = []
    private(set) var token: ChangeToken.OfZone
    private(set) var moreComing = false
    private(set) var isMidCommit = false
    private(set) var clientChangeToken: [UInt8]?
    private let start: ChangeToken.OfZone

    /// Nothing of the feed: other zones have filled the answer.
    init(unreadAfter token: ChangeToken.OfZone, of zone: ZoneRow) {
        start = token
        clientChangeToken = zone.clientChangeToken
        moreComing = token.position.name != nil || token.position.number < zone.number
        self.token = moreComing ? token : .caughtUp(with: zone, view: token.view)
    }

    /// What it takes of `Limits.pageBytes`.
    private(set) var bytes = 0

    /// - Parameter keepsCommitsWhole: the rest of the last commit comes along, beyond the limit, as far as it may.
    init(
        after token: ChangeToken.OfZone, of zone: ZoneRow, limit: Int, keepsCommitsWhole: Bool, _ transaction: any ReadTransaction
    ) throws {
        start = token
        self.token = .caughtUp(with: zone, view: token.view)
        clientChangeToken = zone.clientChangeToken
        var reading = FeedReading(token: token, transaction: transaction)
        let stop = try reading.read(through: nil, upTo: limit)
        if stop != .end, let last = reading.last {
            let number = last.feed.place.number
            let most = reading.entries.count + (keepsCommitsWhole ? Limits.changesPerUnsplitCommit - 1 : 0)
            let rest = stop == .count ? try reading.read(through: number, upTo: most) : stop
            isMidCommit = try rest != .end && reading.hasMore(through: number)
            let end = reading.last ?? last
            let position = FeedPosition(number, name: isMidCommit ? end.record.name : nil)
            moreComing = isMidCommit || position.number < zone.number
            if moreComing { self.token = token.moved(to: position, in: zone) }
        }
        records = reading.records
        bytes = reading.bytes
    }

    /// The page as it is answered.
    /// - Parameters:
    ///   - types: only records of these types, or all when nil. What is gone is told whatever its type was.
    func results(by showing: ShownRecords, types: [String]?, keys: [String]?) -> [RecordResult] {
        records.compactMap { stored in
            // Its type is not sure: everybody hears of it.
            if stored.isDamaged { return .failure(recordName: stored.row.name, .recordDamaged) }
            guard stored.isLive else {
                return .deleted(Tombstone(recordName: stored.row.name, recordType: stored.row.type))
            }
            if let types, !types.contains(stored.row.type) { return departure(of: stored, from: types) }
            return showing.record(stored, keys: keys).map(RecordResult.record)
        }
    }

    /// A client that wants a type hears that its record went, when the name has been made again as another type since the client began. It hears so
    /// with each change of the new record: the place that it has reached does not tell whether it has heard.
    private func departure(of stored: StoredRecord, from types: [String]) -> RecordResult? {
        let isNews = stored.content.entered > start.baseline
        guard isNews, let type = stored.content.formerTypes.first(where: types.contains) else { return nil }
        return .deleted(Tombstone(recordName: stored.row.name, recordType: type))
    }
}

/// Reads a feed in portions, so that no more of large records is in memory than a page takes.
private struct FeedReading {
    enum Stop {
        /// There is no more.
        case end
        /// There are as many as were asked for, and maybe more.
        case count
        /// `Limits.pageBytes` are full, and there may be more.
        case bytes
    }

    let token: ChangeToken.OfZone
    let transaction: any ReadTransaction
    private(set) var entries: [FeedEntry] = []
    /// Those of the entries, in their order.
    private(set) var records: [StoredRecord] = []
    private(set) var bytes = 0

    init(token: ChangeToken.OfZone, transaction: any ReadTransaction) {
        self.token = token
        self.transaction = transaction
    }

    var last: FeedEntry? { entries.last }

    /// Records of a first portion, before anything is known of their size. On this server.
    private static let firstPortion = 25

    /// Reads on until there are `count` entries.
    /// - Parameter last: the change number beyond which nothing is read.
    mutating func read(through last: ChangeNumber?, upTo count: Int) throws -> Stop {
        while entries.count < count {
            if bytes >= Limits.pageBytes { return .bytes }
            let mean = entries.isEmpty ? Limits.pageBytes / Self.firstPortion : max(1, bytes / entries.count)
            let portion = min(count - entries.count, max(1, (Limits.pageBytes - bytes) / mean))
            let found = try next(portion, through: last)
            for entry in found {
                let record = StoredRecord(entry.record, in: token.zone)
                // A page that is not empty ends before the record that it has no room for.
                if bytes > 0, bytes + record.pageBytes > Limits.pageBytes { return .bytes }
                entries.append(entry)
                records.append(record)
                bytes += record.pageBytes
            }
            if found.count < portion { return .end }
        }
        return .count
    }

    func hasMore(through last: ChangeNumber) throws -> Bool {
        try !next(1, through: last).isEmpty
    }

    private func next(_ limit: Int, through last: ChangeNumber?) throws -> [FeedEntry] {
        let position = entries.last.map { FeedPosition($0.feed.place.number, name: $0.record.name) } ?? token.position
        return try transaction.feed(
            of: token.zone, view: token.view, after: position, through: last, baseline: token.baseline, limit: limit)
    }
}
