import NacreCloudStorage
import NacreCloudWire

/// The search of one zone for a page: the records behind a position that pass the filters, in the query's order.
struct ZoneSearch {
    package let query: CheckedQuery
    package let order: QueryOrder
    package let zone: ZoneAddress
    package let after: QueryPosition?
    /// The most records.
    package let wanted: Int
    /// The number of records to read first.
    private var ahead: Int
    /// The most rows to look at, on each of the ways.
    package let rows: Int
    /// The most bytes to look at, on each of the ways.
    package let work: Int
    /// The part of the zone that the caller sees. Other records are treated as missing.
    package let showing: ShownRecords
    /// Whether the caller may see some of the type's records and not others.
    private let judgesEach: Bool
    let effort: QueryCursor.Effort
    package let reader: QueryReader
    /// The sort of the whole zone so far: the earlier portion's result, and the next one's input. nil: none was begun.
    package private(set) var sorted: PartlySorted?
    /// Whether every filter has more rows than may be looked at: no page collects its matches.
    private(set) var onlyWalks = false
    /// A description of its work, in lines for `explainQuery`.
    package private(set) var steps: [String] = []
    /// The way that the search took last, in names of the schema alone; nil before it took one.
    private(set) var way: String?

    package init(
        _ query: CheckedQuery, in order: QueryOrder, of zone: ZoneAddress, after: QueryPosition?, wanted: Int, ahead: Int, rows: Int, work: Int,
        showing: ShownRecords, effort: QueryCursor.Effort, goingOn sorted: PartlySorted? = nil, _ reader: QueryReader
    ) {
        self.sorted = sorted
        self.query = query
        self.order = order
        self.zone = zone
        self.after = after
        self.wanted = wanted
        self.ahead = ahead
        self.effort = effort
        self.rows = rows
        self.work = work
        self.showing = showing
        judgesEach = showing.rule.reach(ofType: query.type.name) == .some
        self.reader = reader
    }

    /// - Parameter mayReorder: no earlier page has fixed this order.
    /// - Returns: nil if another order would serve better, and may be taken.
    package mutating func run(mayReorder: Bool) throws -> Answer? {
        reader.allow(work: work)
        let drivers = query.drivers.filter { !isServedByWalk($0) }
        let points = order.terms.isEmpty ? drivers.first(where: \.isPoints) : nil
        let isWalkable = order.terms.first?.isUsable ?? true
        // The page before has read the zone and found no end.
        if !isWalkable, effort == .wait { return .nothing(after) }
        if isWalkable, !effort.triesAll || drivers.isEmpty || (drivers.count == 1 && points != nil) { return try walkAll(points) }
        if isWalkable, points != nil || !order.terms.isEmpty { return try race(drivers, points) }
        var probes = drivers.map { DriverProbe($0, of: zone) }
        // One call probes all filters: each as far as one call may return rows for all.
        let reach = reader.isPersistent ? rows : min(rows, Self.rowsProbedAtOnce / max(probes.count, 1) - 1)
        try probe(&probes, upTo: reach)
        if let answer = try collect(among: &probes) { return answer }
        if mayReorder, drivers.contains(where: { $0.ownTerm != nil }) { return nil }
        return isWalkable ? try walkAll(nil) : try collectWhole()
    }

    /// Whether the driver is on the field of the order, so that it only bounds the walk.
    private func isServedByWalk(_ driver: QueryDriver) -> Bool {
        guard let term = order.terms.first, term.isUsable else { return false }
        if term.from != nil { return driver.ownTerm?.from == term.from && driver.ownTerm?.field == term.field }
        if driver.filter == term.part?.filter { return true }
        return driver.spans.count == 1 && driver.spans[0].index == term.index?.index
    }

    // MARK: Which way

