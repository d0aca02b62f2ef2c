import NacreCloudWire

/// Records of a zone in an order, read a few at a time.
protocol OrderedRows {
    mutating func next() throws -> OrderedStep
}

enum OrderedStep {
    /// The next record, and its key in the order's first term.
    case row(key: [UInt8], RecordRow)
    /// No more may be read; something was, so that it goes on. Everything before the key was there; nil: everything to the last row.
    case pause(before: [UInt8]?)
    case end
}

/// How many rows are read at once: as many as a page takes, and more and more where it takes many to find them.
struct ReadAhead {
    private var next: Int
    /// Records may be large: no more than these are held at once.
    static let most = 200

    init(_ first: Int) { next = min(max(first, 2), Self.most) }

    mutating func rows(_ reader: QueryReader) -> Int {
        defer { next = min(next * 2, Self.most) }
        return max(1, min(next, reader.left))
    }
}

/// A piece of an index in its own order.
struct KeyRows: OrderedRows {
    private let reader: QueryReader
    private var scan: IndexScan
    private var ahead: ReadAhead
    private var buffer: ArraySlice<IndexHit> = []
    private var isLast = false
    private var hasGiven = false

    /// - Parameter scan: its limit is not looked at.
    init(_ scan: IndexScan, _ reader: QueryReader, ahead: Int) {
        self.reader = reader
        self.scan = scan
        self.scan.includesRecords = true
        self.ahead = ReadAhead(ahead)
    }

    mutating func next() throws -> OrderedStep {
        while true {
            if let hit = buffer.popFirst() {
                hasGiven = true
                guard let record = hit.record else { continue }
                return .row(key: hit.place.key, record)
            }
            if isLast { return .end }
            if hasGiven, reader.left == 0 { return .pause(before: nil) }
            scan.limit = ahead.rows(reader)
            let hits = try reader.search(scan)
            isLast = hits.count < scan.limit
            scan.after = hits.last?.place ?? scan.after
            buffer = hits[...]
        }
    }
}

/// All records of a zone by name, of whatever type.
struct NameRows: OrderedRows {
    private let reader: QueryReader
    private let zone: ZoneAddress
    private var last: String?
    private var ahead: ReadAhead
    private var buffer: ArraySlice<RecordRow> = []
    private var isLast = false
    private var hasGiven = false

    init(of zone: ZoneAddress, after name: String?, _ reader: QueryReader, ahead: Int) {
        self.reader = reader
        self.zone = zone
        last = name
        self.ahead = ReadAhead(ahead)
    }

    mutating func next() throws -> OrderedStep {
        if buffer.isEmpty, !isLast {
            if hasGiven, reader.left == 0 { return .pause(before: nil) }
            let limit = ahead.rows(reader)
            let rows = try reader.records(in: zone, after: last, limit: limit)
            isLast = rows.count < limit
            last = rows.last?.name ?? last
            buffer = rows[...]
        }
        guard let row = buffer.popFirst() else { return .end }
        hasGiven = true
        return .row(key: [], row)
    }
}

/// Records that stand at any of several keys, by name, each once.
struct PointRows: OrderedRows {
    private struct Point {
        var scan: IndexScan
        var buffer: ArraySlice<IndexHit> = []
        var isLast = false
    }

    private let reader: QueryReader
    private var points: [Point]
    private var ahead: ReadAhead
    private var hasGiven = false

    init(at spans: [QueryDriver.Span], of zone: ZoneAddress, after name: String?, _ reader: QueryReader, ahead: Int) {
        self.reader = reader
        points = spans.map { span in
            Point(
                scan: IndexScan(
                    zone: zone, index: span.index, lower: span.lower, upper: span.upper,
                    after: name.map { IndexPlace(key: span.lower, name: $0) }, limit: 0, includesRecords: true))
        }
        self.ahead = ReadAhead(spans.count > 1 ? ahead / spans.count + 1 : ahead)
    }

    mutating func next() throws -> OrderedStep {
        for place in points.indices where points[place].buffer.isEmpty && !points[place].isLast {
            if hasGiven, reader.left == 0 { return .pause(before: nil) }
            points[place].scan.limit = ahead.rows(reader)
            let hits = try reader.search(points[place].scan)
            points[place].isLast = hits.count < points[place].scan.limit
            points[place].scan.after = hits.last?.place ?? points[place].scan.after
            points[place].buffer = hits[...]
        }
        let heads = points.compactMap(\.buffer.first)
        guard let first = heads.min(by: { $0.place.name.utf8.lexicographicallyPrecedes($1.place.name.utf8) }) else { return .end }
        for place in points.indices where points[place].buffer.first?.place.name == first.place.name { points[place].buffer.removeFirst() }
        hasGiven = true
        guard let record = first.record else { return try next() }
        return .row(key: [], record)
    }
}
