import NacreCloudServerWire
package import NacreCloudStorage
package import NacreCloudWire

/// A page of a query's answer, from one zone or many.
package struct QueryPage: Sendable {
    package private(set) var records = PagedRecords()
    /// Damaged records that the search met, with their zones. Whether they pass is not known.
    package private(set) var damaged: [(record: StoredRecord, zoneID: ZoneID)] = []
    /// The position where the next page begins; nil: this is the last one.
    package private(set) var cursor: QueryCursor?
    /// Whether the page made no progress for lack of an index. The next one makes none either until it is there.
    package var waits: Bool { cursor?.effort == .wait }
    private(set) var rowsRead = 0
    private(set) var recordsRead = 0
    /// The number of read records that were tested.
    private(set) var considered = 0
    /// The bytes that it looked at.
    package private(set) var work = 0
    /// The calls of the store for one zone, or for all together.
    private var questions = 0
    /// Whether in every zone each page can only walk.
    private var onlyWalks = false
    /// The description of the search, one line for each zone.
    package private(set) var steps: [String] = []
    /// The way that the search took in the first zone, in names of the schema alone; nil without a zone.
    private(set) var way: String?
    /// The zones that are sorted without an index, as far as this portion of the page and the earlier ones got.
    package private(set) var sorted: [ZoneAddress: PartlySorted]
    /// Whether the page made no progress yet and another portion will.
    package var goesOn: Bool { waits && !sorted.isEmpty }
    package let query: CheckedQuery
    package private(set) var order: QueryOrder

    /// The least rows of each of many zones, so that each makes progress. On this server.
    private static let rowsPerZone = 16

    package init(
        _ query: CheckedQuery, after cursor: QueryCursor?, in zones: [ResolvedZone], digest: UInt64, seen: QueryCursor.Seen, limit: Int,
        keys: [String]?, rows: Int, work: Int, questions: Int, goingOn sorted: [ZoneAddress: PartlySorted] = [:],
        _ transaction: any ReadTransaction
    ) throws {
        self.query = query
        self.sorted = sorted
        var chosen = cursor?.order ?? .asked
        order = try Self.order(chosen, of: query)
        if let cursor, cursor.position.keys.count > order.terms.count { throw ServerError.markerOfAnotherQuery }
        if let cursor, questions < QueryReader.questionsLeast {
            // The marker gets the current state, so that the next page need not make these calls.
            self.cursor = QueryCursor(digest: digest, order: chosen, effort: cursor.effort, position: cursor.position, seen: seen)
            return
        }
        let effort = cursor?.effort ?? .search
        let start = cursor?.position ?? .start
        let most = effort == .persist || query.lacksIndex ? Int.max : questions
        let mayReorder = cursor == nil && query.terms.isEmpty
        let share = zones.count > 1 ? max(rows / zones.count, Self.rowsPerZone) : max(rows, 1)
        let workShare = work / max(zones.count, 1)
        let search = { (page: inout QueryPage, order: QueryOrder, after: QueryPosition?, mayReorder: Bool) in
            try page.search(
                zones, in: order, after: after, limit: limit, rows: share, work: workShare, most == .max ? .max : most - page.questions, effort,
                mayReorder, transaction)
        }
        var found = try search(&self, order, cursor?.position, mayReorder)
        if found == nil, let filter = query.drivers.first(where: { $0.ownTerm != nil })?.filter {
            chosen = .ofFilter(filter)
            order = try Self.order(chosen, of: query)
            found = try search(&self, order, nil, false)
        }
        let answers = found ?? []
        let left = most == .max ? Int.max : max(0, most - self.questions)
        let end = try take(answers, from: start, of: zones, limit: limit, keys: keys, QueryReader(IndexReads(transaction), questions: left))
        self.cursor = end.map { end in
            let next = effort.next(gotSomewhere: end != start, lacksIndex: query.lacksIndex, onlyWalks: onlyWalks)
            return QueryCursor(digest: digest, order: chosen, effort: next, position: end, seen: seen)
        }
    }

    private static func order(_ chosen: QueryCursor.Order, of query: CheckedQuery) throws(ServerError) -> QueryOrder {
        guard case .ofFilter(let filter) = chosen else { return QueryOrder(terms: query.terms) }
        let driver = query.drivers.first { $0.filter == filter && $0.ownTerm != nil }
        guard let term = driver?.ownTerm else { throw .indexesAreBuilding }
        return QueryOrder(terms: [term])
    }

    /// - Returns: nil if a zone has too many records for this order, and another order may be taken.
    private mutating func search(
        _ zones: [ResolvedZone], in order: QueryOrder, after: QueryPosition?, limit: Int, rows: Int, work: Int, _ questions: Int,
        _ effort: QueryCursor.Effort, _ mayReorder: Bool, _ transaction: any ReadTransaction
    ) throws -> [ZoneSearch.Answer]? {
        var keptBytes = 0
        let (query, sorted) = (query, sorted)
        // If the zones' first rows were too large to be read together, a few of each are enough.
        let ahead = effort.triesAll ? limit + 1 : max(2, 2 * (limit + 1) / max(zones.count, 1))
        let (found, rounds) = try IndexReads.inRounds(over: zones.count, most: questions, transaction) { number, reads in
            let reader = QueryReader(reads, questions: questions, keptBytes: keptBytes)
            var search = ZoneSearch(
                query, in: order, of: zones[number].address, after: after, wanted: limit + 1, ahead: ahead, rows: rows, work: work,
                showing: zones[number].showing, effort: effort, goingOn: sorted[zones[number].address], reader)
            let answer = try search.run(mayReorder: mayReorder)
            keptBytes = reader.keptBytes
            // The reader is not kept, because it holds everything that it read.
            return (
                answer: answer, rowsRead: reader.rowsRead, recordsRead: reader.recordsRead, considered: reader.considered, work: reader.work,
                damaged: Array(reader.damaged.values), steps: search.steps, way: search.way, questions: reader.questions,
                onlyWalks: search.onlyWalks, sorted: search.sorted
            )
        }
        damaged = []
        onlyWalks = !found.isEmpty && found.allSatisfy { $0?.onlyWalks == true }
        self.questions += max(rounds, found.compactMap { $0?.questions }.max() ?? 0)
        for (zone, found) in zip(zones, found) {
            guard let found else {
                steps.append("\(zone.row.name): more to read than a page reads of all zones")
                continue
            }
            if let sorted = found.sorted { self.sorted[zone.address] = sorted }
            rowsRead += found.rowsRead
            recordsRead += found.recordsRead
            considered += found.considered
            self.work += found.work
            if way == nil { way = found.way }
            steps += found.steps.map { "\(zone.row.name): \($0)" }
            if found.answer == nil { steps.append("\(zone.row.name): more matches than a page may look at, so not in the order of names") }
            // The creator of a damaged record is not known: callers who may read only their own get none of these.
            let met = found.damaged.filter(zone.showing.shows).sorted { ByteOrder.compare($0.row.name, $1.row.name) < 0 }
            damaged += met.map { (record: $0, zoneID: zone.showing.zoneID) }
        }
        // Nothing behind the start is known of a zone that was not reached.
        let answers = found.compactMap { $0 == nil ? .nothing(after) : $0?.answer }
        return answers.count == zones.count ? answers : nil
    }

    /// Takes the first of the found records, and reads them for the answer.
    /// - Returns: the position where the next page begins.
    private mutating func take(
        _ answers: [ZoneSearch.Answer], from start: QueryPosition, of zones: [ResolvedZone], limit: Int, keys: [String]?, _ reader: QueryReader
    ) throws -> QueryPosition? {
        let order = order
        // Behind the first end of a zone, records may be missing.
        let end = answers.compactMap(\.end).min { order.compare($0, $1) < 0 }
        var whole: [(hit: QueryHit, zone: Int)] = []
        for (zone, answer) in answers.enumerated() {
            for hit in answer.hits where end.map({ order.compare(hit.position, $0) <= 0 }) ?? true { whole.append((hit, zone)) }
        }
        if answers.count > 1 { whole.sort { order.compare($0.hit.position, $1.hit.position) < 0 } }
        let wanted = keys.map { FieldNames($0, withManifest: true) }
        var (bytes, taken) = (0, 0)
        records.reserve(min(limit, whole.count))
        // The zone of the record before.
        var kept: (number: Int, zone: UnreadZone)?
        for (hit, zone) in whole.prefix(limit) where bytes < Limits.pageBytes {
            guard let row = try reader.row(of: hit, in: zones[zone].address) else { return taken > 0 ? whole[taken - 1].hit.position : start }
            bytes += hit.size
            taken += 1
            if zones[zone].showing.keeps(row, keys: keys) {
                let keeping = kept.flatMap { $0.number == zone ? $0.zone : nil } ?? UnreadZone(zones[zone].showing)
                kept = (zone, keeping)
                if let record = try UnreadRecord(row, at: hit.plainOffset, of: keeping) {
                    records.append(record)
                    continue
                }
            }
            guard let record = try zones[zone].showing.record(row, keys: keys, wanted) else { continue }
            if hit.size > Limits.smallBodyBytes { bytes += max(0, record.pageBytes - hit.size) }
            records.append(record)
        }
        return taken < whole.count ? whole[taken - 1].hit.position : end
    }
}