    /// Alternates between probing filters for few matches and walking for enough records, each time a little farther.
    /// Once all matches of a filter are known by name, there are two ways. Few matches are collected. Otherwise the
    /// walk goes on among them, and reads no other records. See `docs/decisions/queries-cursors.md`.
    private mutating func race(_ drivers: [QueryDriver], _ points: QueryDriver?) throws -> Answer {
        // A turn in the order of distance costs several calls: filters are probed farther at first, and the walk takes
        // one turn.
        let isByDistance = order.terms.first?.from != nil
        let ofWalk = isByDistance ? QueryReader.questionsLeast : order.terms.count
        let mayWalkAmong = !isByDistance && points.map { $0.spans.count == 1 } ?? true
        let rowsOfRecord = mayWalkAmong ? Self.rowsOfRecord : 1
        guard reader.questionsLeft > ofWalk else { return try walkAll(points) }
        var probes = drivers.map { DriverProbe($0, of: zone) }
        let most = reader.isPersistent ? rows : Self.rowsProbedAtOnce / max(probes.count, 1) - 1
        var reach = min(isByDistance ? Self.firstReachByDistance : Self.firstReach, rows, most)
        try probe(&probes, upTo: reach)
        if let answer = try collect(among: &probes) { return answer }
        reader.allow(work: work)
        var found = Answer(hits: [], end: after)
        var (walked, among) = (0, Set<String>?.none)
        var stride = isByDistance ? rows : min(Self.firstStride, rows)
        // One call reads them all.
        ahead = max(ahead, Self.firstStride)
        while walked < rows {
            // The last call takes the remaining rows.
            if reader.questionsLeft == 1, !isByDistance, among == nil { stride = rows - walked }
            let isLast = walked + stride >= rows
            reader.allow(stride)
            let before = reader.rowsRead
            let more = try walk(0, [], after: found.end, wanted: wanted - found.hits.count, divides: isLast, points, among: among)
            walked += max(1, reader.rowsRead - before)
            found = Answer(hits: found.hits + more.hits, end: more.end, isCut: more.isCut)
            if found.isWhole || found.hits.count >= wanted || (isLast && !isByDistance) || reader.workLeft == 0 || reader.questionsLeft == 0 { break }
            // The number of further rows needed at the rate so far.
            let missing = (wanted - found.hits.count) * walked / max(found.hits.count, 1)
            while among == nil, reach < min(rows, most), missing * rowsOfRecord > 2 * reach, reader.questionsLeft > 1 {
                // The one call that is left for probing goes as far as it is worth.
                reach = min(reader.isPersistent ? reach * 4 : max(reach * 4, missing * rowsOfRecord / 2), rows, most)
                try probe(&probes, upTo: reach)
                if !mayWalkAmong, let answer = try collect(among: &probes) { return answer }
                if mayWalkAmong { among = Self.common(to: probes)?.names }
            }
            if let among, among.count * rowsOfRecord < missing, let answer = try collect(among: &probes) { return answer }
            if isByDistance || reader.questionsLeft == 0 { break }
            stride = min(max((among == nil ? 1 : 2) * missing + Self.firstStride, walked), rows - walked)
        }
        onlyWalks = probes.allSatisfy { $0.count > min(rows, most) }
        if found.isCut, found.end == after ?? .start, reader.questionsLeft > 0 { return try walkAll(points) }
        let probed = probes.map { "\(query.described($0.driver)) has \($0.count) rows or more" }
        let those = among.map { " among \($0.count)" } ?? ""
        way = "walk \(described(points))"
        steps.append("\(probed.joined(separator: ", ")); walk \(described(points))\(those), \(walked) rows")
        return found
    }

    /// The index rows that are probed before anything else, by distance and otherwise, and the rows that a walk tries
    /// first. On this server.
    private static let firstReach = 128
    private static let firstReachByDistance = 1_024
    private static let firstStride = 64
    /// The index rows that cost as much as reading and testing one record. Measured; on this server.
    private static let rowsOfRecord = 16
    /// The most index rows that one call for several probes may return: a few megabytes. It has room for the first
    /// probe of as many filters as a query may have. Farther probes are made alone. On this server.
    private static let rowsProbedAtOnce = 8_192

    private mutating func walkAll(_ points: QueryDriver?) throws -> Answer {
        allowAnew()
        let before = reader.rowsRead
        let answer = try walk(0, [], after: after, wanted: wanted, divides: true, points)
        way = "walk \(described(points))"
        steps.append("walk \(described(points)), \(reader.rowsRead - before) rows")
        return answer
    }

    /// Allows another way the full rows and bytes.
    private func allowAnew() {
        reader.allow(rows)
        reader.allow(work: work)
    }

