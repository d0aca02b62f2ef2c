import NacreCloudStorage
import NacreCloudWire

/// The records of a zone in an order, read in small portions.
protocol OrderedRows {
    mutating func next() throws -> OrderedStep
}

enum OrderedStep {
    /// The next record, and its key in the order's first term.
    case row(key: ArraySlice<UInt8>, RecordRow)
    /// The last of some rows whose records are not in `IndexScan.among`.
    case passed(key: ArraySlice<UInt8>, name: String)
    /// The page's rows, calls or bytes are used up. Everything before the key was returned; nil: everything up to the
    /// last row, if there was one.
    case pause(before: [UInt8]?)
    case end

    /// The position of the row that the step returns.
    package var position: IndexPosition? {
        switch self {
        case .row(let key, let row): IndexPosition(key: Array(key), name: row.name)
        case .passed(let key, let name): IndexPosition(key: Array(key), name: name)
        case .pause, .end: nil
        }
    }
}

/// The number of rows to read at once: as many as a page takes, and growing if it takes many to find them.
struct ReadAhead {
    private var next: Int
    private let most: Int
    /// The most rows. Included bodies have a bound in bytes too.
    package static let most = 4_096
    private static let growth = 4

    package init(_ first: Int, most: Int = Self.most) {
        next = min(max(first, 2), most)
        self.most = most
    }

    /// - Parameter reserve: calls of the store to leave unused. The last usable call reads as many rows as it may.
    package mutating func rows(_ reader: QueryReader, reserve: Int = 0) -> Int {
        if reader.questions > 0, reader.questionsLeft <= reserve + 1 { next = most }
        defer { next = min(next * Self.growth, most) }
        return max(1, min(next, reader.left))
    }
}

/// The rows of index spans, each span in its own order.
struct KeyRows: OrderedRows {
    private let reader: QueryReader
    private var scan: IndexScan
    private var ahead: ReadAhead
    private var buffer: [IndexHit] = []
    /// The position in `buffer` of the next row.
    private var index = 0
    private var isLast = false
    private var hasGiven = false
    private let reserve: Int
    private let keysFrom: Int
    /// A row without its record that was not returned yet.
    private var passed: IndexPosition?

    /// - Parameters:
    ///   - scan: its limit is ignored.
    ///   - reserve: calls of the store to leave to others once it has returned a record.
    ///   - keysFrom: the offset of the order's own keys in those of the index.
    package init(_ scan: IndexScan, _ reader: QueryReader, ahead: Int, reserve: Int = 0, keysFrom: Int = 0) {
        self.reader = reader
        self.reserve = reserve
        self.keysFrom = keysFrom
        self.scan = scan
        self.scan.includesRecords = true
        // Rows without records are short.
        self.ahead = scan.among == nil ? ReadAhead(ahead) : ReadAhead(ReadAhead.most, most: Limits.queryScanRows)
    }

    package mutating func next() throws -> OrderedStep {
        while true {
            if hasGiven, reader.workLeft == 0 { return pause() }
            if index < buffer.count {
                hasGiven = true
                defer { index += 1 }
                // Taking the record out avoids a copy.
                guard let record = buffer[index].record.take() else {
                    passed = buffer[index].position
                    continue
                }
                passed = nil
                return .row(key: key(of: buffer[index].position), record)
            }
            if isLast { return .end }
            if reader.questionsLeft == 0 || (hasGiven && (reader.left == 0 || reader.questionsLeft <= reserve)) { return pause() }
            scan.limit = ahead.rows(reader, reserve: reserve)
            let read = try reader.search(scan)
            isLast = read.isWhole
            if let last = read.hits.last { scan.goOn(behind: last) }
            buffer = read.hits
            index = 0
        }
    }

    private mutating func pause() -> OrderedStep {
        guard let place = passed else { return .pause(before: nil) }
        passed = nil
        return .passed(key: key(of: place), name: place.name)
    }

    private func key(of place: IndexPosition) -> ArraySlice<UInt8> { place.key[min(keysFrom, place.key.count)...] }
}

/// The records of these names, in their order.
struct NamedRows: OrderedRows {
    private let reader: QueryReader
    private let zone: ZoneAddress
    private var names: ArraySlice<String>
    private var buffer: ArraySlice<RecordRow> = []

    package init(_ names: [String], of zone: ZoneAddress, _ reader: QueryReader) {
        self.reader = reader
        self.zone = zone
        self.names = names[...]
    }

    package mutating func next() throws -> OrderedStep {
        while true {
            if let row = buffer.popFirst() { return .row(key: [], row) }
            if names.isEmpty { return .end }
            if reader.questionsLeft == 0 || reader.left == 0 { return .pause(before: nil) }
            buffer = try reader.records(in: zone, next: &names)[...]
        }
    }
}

/// All records of a zone by name, of any type.
struct NameRows: OrderedRows {
    private let reader: QueryReader
    private let zone: ZoneAddress
    private var last: String?
    private var ahead: ReadAhead
    private var buffer: ArraySlice<RecordRow> = []
    private var isLast = false
    private var hasGiven = false

