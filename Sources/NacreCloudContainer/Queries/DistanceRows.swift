import NacreCloudWire

/// Records by their distance from a place, nearest or farthest first: the map is a tree of quarters, and the most promising one is opened
/// next. So ten nearest cost a few cells, however many records there are.
struct DistanceRows: OrderedRows {
    /// What awaits its turn: a cell at the best distance that it can hold, or the places of one key.
    private struct Waiting {
        enum What {
            case cell(GeoCell)
            /// Records at one key; those after the first are behind it in the index when `goesOn`.
            case place(IndexPlace, goesOn: Bool)
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
    private var waiting: Heap<Waiting>
    private var buffer: ArraySlice<(key: [UInt8], row: RecordRow)> = []
    private var nowhere: KeyRows?
    /// The distance of the last record given.
    private var given: [UInt8]?

    init(
        by term: SortTerm, from: GeoPoint, in zone: ZoneAddress, within radius: Double?, after start: Start?,
        namesAscend: Bool, _ reader: QueryReader, leafRows: Int
    ) {
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
        waiting = Heap { left, right in
            if left.distance != right.distance { return left.distance.lexicographicallyPrecedes(right.distance) == isAscending }
            // A cell may hold names before those that are known at its distance.
            if left.name.isEmpty != right.name.isEmpty { return left.name.isEmpty }
            return left.name.utf8.lexicographicallyPrecedes(right.name.utf8) == namesAscend
        }
        waiting.push(Waiting(.cell(.world), at: isAscending ? 0 : .greatestFiniteMagnitude))
        if radius == nil { waiting.push(Waiting(.nowhere, at: SortTerm.farthest)) }
    }

    mutating func next() throws -> OrderedStep {
        while true {
            if given != nil, reader.workLeft == 0 { return .pause(before: nil) }
            if let (key, row) = buffer.popFirst() {
                given = key
                return .row(key: key, row)
            }
            if let step = try nextNowhere() { return step }
            guard let best = waiting.first else { return .end }
            if reader.left == 0, given != nil || isBehindStart(best.distance) {
                return .pause(before: best.distance == given ? nil : best.distance)
            }
            switch best.what {
            case .cell(let cell):
                _ = waiting.pop()
                try open(cell)
            case .place: try fetch()
            case .nowhere:
                _ = waiting.pop()
                openNowhere()
            }
        }
    }

    // MARK: Cells

    /// Its records, when they are few; else its quarters.
    private mutating func open(_ cell: GeoCell) throws {
        let scan = IndexScan(
            zone: zone, index: term.index.index, lower: cell.lowerKey, upper: cell.upperKey, limit: leafRows + 1)
        let hits = try reader.search(scan)
        if hits.count <= leafRows {
            for hit in hits { try add(hit.place, goesOn: false) }
        } else if cell.depth < GeoCell.deepest {
            for quarter in cell.quarters { add(quarter) }
        } else {
            try openPlaces(of: cell)
        }
    }

    private mutating func add(_ cell: GeoCell) {
        let distances = from.distances(to: cell)
        if let radius, distances.lowerBound > radius { return }
        if let start {
            let best = IndexKey.number(isAscending ? distances.upperBound : distances.lowerBound)
            if best != start.distance, best.lexicographicallyPrecedes(start.distance) == isAscending { return }
        }
        waiting.push(Waiting(.cell(cell), at: isAscending ? distances.lowerBound : distances.upperBound))
    }

    /// More records than a leaf holds in a cell that cannot be divided: each of its places for itself.
    private mutating func openPlaces(of cell: GeoCell) throws {
        var scan = IndexScan(zone: zone, index: term.index.index, lower: cell.lowerKey, upper: cell.upperKey, limit: 1)
        while let hit = try reader.search(scan).first {
            try add(hit.place, goesOn: true)
            scan.lower = IndexKey.successor(hit.place.key)
        }
    }

    // MARK: Places

    /// - Parameter goesOn: the place's first record stands for all records at it.
    private mutating func add(_ place: IndexPlace, goesOn: Bool) throws {
        guard let point = GeoKey.point(of: place.key) else { return }
        let distance = point.distance(to: from)
        if let radius, distance > radius { return }
        let key = IndexKey.number(distance)
        if !goesOn {
            if isBehindStart(key, name: place.name) { waiting.push(Waiting(.place(place, goesOn: false), at: key, name: place.name)) }
        } else if start?.distance != key {
            if isBehindStart(key) { try goOn(at: place.key, after: nil, distance: key) }
        } else if start?.spot != .behind {
            try goOn(at: place.key, after: start?.name, distance: key)
        }
    }

    /// Queues the next record at a place.
    private mutating func goOn(at key: [UInt8], after name: String?, distance: [UInt8]) throws {
        let scan = IndexScan(
            zone: zone, index: term.index.index, lower: key, upper: IndexKey.successor(key), after: name.map { IndexPlace(key: key, name: $0) },
            isDescending: !namesAscend, limit: 1)
        guard let hit = try reader.search(scan).first else { return }
        waiting.push(Waiting(.place(hit.place, goesOn: true), at: distance, name: hit.place.name))
    }

    /// Reads the records that are first, up to the next cell.
    private mutating func fetch() throws {
        var places: [(distance: [UInt8], name: String)] = []
        let most = reader.portion(atMost: leafRows)
        while places.count < most, let best = waiting.first, case .place(let place, let goesOn) = best.what {
            _ = waiting.pop()
            places.append((best.distance, place.name))
            if goesOn { try goOn(at: place.key, after: place.name, distance: best.distance) }
        }
        let rows = try reader.records(in: zone, named: places.map(\.name))
        let found = Dictionary(rows.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        buffer = places.compactMap { place in found[place.name].map { (place.distance, $0) } }[...]
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

/// What comes first, whatever is added when.
struct Heap<Element> {
    private var elements: [Element] = []
    private let precedes: (Element, Element) -> Bool

    init(_ precedes: @escaping (Element, Element) -> Bool) {
        self.precedes = precedes
    }

    var first: Element? { elements.first }

    mutating func push(_ element: Element) {
        elements.append(element)
        var place = elements.count - 1
        while place > 0, precedes(elements[place], elements[(place - 1) / 2]) {
            elements.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    mutating func pop() -> Element? {
        guard let first = elements.first, let last = elements.popLast() else { return nil }
        guard !elements.isEmpty else { return first }
        elements[0] = last
        var place = 0
        while true {
            var best = place
            for child in [2 * place + 1, 2 * place + 2] where child < elements.count && precedes(elements[child], elements[best]) { best = child }
            if best == place { return first }
            elements.swapAt(place, best)
            place = best
        }
    }
}
