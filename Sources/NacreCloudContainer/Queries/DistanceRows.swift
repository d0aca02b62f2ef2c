import NacreCloudStorage
import NacreCloudWire

/// The records of a zone by their distance from a point, nearest or farthest first.
///
/// The map is a tree of quarters. A round makes one call of the store. It reads the rows of cells in the order of their
/// best distance, up to a limit: small cells at the front and larger ones behind. If the rows end within a cell, the
/// rest of that cell begins behind the last row, and is divided around it. The next round therefore has small cells
/// where records are dense. Another call then reads the records that come before all unread parts.
struct DistanceRows: OrderedRows {
    /// A part of the index that is not read yet.
    private struct Unread {
        enum Part {
            /// A cell, and the difference between its best and its worst distance.
            case cell(GeoCell, extent: Double)
            /// The rest of a cell that has no quarters.
            case keys(IndexSpan)
            /// Records at one key.
            case point(key: [UInt8])
            /// Records without a location.
            case nowhere
        }

        var part: Part
        /// The best distance that it can contain.
        var distance: [UInt8]
        /// For a point: the name behind which, or from which, its records are read.
        var after: String?
        var includesAfter = false
    }

    /// A record that is known by its row in the index.
    private struct Candidate {
        var key: [UInt8]
        var name: String
        var distance: [UInt8]
    }

    /// A position at a distance, where the page begins.
    package struct Start {
        package var distance: [UInt8]
        package var spot: QueryPosition.Spot
        /// Whether the record at the spot is included.
        var includesSpot: Bool

        /// The name of the record at which it begins.
        package var name: String? {
            if case .record(let name, _) = spot { name } else { nil }
        }
    }

    private let reader: QueryReader
    private let zone: ZoneAddress
    private let term: SortTerm
    private let index: IndexID
    private let from: GeoPoint
    private let isAscending: Bool
    private let namesAscend: Bool
    /// Metres beyond which records are left out; nil: any distance.
    private let radius: Double?
    /// The position where it begins. Records that are not behind it are left out.
    private let start: Start?
    private var unread: Heap<Unread>
    private var candidates: Heap<Candidate>
    private var buffer: ArraySlice<(key: [UInt8], row: RecordRow)> = []
    private var nowhere: KeyRows?
    private let nowhereAhead: Int
    /// Whether some of the records that are read may not pass.
    private let isFiltered: Bool
    /// The number of records that the next call reads.
    private var bodiesAtOnce: Int
    /// The number of rows that the next round reads.
    private var rowsAtOnce: Int
    /// The number of rows that a later round reads.
    private let mostRows: Int
    private var rounds = 0
    /// The distance of the last record returned.
    private var given: [UInt8]?

    /// The most cells of the first round, which are all cells of a small zone, and of a later one. On this server.
    private static let firstCells = 24
    private static let cellsAtOnce = 160
    /// The most records that one call reads. On this server.
    private static let mostBodies = 1024
    /// The factor by which the next call reads more.
    private static let growth = 4
    /// Metres, by round: added to a cell's distance behind the front when cells are weighed for division. It bounds how
    /// much smaller cells at the front become. On this server.
    private static let finest = [20, 20, 0.5, 0.01]

    /// - Parameters:
    ///   - rows: the most rows that a page may read.
    ///   - ahead: the number of records that a page takes if all of them pass.
    package init(
        by term: SortTerm, in index: IndexID, from: GeoPoint, in zone: ZoneAddress, within radius: Double?, after start: Start?,
        namesAscend: Bool, _ reader: QueryReader, rows: Int, ahead: Int, isFiltered: Bool
    ) {
        self.reader = reader
        self.isFiltered = isFiltered
        self.zone = zone
        self.term = term
        self.index = index
        self.from = from
        self.radius = radius
        self.start = start
        self.namesAscend = namesAscend
        let isAscending = term.isAscending
        self.isAscending = isAscending
        bodiesAtOnce = min(max(ahead, 2), Self.mostBodies)
        nowhereAhead = bodiesAtOnce
        mostRows = max(rows, ReadAhead.most)
        rowsAtOnce = max(2, min(2 * bodiesAtOnce + 32, rows / 2))
        unread = Heap { left, right in
            if left.distance != right.distance { return ByteOrder.precedes(left.distance, right.distance, ascending: isAscending) }
            guard let name = left.after, let other = right.after else { return left.after == nil && right.after != nil }
            return ByteOrder.precedes(name, other, ascending: namesAscend)
        }
        candidates = Heap { left, right in
            if left.distance != right.distance { return ByteOrder.precedes(left.distance, right.distance, ascending: isAscending) }
            return ByteOrder.precedes(left.name, right.name, ascending: namesAscend)
        }
        add(GeoCell.world)
        if radius == nil { unread.push(Unread(part: .nowhere, distance: SortTerm.farthest)) }
    }

