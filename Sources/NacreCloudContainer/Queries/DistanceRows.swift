import NacreCloudWire

/// Records by their distance from a place, nearest or farthest first: the map is a tree of quarters, and the most promising one is opened
/// next. So ten nearest cost a few cells, however many records there are.
struct DistanceRows: OrderedRows {
    /// What awaits its turn: a cell at the best distance that it can hold, or the places of one key.
    private struct Waiting {
        enum What {
            case cell(GeoCell)
            /// A record, and those behind it at the same key.
            case place(IndexPlace, more: Records?)
            /// Records without a place.
            case nowhere
        }

        var what: What
        var distance: [UInt8]
        var name: String

        init(_ what: What, at distance: Double, name: String = "") {
            self.init(what, at: IndexKey.number(distance), name: name)
        }

        init(_ what: What, at key: [UInt8], name: String = "") {
            self.what = what
            distance = key
            self.name = name
        }
    }

    /// Records at one key, read a few at a time.
    private struct Records {
        var scan: IndexScan
        var places: ArraySlice<IndexPlace> = []
        var isWhole = false
    }

    /// A distance, and where in it.
    struct Start {
        var distance: [UInt8]
        var spot: QueryPosition.Spot

        /// The record at that distance after which it begins.
        var name: String? {
            if case .record(let name, _) = spot { name } else { nil }
        }
    }

    private let reader: QueryReader
    private let zone: ZoneAddress
    private let term: SortTerm
    private let from: GeoPoint
    private let isAscending: Bool
    private let namesAscend: Bool
    /// Beyond it nobody is asked for.
    private let radius: Double?
    /// Where it begins; what is not behind it is left out.
    private let start: Start?
    private let leafRows: Int
    private var cells: Heap<Waiting>
    private var places: Heap<Waiting>
    private let precedes: (Waiting, Waiting) -> Bool
    private var buffer: ArraySlice<(key: [UInt8], row: RecordRow)> = []
    private var nowhere: KeyRows?
    /// Records that are read with one question, where there are as many.
    private let bodiesAtOnce: Int

    /// Cells and records that are read with one question. On this server.
    private static let cellsAtOnce = 48
    private static let mostOfPath = 12
    private static let mostBodies = 200
    /// The distance of the last record given.
    private var given: [UInt8]?

    init(
        by term: SortTerm, from: GeoPoint, in zone: ZoneAddress, within radius: Double?, after start: Start?,
        namesAscend: Bool, _ reader: QueryReader, leafRows: Int, ahead: Int
    ) {
        bodiesAtOnce = min(max(ahead, 2), Self.mostBodies)
        self.reader = reader
        self.zone = zone
        self.term = term
        self.from = from
        self.radius = radius
        self.start = start
        self.leafRows = leafRows
        self.namesAscend = namesAscend
        let isAscending = term.isAscending
        self.isAscending = isAscending
        precedes = { left, right in
            if left.distance != right.distance { return left.distance.lexicographicallyPrecedes(right.distance) == isAscending }
            // A cell may hold names before those that are known at its distance.
            if left.name.isEmpty != right.name.isEmpty { return left.name.isEmpty }
            return left.name.utf8.lexicographicallyPrecedes(right.name.utf8) == namesAscend
        }
        cells = Heap(precedes)
        places = Heap(precedes)
        cells.push(Waiting(.cell(.world), at: isAscending ? 0 : .greatestFiniteMagnitude))
        if radius == nil { cells.push(Waiting(.nowhere, at: SortTerm.farthest)) }
    }

    mutating func next() throws -> OrderedStep {
        while true {
            if given != nil, reader.workLeft == 0 { return .pause(before: nil) }
            if let (key, row) = buffer.popFirst() {
                given = key
                return .row(key: key, row)
            }
            if let step = try nextNowhere() { return step }
            guard let best = first else { return .end }
            if reader.left == 0, given != nil || isBehindStart(best.distance) {
                return .pause(before: best.distance == given ? nil : best.distance)
            }
            if case .place = best.what, !wantsCell { try fetch() } else { try openNext() }
        }
    }