    /// Counts on in the probes with at most `reach` known rows. Does nothing if no call would be left afterwards.
    private func probe(_ probes: inout [DriverProbe], upTo reach: Int) throws {
        guard reader.questionsLeft > 1 else { return }
        var open = probes.indices.filter { probes[$0].wants(reach) }[...]
        while let first = open.popFirst() {
            var (asked, rows) = ([first], probes[first].scan.limit)
            while let next = open.first, rows + probes[next].scan.limit <= Self.rowsProbedAtOnce || !reader.isPersistent {
                asked.append(next)
                rows += probes[next].scan.limit
                open.removeFirst()
            }
            for (index, portion) in zip(asked, try reader.search(asked.map { probes[$0].scan })) { probes[index].count(portion) }
        }
    }

    /// Returns the names that all completely counted filters have in common, and the probe with the fewest rows; nil if
    /// none was counted to its end.
    private static func common(to probes: [DriverProbe]) -> (names: Set<String>, fewest: Int)? {
        let whole = probes.indices.filter { probes[$0].isWhole }.sorted { probes[$0].count < probes[$1].count }
        guard let fewest = whole.first else { return nil }
        return (whole.dropFirst().reduce(into: Set(probes[fewest].names)) { $0.formIntersection(probes[$1].names) }, fewest)
    }

    /// Returns all matches of the completely counted filters; nil if there are none of these, or their records are more
    /// than may be looked at.
    private mutating func collect(among probes: inout [DriverProbe]) throws -> Answer? {
        guard reader.questionsLeft > 0, let (names, fewest) = Self.common(to: probes), !probes[fewest].isTooMuch else { return nil }
        let (driver, count) = (probes[fewest].driver, probes[fewest].count)
        let found: Answer?
        // A record is found sooner by its number than by its name.
        if 2 * names.count < count {
            var rows = NamedRows(names.sorted { ByteOrder.compare($0, $1) < 0 }, of: zone, reader)
            found = try collect(&rows, count: names.count)
        } else {
            let ahead = reader.questionsLeft > 1 ? Self.firstCollected : count + 1
            var rows = KeyRows(IndexScan(zone: zone, spans: driver.spans, limit: 0), reader, ahead: ahead)
            found = try collect(&rows, count: count)
        }
        let matches = "\(query.described(driver)), \(count) rows, \(names.count) records"
        (probes[fewest].isTooMuch, way) = (found == nil, found == nil ? way : "collect \(query.described(driver))")
        steps.append(found == nil ? "\(matches), are too much to be collected" : "collect \(matches), sort in memory")
        return found
    }

    // MARK: Collecting

    /// - Returns: nil if there is more to look at than allowed: a collection cannot end in the middle as a walk can.
    private func collect(_ rows: inout some OrderedRows, count: Int) throws -> Answer? {
        var best = BestHits(wanted + 1, in: order, reader)
        var seen: Set<String> = []
        reader.allow(count + 1)
        let start = (rows: reader.rowsRead, work: reader.work)
        let most = reader.workLeft
        var known = -1
        collecting: while true {
            switch try rows.next() {
            case .passed: continue
            case .row(_, let row):
                // Checked even for drivers with one row a record: a damaged record may have left another.
                if seen.insert(row.name).inserted, let hit = try hit(row) { best.add(hit) }
            case .pause:
                best.drop()
                return nil
            case .end: break collecting
            }
            guard known != reader.rowsRead else { continue }
            known = reader.rowsRead
            let read = known - start.rows
            if (reader.work - start.work) / max(read, 1) > most / max(count, 1) {
                best.drop()
                return nil
            }
        }
        return trimmed(best.take())
    }

    /// The rows of a collection that are read first, and tell how large the others may be. On this server.
    private static let firstCollected = 64

    /// Sorts the records of a zone without the missing index. A portion that does not reach the zone's end leaves
    /// `sorted` to the next one.
    private mutating func collectWhole() throws -> Answer {
        allowAnew()
        let before = sorted
        way = "collect the whole zone"
        var (best, last) = (BestHits(wanted + 1, in: order, reader), before?.name)
        var all = try NameRows(of: zone, after: last, reader, ahead: ReadAhead.most)
        for hit in before?.hits ?? [] { best.add(hit) }
        while true {
            switch try all.next() {
            case .passed: continue
            case .row(_, let row):
                last = row.name
                if let hit = try hit(row) { best.add(hit) }
            case .pause:
                steps.append("the whole zone is too much to be sorted at once")
                sorted = PartlySorted(name: last, hits: best.take())
                return .nothing(after)
            case .end:
                steps.append("collect the whole zone, sort in memory")
                let hits = best.take()
                sorted = PartlySorted(name: last, hits: hits)
                var answer = trimmed(hits)
                if before != nil { answer.hits = try readAgain(answer.hits) }
                return answer
            }
        }
    }