    package mutating func next() throws -> OrderedStep {
        while true {
            if given != nil, reader.workLeft == 0 { return .pause(before: nil) }
            if let (key, row) = buffer.popFirst() {
                given = key
                return .row(key: key[...], row)
            }
            if let step = try nextNowhere() { return step }
            guard let best else { return .end }
            let sure = sureCount
            let isRound = sure == 0 || (sure < bodiesAtOnce && isUnread && mayAsk(2))
            if given != nil, !mayAsk(isRound ? 2 : 1) { return .pause(before: best == given ? nil : best) }
            // No record was seen, but the next page can begin farther on.
            if given == nil, sure == 0, !mayAsk(1), isBehindStart(best) { return .pause(before: best) }
            if given == nil, reader.questionsLeft == 0 { return .pause(before: nil) }
            if isRound { try readIndex() } else { try readRecords() }
        }
    }

    /// Whether the page may make this many more calls. If it persists, it makes none once it has returned a record.
    private func mayAsk(_ questions: Int) -> Bool {
        guard reader.left > 0 else { return false }
        return reader.isPersistent ? reader.questions + questions <= QueryReader.questionsLeast + 1 : questions <= reader.questionsLeft
    }

    /// Whether there may be records with a location that are not known yet.
    private var isUnread: Bool {
        switch unread.first?.part {
        case .nowhere?, nil: false
        case .cell?, .keys?, .point?: true
        }
    }

    /// The best distance of all unread parts and candidates.
    private var best: [UInt8]? {
        guard let part = unread.first else { return candidates.first?.distance }
        guard let candidate = candidates.first else { return part.distance }
        return isBefore(candidate, part) ? candidate.distance : part.distance
    }

    /// The number of candidates that come before everything unread.
    private var sureCount: Int {
        guard let part = unread.first else { return candidates.count }
        return candidates.count { isBefore($0, part) }
    }

    private func isBefore(_ candidate: Candidate, _ part: Unread) -> Bool {
        if candidate.distance != part.distance { return ByteOrder.precedes(candidate.distance, part.distance, ascending: isAscending) }
        guard let name = part.after else { return false }
        return candidate.name == name ? !part.includesAfter : ByteOrder.precedes(candidate.name, name, ascending: namesAscend)
    }

    // MARK: A round

    private mutating func readIndex() throws {
        // Leave room for the records if there is any.
        let room = reader.left > bodiesAtOnce ? reader.left - bodiesAtOnce : reader.left
        let limit = room > 0 ? min(rowsAtOnce, room) : rowsAtOnce
        // Later rounds read as much as they may: index rows alone are small.
        rowsAtOnce = mostRows
        guard let parts = nextParts() else { return openNowhere() }
        rounds += 1
        let spans = parts.spans.compactMap { span(of: $0.part) }
        var scans = parts.points.compactMap { part in
            span(of: part.part).map { span in
                IndexScan(
                    zone: zone, spans: [span], after: part.after.map { IndexPosition(key: span.lower, name: $0) }, includesAfter: part.includesAfter,
                    isDescending: !namesAscend, limit: limit)
            }
        }
        if !spans.isEmpty { scans.append(IndexScan(zone: zone, spans: spans, isDescending: !namesAscend, limit: limit)) }
        var portions = try reader.search(scans)[...]
        for part in parts.points { if let portion = portions.popFirst() { add(portion, of: [part]) } }
        if let portion = portions.popFirst() { add(portion, of: parts.spans) }
    }