    /// What comes first of all that waits.
    private var first: Waiting? {
        guard let cell = cells.first, let place = places.first else { return cells.first ?? places.first }
        return precedes(cell, place) ? cell : place
    }

    /// Whether the next cell is to be opened though a place comes before it: so that many records are read with one question.
    private var wantsCell: Bool {
        guard let cell = cells.first, case .cell = cell.what, reader.left > 0, let place = places.first, case .place(let first, _) = place.what,
            !reader.hasBody(of: first.name)
        else { return false }
        return places.count { precedes($0, cell) } < bodiesAtOnce
    }

    private mutating func openNext() throws {
        switch cells.pop()?.what {
        case .cell(let cell): try open(cell)
        case .nowhere: openNowhere()
        case .place, nil: break
        }
    }

    // MARK: Cells

    /// Its records, when they are few; else its quarters.
    private mutating func open(_ cell: GeoCell) throws {
        let places = try places(in: cell)
        if places.count <= leafRows {
            for place in places { try add(place) }
        } else if cell.depth < GeoCell.deepest {
            for quarter in cell.quarters { add(quarter) }
        } else {
            try openPlaces(of: cell)
        }
    }

    /// No more than one beyond what a leaf has. Cells that are likely to be opened next are read with the same question.
    private func places(in cell: GeoCell) throws -> [IndexPlace] {
        try reader.places(of: scan(of: cell, limit: leafRows + 1)) {
            guard reader.left > Self.cellsAtOnce * leafRows else { return [] }
            // Its quarters, and the cells whose turn comes next with theirs: where records are dense these are opened too.
            let next = cells.first(Self.cellsAtOnce / 5) { if case .cell(let cell) = $0.what { cell } else { nil } }
            let likely = (path(below: cell) + ([cell] + next).flatMap { [$0] + $0.quarters }).filter { $0 != cell && distance(of: $0) != nil }
            var asked: Set<GeoCell> = []
            return likely.filter { asked.insert($0).inserted }.map { scan(of: $0, limit: leafRows + 1) }.filter { !reader.knows($0) }
        }
    }

    /// Its best quarter, the best quarter of that, and so on: where records are dense, one after the other is opened.
    private func path(below cell: GeoCell) -> [GeoCell] {
        var path: [GeoCell] = []
        var last = cell
        while last.depth < GeoCell.deepest, path.count < Self.mostOfPath {
            let quarters = last.quarters.compactMap { cell in distance(of: cell).map { (cell: cell, distance: $0) } }
            guard let best = quarters.min(by: { isAscending ? $0.distance < $1.distance : $0.distance > $1.distance }) else { break }
            path.append(best.cell)
            last = best.cell
        }
        return path
    }

    private func scan(of cell: GeoCell, limit: Int) -> IndexScan {
        IndexScan(zone: zone, index: term.index.index, lower: cell.lowerKey, upper: cell.upperKey, limit: limit)
    }

    private mutating func add(_ cell: GeoCell) {
        if let distance = distance(of: cell) { cells.push(Waiting(.cell(cell), at: distance)) }
    }

    /// The best distance that a cell can hold; nil: it holds nothing that is asked for.
    private func distance(of cell: GeoCell) -> Double? {
        let distances = from.distances(to: cell)
        if let radius, distances.lowerBound > radius { return nil }
        if let start {
            let best = IndexKey.number(isAscending ? distances.upperBound : distances.lowerBound)
            if best != start.distance, best.lexicographicallyPrecedes(start.distance) == isAscending { return nil }
        }
        return isAscending ? distances.lowerBound : distances.upperBound
    }

    /// More records than a leaf holds in a cell that cannot be divided: each of its places for itself.
    private mutating func openPlaces(of cell: GeoCell) throws {
        var scan = scan(of: cell, limit: leafRows + 1)
        while true {
            let portion = try reader.search(scan)
            var keys: [[UInt8]] = []
            for hit in portion.hits where hit.place.key != keys.last { keys.append(hit.place.key) }
            for key in keys { try openPlace(at: key) }
            guard !portion.isWhole, let last = keys.last else { return }
            scan.spans[0].lower = IndexKey.successor(last)
        }
    }