    /// Reads the hits of earlier portions whose bodies were not kept, up to the page's end. A record that was removed
    /// or has moved since is left out.
    private func readAgain(_ hits: [QueryHit]) throws -> [QueryHit] {
        var bytes = 0
        return try hits.compactMap { old in
            guard bytes < Limits.pageBytes else { return old }
            bytes += old.size
            guard old.row == nil else { return old }
            guard let row = try reader.record(in: zone, named: old.name), let hit = try hit(row) else { return nil }
            return order.compare(hit.position, old.position) == 0 ? hit : nil
        }
    }

    /// Returns a record that passes, is behind the position and has these first keys. A damaged record gives nil, and
    /// the reader remembers it.
    /// - Parameter next: the key behind those; nil: any.
    private func hit(_ row: RecordRow, keys prefix: [[UInt8]] = [], next: ArraySlice<UInt8>? = nil) throws -> QueryHit? {
        guard row.type == query.type.name, !row.isTombstone else { return nil }
        reader.consider()
        guard let (fields, plainOffset) = try? RecordBody.fields(of: row, in: zone, only: query.fields, keeps: showing.keeps(row, keys: nil)) else {
            reader.met(StoredRecord(row, in: zone))
            return nil
        }
        if judgesEach, try !showing.shows(Self.system(row)) { return nil }
        var tested = TestedRecord(fields, others: query.readsSystemFields ? { try Self.value(of: $0, in: row) } : nil)
        defer { reader.worked(tested.work) }
        for index in query.tests.indices where try !query.tests[index].passes(&tested) { return nil }
        var keys: [[UInt8]] = []
        for index in order.terms.indices {
            // Reads only what the term's key needs: copying the whole term costs more.
            let key = SortTerm.key(try tested.read(order.terms[index].field), as: order.terms[index].type, from: order.terms[index].from)
            // There is mostly one key: an array literal costs a third of appending to an empty array.
            if keys.isEmpty { keys = [key] } else { keys.append(key) }
        }
        guard prefix.isEmpty || keys.starts(with: prefix) else { return nil }
        if let next, keys.count <= prefix.count || keys[prefix.count][...] != next { return nil }
        let hit = QueryHit(keys: keys, row: row, zone: zone.zone, plainOffset: plainOffset)
        return order.isBehind(hit.position, after) ? hit : nil
    }

    /// Returns the value of a system field; nil for a field of an app.
    private static func value(of name: String, in row: RecordRow) throws -> FieldValue? {
        try SystemField(schemaName: name).flatMap { try system(row).value(of: $0) }
    }

    /// Returns a record without its fields.
    private static func system(_ row: RecordRow) throws -> StoredRecord {
        StoredRecord(row: row, content: try RecordBody.read(row, only: FieldNames([])))
    }

    // MARK: Walking