    /// Returns the parts that the next round reads; nil: records without a location come next.
    private mutating func nextParts() -> (points: [Unread], spans: [Unread])? {
        var (points, spans): ([Unread], [Unread]) = ([], [])
        let most = rounds == 0 ? Self.firstCells : Self.cellsAtOnce
        let front = front
        let finest = Self.finest[min(rounds, Self.finest.count - 1)]
        var cells = Heap<(part: Unread, cell: GeoCell, weight: Double)> { $0.weight > $1.weight }
        func add(_ part: Unread) {
            guard case .cell(let cell, let extent) = part.part, cell.depth < GeoCell.deepest else { return spans.append(part) }
            let gap = abs((IndexKey.number(of: part.distance) ?? 0) - front)
            cells.push((part, cell, extent / ((isBeyond(part.distance, front) ? gap : 0) + finest)))
        }
        while spans.count + cells.count < most / 2, let part = unread.first {
            if case .nowhere = part.part { break }
            _ = unread.pop()
            if case .point = part.part { points.append(part) } else { add(part) }
            if points.count == Self.mostPoints { break }
        }
        if points.isEmpty, spans.isEmpty, cells.isEmpty { return nil }
        while spans.count + cells.count < most, let next = cells.pop() {
            for quarter in next.cell.quarters.compactMap(part) { add(quarter) }
        }
        while let next = cells.pop() { spans.append(next.part) }
        spans.sort { ByteOrder.precedes($0.distance, $1.distance, ascending: isAscending) }
        return (points, spans)
    }

    /// The most points that one call reads: each may take as many rows as all cells. On this server.
    private static let mostPoints = 4

    /// The distance in metres up to which everything is known.
    private var front: Double {
        let first = unread.first.flatMap { IndexKey.number(of: $0.distance) } ?? 0
        guard let start = start.flatMap({ IndexKey.number(of: $0.distance) }) else { return first }
        return isAscending ? max(first, start) : min(first, start)
    }

    private func isBeyond(_ distance: [UInt8], _ front: Double) -> Bool {
        ((IndexKey.number(of: distance) ?? 0) > front) == isAscending
    }

    private func span(of part: Unread.Part) -> IndexSpan? {
        switch part {
        case .cell(let cell, _): IndexSpan(index: index, lower: cell.lowerKey, upper: cell.upperKey)
        case .keys(let span): span
        case .point(let key): IndexSpan(index: index, lower: key, upper: IndexKey.successor(key))
        case .nowhere: nil
        }
    }

    /// Takes the rows that were read of these parts, and puts the unread rest back.
    private mutating func add(_ portion: IndexPortion, of parts: [Unread]) {
        for hit in portion.hits {
            guard let distance = distance(at: hit.position.key), isBehindStart(distance, name: hit.position.name) else { continue }
            candidates.push(Candidate(key: hit.position.key, name: hit.position.name, distance: distance))
        }
        guard !portion.isWhole else { return }
        guard let end = portion.hits.last else {
            for part in parts { unread.push(part) }
            return
        }
        addRest(of: parts[end.span], behind: end.position)
        for part in parts.dropFirst(end.span + 1) { unread.push(part) }
    }

    /// Puts back the unread rest of a part: other records at the last row's key, the rest of its smallest cell, and the
    /// larger and larger cells around that.
    private mutating func addRest(of part: Unread, behind last: IndexPosition) {
        addPoint(last)
        switch part.part {
        case .cell(var cell, _):
            let code = GeoCell.code(ofKey: last.key)
            while let inside = cell.quarters.last(where: { $0.code <= code }) {
                for quarter in cell.quarters where namesAscend ? quarter.code > inside.code : quarter.code < inside.code { add(quarter) }
                cell = inside
            }
            guard let distance = self.part(cell)?.distance else { return }
            addKeys(IndexSpan(index: index, lower: cell.lowerKey, upper: cell.upperKey), behind: last.key, at: distance)
        case .keys(let span): addKeys(span, behind: last.key, at: part.distance)
        case .point, .nowhere: break
        }
    }

    private mutating func addKeys(_ whole: IndexSpan, behind key: [UInt8], at distance: [UInt8]) {
        var span = whole
        if namesAscend {
            span.lower = ZoneSearch.later(span.lower, IndexKey.successor(key))
        } else {
            span.upper = ZoneSearch.earlier(span.upper, key)
        }
        unread.push(Unread(part: .keys(span), distance: distance))
    }

    /// Adds the records behind the last one that was read at a key.
    private mutating func addPoint(_ last: IndexPosition) {
        guard let distance = distance(at: last.key) else { return }
        var part = Unread(part: .point(key: last.key), distance: distance, after: last.name)
        if let start, start.distance == distance, !isBehindStart(distance) {
            if case .behind = start.spot { return }
            if let name = start.name, ByteOrder.precedes(last.name, name, ascending: namesAscend) {
                part.after = name
                part.includesAfter = start.includesSpot
            }
        } else if !isBehindStart(distance) {
            return
        }
        unread.push(part)
    }

    private mutating func add(_ cell: GeoCell) {
        if let part = part(cell) { unread.push(part) }
    }