    // MARK: Places

    private mutating func add(_ place: IndexPlace) throws {
        guard let (distance, key) = distance(at: place.key), radius.map({ distance <= $0 }) ?? true else { return }
        if isBehindStart(key, name: place.name) { places.push(Waiting(.place(place, more: nil), at: key, name: place.name)) }
    }

    /// Queues the first of all records at one place.
    private mutating func openPlace(at key: [UInt8]) throws {
        guard let (distance, bytes) = distance(at: key), radius.map({ distance <= $0 }) ?? true else { return }
        var after: String?
        if start?.distance == bytes {
            if start?.spot == .behind { return }
            after = start?.name
        } else if !isBehindStart(bytes) {
            return
        }
        let scan = IndexScan(
            zone: zone, index: term.index.index, lower: key, upper: IndexKey.successor(key), after: after.map { IndexPlace(key: key, name: $0) },
            isDescending: !namesAscend, limit: leafRows)
        try goOn(in: Records(scan: scan), at: bytes)
    }

    private func distance(at key: [UInt8]) -> (distance: Double, key: [UInt8])? {
        guard let point = GeoKey.point(of: key) else { return nil }
        let distance = point.distance(to: from)
        return (distance, IndexKey.number(distance))
    }

    /// Queues the next record of a place.
    private mutating func goOn(in records: Records, at distance: [UInt8]) throws {
        var records = records
        if records.places.isEmpty, !records.isWhole {
            let portion = try reader.search(records.scan)
            records.places = portion.hits.map(\.place)[...]
            records.isWhole = portion.isWhole
            if let last = portion.hits.last { records.scan.goOn(behind: last) }
        }
        guard let place = records.places.popFirst() else { return }
        places.push(Waiting(.place(place, more: records), at: distance, name: place.name))
    }

    /// Gives the records that are first, up to the next cell.
    private mutating func fetch() throws {
        if case .place(let place, _) = places.first?.what, !reader.hasBody(of: place.name) {
            // Also of places behind the next cell: mostly it has no nearer ones.
            let names = places.first(bodiesAtOnce) { waiting -> String? in
                guard case .place(let place, _) = waiting.what, !reader.hasBody(of: place.name) else { return nil }
                return place.name
            }
            try reader.readAhead(names, in: zone)
        }
        while let best = first, case .place(let place, let more) = best.what, reader.hasBody(of: place.name) {
            _ = places.pop()
            if let row = reader.takeBody(of: place.name) { buffer.append((best.distance, row)) }
            if let more { try goOn(in: more, at: best.distance) }
        }
    }

    // MARK: Nowhere

    private mutating func openNowhere() {
        let isStart = start?.distance == SortTerm.farthest
        guard isStart ? start?.spot != .behind : isBehindStart(SortTerm.farthest) else { return }
        let after = isStart ? start?.name.map { IndexPlace(key: IndexKey.none, name: $0) } : nil
        let scan = IndexScan(
            zone: zone, index: term.index.index, lower: IndexKey.none, upper: IndexKey.firstPresent, after: after,
            isDescending: !namesAscend, limit: 0)
        nowhere = KeyRows(scan, reader, ahead: leafRows)
    }

    private mutating func nextNowhere() throws -> OrderedStep? {
        switch try nowhere?.next() {
        case .row(_, let row):
            given = SortTerm.farthest
            return .row(key: SortTerm.farthest, row)
        case .pause: return .pause(before: nil)
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
        return distance != start.distance && start.distance.lexicographicallyPrecedes(distance) == isAscending
    }

    private func isBehindStart(_ distance: [UInt8], name: String) -> Bool {
        guard let start, distance == start.distance else { return isBehindStart(distance) }
        guard let first = start.name else { return start.spot == .before }
        return name != first && first.utf8.lexicographicallyPrecedes(name.utf8) == namesAscend
    }
}