    package init(of zone: ZoneAddress, after name: String?, includes: Bool = false, _ reader: QueryReader, ahead: Int) throws {
        self.reader = reader
        self.zone = zone
        last = name
        self.ahead = ReadAhead(ahead)
        if includes, let name, let row = try reader.record(in: zone, named: name), !row.isTombstone { buffer = [row] }
    }

    package mutating func next() throws -> OrderedStep {
        if hasGiven, reader.workLeft == 0 { return .pause(before: nil) }
        if buffer.isEmpty, !isLast {
            if reader.questionsLeft == 0 || (hasGiven && reader.left == 0) { return .pause(before: nil) }
            let (rows, isWhole) = try reader.records(in: zone, after: last, limit: ahead.rows(reader))
            isLast = isWhole
            last = rows.last?.name ?? last
            buffer = rows[...]
        }
        guard let row = buffer.popFirst() else { return .end }
        hasGiven = true
        return .row(key: [], row)
    }
}

/// The records at any of several keys, by name, each once.
struct PointRows: OrderedRows {
    private struct Point {
        var scan: IndexScan
        var buffer: ArraySlice<IndexHit> = []
        var isLast = false
    }

    private let reader: QueryReader
    private let zone: ZoneAddress
    private var points: [Point]
    private var ahead: ReadAhead
    private var hasGiven = false
    /// The bytes of the bodies in the points' buffers.
    private var waitingBytes = 0
    /// Records that came without their bodies and were then read, in order.
    private var buffer: ArraySlice<RecordRow> = []
    /// The names behind the buffer, whose records are still to be read.
    private var names: ArraySlice<String> = []
    private let namesAtOnce: Int
    /// The most names whose records are read at once. On this server.
    private static let mostNames = 200

    package init(at spans: [IndexSpan], of zone: ZoneAddress, after name: String?, includes: Bool, _ reader: QueryReader, ahead: Int) {
        self.reader = reader
        self.zone = zone
        points = spans.map { span in
            Point(
                scan: IndexScan(
                    zone: zone, spans: [span], after: name.map { IndexPosition(key: span.lower, name: $0) }, includesAfter: includes, limit: 0))
        }
        namesAtOnce = min(max(ahead, 2), Self.mostNames)
        // Each of many points is asked for a few rows.
        self.ahead = ReadAhead(max(ahead, spans.count * 2))
    }

    package mutating func next() throws -> OrderedStep {
        while true {
            if hasGiven, reader.workLeft == 0 { return .pause(before: nil) }
            if let row = buffer.popFirst() {
                hasGiven = true
                return .row(key: [], row)
            }
            while names.count < namesAtOnce {
                guard try hasHead(mayPause: hasGiven || !names.isEmpty) else {
                    if names.isEmpty { return .pause(before: nil) }
                    break
                }
                guard let head = head() else {
                    if names.isEmpty { return .end }
                    break
                }
                if let record = head.record {
                    guard names.isEmpty else { break }
                    pop(head)
                    hasGiven = true
                    return .row(key: [], record)
                }
                pop(head)
                names.append(head.position.name)
            }
            if reader.questionsLeft == 0 || (hasGiven && reader.left == 0) { return .pause(before: nil) }
            buffer = try reader.records(in: zone, next: &names)[...]
        }
    }

    /// Makes sure that the next row of every point is known.
    /// - Returns: false if no more may be read.
    private mutating func hasHead(mayPause: Bool) throws -> Bool {
        while points.contains(where: { $0.buffer.isEmpty && !$0.isLast }) {
            if reader.questionsLeft == 0 || (mayPause && reader.left == 0) { return false }
            try readOn()
        }
        return true
    }

    private func head() -> IndexHit? {
        points.lazy.compactMap(\.buffer.first).min { ByteOrder.compare($0.position.name, $1.position.name) < 0 }
    }

    private mutating func pop(_ head: IndexHit) {
        for index in points.indices where points[index].buffer.first?.position.name == head.position.name {
            waitingBytes -= points[index].buffer.removeFirst().record?.body.count ?? 0
        }
    }

    /// Reads on, with one call, at every point whose buffer is empty or soon will be. Includes records as long as they
    /// are no more than a portion.
    private mutating func readOn() throws {
        let dry = points.indices.filter { points[$0].buffer.isEmpty && !points[$0].isLast }
        let rows = max(1, ahead.rows(reader) / dry.count)
        let asked = points.indices.filter { !points[$0].isLast && (points[$0].buffer.isEmpty || points[$0].buffer.count < rows / 2) }
        for index in asked {
            points[index].scan.limit = rows
            points[index].scan.includesRecords = waitingBytes < QueryReader.portionBytes
        }
        for (index, portion) in zip(asked, try reader.search(asked.map { points[$0].scan })) {
            points[index].isLast = portion.isWhole
            if let last = portion.hits.last { points[index].scan.goOn(behind: last) }
            points[index].buffer += portion.hits
            waitingBytes += portion.hits.reduce(0) { $0 + ($1.record?.body.count ?? 0) }
        }
    }
}
