import NacreCloudStorage
import NacreCloudStore
import NacreCloudWire

/// Reads of feeds and of indexes.
extension PostgresConnection {
    func feed(_ scans: [FeedScan], _ bytesMax: Int) throws -> [FeedPortion] {
        guard let database = scans.first?.zone.database else { return [] }
        let starts = scans.map(\.start)
        let ends = scans.map { $0.through ?? ChangeNumber(run: .max, seq: .max) }
        let answer = try ask(
            .feedScans,
            [
                .id(database), .numbers(scans.map(\.zone.zone)), .numbers(scans.map(\.view.rawValue)), .numbers(starts.map(\.number.run)),
                .numbers(starts.map(\.number.seq)), .blocks(starts.map(\.name)), .numbers(ends.map(\.run)), .numbers(ends.map(\.seq)),
                .numbers(scans.map(\.baseline.run)), .numbers(scans.map(\.baseline.seq)),
                .numbers(zip(scans, starts).map { $1.isNone ? 0 : Int64(max($0.limit, 0)) }), .number(Int64(bytesMax)),
            ])
        var entries: [[FeedEntry]] = scans.map { _ in [] }
        _ = try answer.rows { cells in
            let scan = Int(try cells.integer())
            let (number, name, entered) = (try cells.number(), cells.string(), try cells.number())
            let row = FeedRow(
                position: ViewNumber(view: scans[scan].view, number: number), entered: entered, isDeparture: try cells.bool())
            entries[scan].append(FeedEntry(feed: row, record: try cells.record(named: name)))
        }
        var bytes = 0
        return zip(scans, entries).map { scan, entries in
            guard bytes < bytesMax else { return FeedPortion(entries: [], isWhole: false) }
            bytes += entries.reduce(0) { $0 + $1.record.body.count }
            return FeedPortion(entries: entries, isWhole: entries.count < scan.limit && bytes < bytesMax)
        }
    }

    func search(_ scans: [IndexScan], _ bytesMax: Int) throws -> [IndexPortion] {
        guard let database = scans.first?.zone.database else { return [] }
        var spans = SpanArrays()
        for (place, scan) in scans.enumerated() { try spans.add(scan, place) }
        let values: [Value] = [.id(database), .numbers(scans.map(\.zone.zone)), .numbers(scans.map { Int64(max($0.limit, 0)) })] + spans.values
        let found: [[IndexHit]]
        if scans.contains(where: \.includesRecords) {
            found = try hitsWithRecords(scans, values, bytesMax)
        } else {
            guard bytesMax > 0 else { return scans.map { _ in IndexPortion(hits: [], isWhole: false) } }
            found = try hits(of: scans, try ask(.indexScans, values), hasRecords: false)
        }
        var bytes = 0
        return zip(scans, found).map { scan, hits in
            bytes += hits.reduce(0) { $0 + ($1.record?.body.count ?? 0) }
            return IndexPortion(hits: hits, isWhole: hits.count < scan.limit && bytes < bytesMax)
        }
    }

    /// PostgreSQL compares the names of `among` by their bytes, and a `Set` takes two that are canonically equivalent
    /// for one. If a row's name is such another form of one of them, all is asked again with this form beside it.
    private func hitsWithRecords(_ scans: [IndexScan], _ values: [Value], _ bytesMax: Int) throws -> [[IndexHit]] {
        var among = scans.enumerated().flatMap { place, scan in
            scan.mode == 2 ? (scan.among ?? []).map { (place: Int64(place), name: $0) } : []
        }
        while true {
            let more: [Value] = [
                .numbers(scans.map(\.mode)), .numbers(among.map(\.place)), .names(among.map(\.name)), .number(Int64(bytesMax)),
            ]
            let found = try hits(of: scans, try ask(.indexScansWithRecords, values + more), hasRecords: true)
            let asked = Set(among.map { AmongName(place: $0.place, name: NameBytes($0.name)) })
            let others = scans.indices.filter { scans[$0].mode == 2 }.flatMap { place in
                found[place].map(\.position.name)
                    .filter { scans[place].includesRecord(named: $0) && !asked.contains(AmongName(place: Int64(place), name: NameBytes($0))) }
                    .map { (place: Int64(place), name: $0) }
            }
            if others.isEmpty { return found }
            among += others
        }
    }

    private struct AmongName: Hashable {
        var place: Int64
        var name: NameBytes
    }

    private func hits(of scans: [IndexScan], _ answer: Answer, hasRecords: Bool) throws -> [[IndexHit]] {
        var hits: [[IndexHit]] = scans.map { _ in [] }
        _ = try answer.rows { cells in
            let (scan, span) = (Int(try cells.integer()), Int(try cells.integer()))
            let position = IndexPosition(key: cells.bytes(), name: cells.string())
            let record = hasRecords && !cells.isNull ? try cells.record(named: position.name) : nil
            hits[scan].append(IndexHit(position: position, span: span, record: record))
        }
        return hits
    }
}

/// The spans of scans, as the columns of an array parameter each.
private struct SpanArrays {
    private var scans: [Int64] = []
    private var places: [Int64] = []
    private var falls: [Bool] = []
    private var lower: [IndexRowKey] = []
    private var upper: [IndexRowKey] = []

    mutating func add(_ scan: IndexScan, _ place: Int) throws {
        for (number, span) in scan.spans.enumerated() {
            let range = try span.range(
                after: number == 0 ? scan.after : nil, isIncluded: scan.includesAfter, isDescending: scan.isDescending)
            scans.append(Int64(place))
            places.append(Int64(number))
            falls.append(scan.isDescending)
            lower.append(range.lower)
            upper.append(range.upper)
        }
    }

    var values: [Value] {
        [
            .numbers(scans), .numbers(places), .flags(falls), .numbers(lower.map(\.index)), .blocks(lower.map(\.key)), .names(lower.map(\.name)),
            .numbers(upper.map(\.index)), .blocks(upper.map(\.key)), .names(upper.map(\.name)),
        ]
    }
}

extension FeedScan {
    /// The first position that is read, with the bytes of a name. `isNone`: no position is behind the one of the scan.
    fileprivate var start: (number: ChangeNumber, name: [UInt8], isNone: Bool) {
        let number = after.number
        if let name = after.name { return (number, name.successor, false) }
        if number.seq < .max { return (ChangeNumber(run: number.run, seq: number.seq + 1), [], false) }
        return (ChangeNumber(run: number.run < .max ? number.run + 1 : .max, seq: .min), [], number.run == .max)
    }
}