    /// Walks the index of the order's term at `level`, among records whose keys begin with `prefix`.
    ///
    /// - Parameters:
    ///   - divides: records of one key that are too many to be sorted are walked by the next term's index.
    ///   - among: the only names that can pass; nil: not known.
    private func walk(
        _ level: Int, _ prefix: [[UInt8]], after start: QueryPosition?, wanted: Int, divides: Bool, _ points: QueryDriver? = nil,
        among: Set<String>? = nil
    ) throws -> Answer {
        var rows = try orderedRows(level, after: start, wanted: wanted, points, among)
        let isLast = level + 1 >= order.terms.count
        var hits: [QueryHit] = []
        var group = BestHits(wanted, in: order, reader)
        var groupKey: [UInt8]?
        var lastName: String?
        var end = start
        // The last row returned, if it is no hit.
        var lastPlace: IndexPosition?
        if isLast { hits.reserveCapacity(min(wanted, ahead)) }
        while hits.count < wanted {
            let step = try rows.next()
            if !isLast, let place = step.position {
                lastName = place.name
                if place.key != groupKey {
                    if let groupKey { end = QueryPosition(keys: prefix + [groupKey], spot: .behind) }
                    groupKey = place.key
                    hits += group.take()
                    if hits.count >= wanted { break }
                }
            }
            switch step {
            case .passed: lastPlace = step.position
            case .row(let key, let row):
                // An index row under another key than the record's: a damaged record left it, and has its own row
                // elsewhere.
                guard let hit = try hit(row, keys: prefix, next: order.terms.isEmpty ? nil : key),
                    start.map({ order.compare($0, hit.position) < 0 }) ?? true
                else {
                    lastPlace = step.position
                    continue
                }
                lastPlace = nil
                if isLast { hits.append(reader.keeping(hit)) } else { group.add(hit) }
            case .pause(let edge):
                if let edge {
                    // The hits so far are whole groups.
                    let whole = Answer(hits: hits + group.take(), end: QueryPosition(keys: prefix + [edge], spot: .before), isCut: true)
                    return whole.hits.count > wanted ? trimmed(whole.hits) : whole
                }
                if isLast { end = lastPlace.map { position(of: $0, behind: prefix) } ?? hits.last?.position ?? end }
                let reached = end ?? QueryPosition(keys: prefix, spot: .before)
                if isLast { return Answer(hits: hits, end: reached, isCut: true) }
                if end == start, let groupKey, let lastName, try isWhole(level, groupKey, through: lastName) {
                    return Answer(hits: hits + group.take(), end: QueryPosition(keys: prefix + [groupKey], spot: .behind), isCut: true)
                }
                guard divides, end == start, let groupKey, reader.questionsLeft > 0, order.terms[level + 1].isUsable else {
                    return Answer(hits: hits, end: reached, isCut: true)
                }
                return try divide(level, prefix + [groupKey], after: start, wanted: wanted, among)
            case .end:
                return trimmed(hits + group.take())
            }
        }
        return Answer(hits: Array(hits.prefix(wanted)), end: hits.prefix(wanted).last?.position)
    }

    private func position(of place: IndexPosition, behind prefix: [[UInt8]]) -> QueryPosition {
        QueryPosition(keys: order.terms.isEmpty ? [] : prefix + [place.key], spot: .record(name: place.name, zone: zone.zone))
    }

    /// Whether a walk has reached the last record of a key. The key then needs no walk by the next term, which would
    /// find one record of many.
    private func isWhole(_ level: Int, _ key: [UInt8], through name: String) throws -> Bool {
        let term = order.terms[level]
        guard term.from == nil, let index = term.usableIndex, reader.questionsLeft > 0 else { return false }
        var next = scan(term, in: index, key, .record(name: name, zone: zone.zone))
        next.limit = 1
        let found = try reader.search(next)
        return found.hits.first.map { !$0.position.key.dropFirst(term.part?.prefix.count ?? 0).elementsEqual(key) } ?? found.isWhole
    }

    /// Whether the record at the spot is still to come: the page before ended at that name in an earlier zone.
    private func includes(_ spot: QueryPosition.Spot) -> Bool {
        if case .record(_, let other) = spot { other < zone.zone } else { false }
    }

    /// - Parameter hits: all that there are, or more than are wanted.
    private func trimmed(_ hits: [QueryHit]) -> Answer {
        let first = Array(hits.prefix(wanted))
        return Answer(hits: first, end: hits.count > wanted ? first.last?.position : nil)
    }

    /// Returns the records of one key, by the order's next terms.
    private func divide(_ level: Int, _ prefix: [[UInt8]], after start: QueryPosition?, wanted: Int, _ among: Set<String>?) throws -> Answer {
        // The outer walk has used up its rows and bytes: without new ones this walk would advance by one row a page.
        allowAnew()
        let inside = start.flatMap { $0.keys.count > prefix.count && $0.keys.starts(with: prefix) ? $0 : nil }
        var answer = try walk(level + 1, prefix, after: inside, wanted: wanted, divides: true, among: among)
        if answer.end == nil { answer = Answer(hits: answer.hits, end: QueryPosition(keys: prefix, spot: .behind), isCut: true) }
        return answer
    }