    /// Returns a cell as an unread part; nil if it holds no record within the radius and behind the start.
    private func part(_ cell: GeoCell) -> Unread? {
        let distances = from.distances(to: cell)
        if let radius, distances.lowerBound > radius { return nil }
        if let start {
            let worst = IndexKey.number(isAscending ? distances.upperBound : distances.lowerBound)
            if ByteOrder.precedes(worst, start.distance, ascending: isAscending) { return nil }
        }
        let best = isAscending ? distances.lowerBound : distances.upperBound
        return Unread(part: .cell(cell, extent: distances.upperBound - distances.lowerBound), distance: IndexKey.number(best))
    }

    /// Returns the distance of a key; nil beyond the radius, or if the key is not that of a location.
    private func distance(at key: [UInt8]) -> [UInt8]? {
        guard let distance = GeoKey.point(of: key)?.distance(to: from), radius.map({ distance <= $0 }) ?? true else { return nil }
        return IndexKey.number(distance)
    }

    // MARK: Records

    /// Reads the first of the records that are sure to come next.
    private mutating func readRecords() throws {
        var chosen: [Candidate] = []
        // If few records may pass, the last call reads as many as it may.
        let most = min(isFiltered && reader.questionsLeft <= 1 ? Self.mostBodies : bodiesAtOnce, max(reader.left, 1))
        while chosen.count < most, let next = candidates.first, unread.first.map({ isBefore(next, $0) }) ?? true {
            chosen.append(next)
            _ = candidates.pop()
        }
        bodiesAtOnce = min(bodiesAtOnce * Self.growth, Self.mostBodies)
        // Records of one key are read by one scan.
        var scans: [IndexScan] = []
        var places: [[UInt8]: Int] = [:]
        for candidate in chosen {
            if let index = places[candidate.key] {
                scans[index].limit += 1
                continue
            }
            places[candidate.key] = scans.count
            scans.append(
                IndexScan(
                    zone: zone, index: index, lower: candidate.key, upper: IndexKey.successor(candidate.key),
                    after: IndexPosition(key: candidate.key, name: candidate.name), includesAfter: true, isDescending: !namesAscend, limit: 1,
                    includesRecords: true))
        }
        let portions = try reader.search(scans)
        var hits = portions.map { $0.hits[...] }
        for (number, candidate) in chosen.enumerated() {
            guard let index = places[candidate.key] else { continue }
            if let hit = hits[index].first {
                // If the next row is another record's, this candidate's record is gone.
                guard hit.position.name == candidate.name, let record = hit.record else { continue }
                hits[index].removeFirst()
                buffer.append((candidate.distance, record))
            } else if !portions[index].isWhole, portions[index].hits.count < scans[index].limit {
                // The byte bound ended the portion before this record.
                for candidate in chosen[number...] { candidates.push(candidate) }
                return
            }
        }
    }

    // MARK: Nowhere

    private mutating func openNowhere() {
        guard case .nowhere? = unread.pop()?.part else { return }
        let isStart = start?.distance == SortTerm.farthest
        guard isStart ? start?.spot != .behind : isBehindStart(SortTerm.farthest) else { return }
        let after = isStart ? start?.name.map { IndexPosition(key: IndexKey.none, name: $0) } : nil
        let scan = IndexScan(
            zone: zone, index: index, lower: IndexKey.none, upper: IndexKey.firstPresent, after: after,
            includesAfter: start?.includesSpot ?? false, isDescending: !namesAscend, limit: 0)
        nowhere = KeyRows(scan, reader, ahead: nowhereAhead)
    }

    private mutating func nextNowhere() throws -> OrderedStep? {
        switch try nowhere?.next() {
        case .row(_, let row):
            given = SortTerm.farthest
            return .row(key: SortTerm.farthest[...], row)
        case .pause, .passed: return .pause(before: nil)
        case .end:
            nowhere = nil
            return nil
        case nil: return nil
        }
    }

    // MARK: The start

    /// Whether all records at a distance are behind the start.
    private func isBehindStart(_ distance: [UInt8]) -> Bool {
        guard let start else { return true }
        return ByteOrder.precedes(start.distance, distance, ascending: isAscending)
    }

    private func isBehindStart(_ distance: [UInt8], name: String) -> Bool {
        guard let start, distance == start.distance else { return isBehindStart(distance) }
        guard let first = start.name else { return start.spot == .before }
        return name == first ? start.includesSpot : ByteOrder.precedes(first, name, ascending: namesAscend)
    }
}