    private func orderedRows(
        _ level: Int, after start: QueryPosition?, wanted: Int, _ points: QueryDriver?, _ among: Set<String>?
    ) throws -> any OrderedRows {
        guard order.terms.indices.contains(level) else { return try namedRows(after: start, wanted: wanted, points, among) }
        let term = order.terms[level]
        guard let index = term.usableIndex else { throw ServerError.indexesAreBuilding }
        let isLast = level + 1 == order.terms.count
        // In a group that is not of the last term, the position inside it is left to the sort of the group.
        let key = start.flatMap { $0.keys.count > level ? $0.keys[level] : nil }
        let spot = start.map { isLast || $0.keys.count == level + 1 ? $0.spot : .before } ?? .before
        let reserve = order.terms.count - level - 1
        if let from = term.from {
            return DistanceRows(
                by: term, in: index, from: from, in: zone, within: query.radius(of: term),
                after: key.map { .init(distance: $0, spot: spot, includesSpot: includes(spot)) }, namesAscend: order.namesAscend, reader,
                rows: rows, ahead: wanted, isFiltered: !query.tests.isEmpty)
        }
        var scan = scan(term, in: index, key, spot)
        scan.among = among
        return KeyRows(scan, reader, ahead: ahead, reserve: reserve, keysFrom: term.part?.prefix.count ?? 0)
    }

    private func scan(_ term: SortTerm, in index: IndexID, _ key: [UInt8]?, _ spot: QueryPosition.Spot) -> IndexScan {
        var span = query.span(of: term, in: index)
        var after: IndexPosition?
        if let key {
            switch spot {
            case .record(let name, _): after = IndexPosition(key: key, name: name)
            case .before where term.isAscending: span.lower = Self.later(span.lower, key)
            case .behind where term.isAscending: span.lower = Self.later(span.lower, IndexKey.successor(key))
            case .before: span.upper = Self.earlier(span.upper, IndexKey.successor(key))
            case .behind: span.upper = Self.earlier(span.upper, key)
            }
        }
        if let prefix = term.part?.prefix {
            span.lower = prefix + span.lower
            span.upper = span.upper.map { prefix + $0 } ?? IndexKey.end(ofPrefix: prefix)
            after = after.map { IndexPosition(key: prefix + $0.key, name: $0.name) }
        }
        return IndexScan(
            zone: zone, spans: [span], after: after, includesAfter: includes(spot), isDescending: !term.isAscending, limit: 0)
    }

    package static func later(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
        left.lexicographicallyPrecedes(right) ? right : left
    }

    package static func earlier(_ left: [UInt8]?, _ right: [UInt8]?) -> [UInt8]? {
        guard let left, let right else { return left ?? right }
        return left.lexicographicallyPrecedes(right) ? left : right
    }

    private func namedRows(after start: QueryPosition?, wanted: Int, _ points: QueryDriver?, _ among: Set<String>?) throws -> any OrderedRows {
        var name: String?
        if case .record(let last, _) = start?.spot { name = last }
        let includes = start.map { self.includes($0.spot) } ?? false
        if let points {
            guard let among, let point = points.spans.first else {
                return PointRows(at: points.spans, of: zone, after: name, includes: includes, reader, ahead: ahead)
            }
            let place = name.map { IndexPosition(key: point.lower, name: $0) }
            var scan = IndexScan(zone: zone, spans: [point], after: place, includesAfter: includes, limit: 0)
            scan.among = among
            return KeyRows(scan, reader, ahead: ahead)
        }
        guard let index = query.nameIndex else { return try NameRows(of: zone, after: name, includes: includes, reader, ahead: ahead) }
        let place = name.map { IndexPosition(key: IndexKey.text($0.utf8).key, name: $0) }
        return KeyRows(IndexScan(zone: zone, index: index, after: place, includesAfter: includes, limit: 0), reader, ahead: ahead)
    }

    private func described(_ points: QueryDriver?) -> String {
        if let points { return "\(query.described(points)) by name" }
        guard let term = order.terms.first else { return query.nameIndex == nil ? "all records by name" : "the index of recordName" }
        return "the index of \(term.part.map { "\($0.field) and " } ?? "")\(term.field)"
    }
}
