import NacreCloudWire

/// Reads for one page of a query, and counts what it reads.
///
/// A class, because one count is shared by everybody who reads for the page; it never leaves the transaction's thread.
final class QueryReader {
    let transaction: any ReadTransaction
    private(set) var rowsRead = 0
    private(set) var recordsRead = 0
    /// Records that were met and are not what was written, by zone and name.
    private(set) var damaged: [ZoneAddress: [String: StoredRecord]] = [:]
    /// `rowsRead` may not pass it; whoever has read nothing yet may all the same.
    private var limit = 0
    /// Bytes looked at: of rows and bodies that were read, and what filters cost.
    private(set) var work = 0
    private var workLimit = 0
    private var bodyBytes = 0
    /// Of bodies that are kept until the page is made.
    private var keptBytes = 0

    init(_ transaction: any ReadTransaction) {
        self.transaction = transaction
    }

    /// Rows that may still be read.
    var left: Int { workLeft == 0 ? 0 : max(0, limit - rowsRead) }

    /// Bytes that may still be looked at.
    var workLeft: Int { max(0, workLimit - work) }

    func met(_ record: StoredRecord, in zone: ZoneAddress) {
        damaged[zone, default: [:]][record.row.name] = record
    }

    /// Allows so many rows from now on.
    func allow(_ rows: Int) {
        limit = rowsRead + rows
    }

    /// Allows so many bytes of work from now on.
    func allow(work: Int) {
        workLimit = self.work + work
    }

    func worked(_ bytes: Int) {
        work += bytes
    }

    /// Reads no more bodies at once than a portion has.
    /// - Returns: also whether the scan has come to its end.
    func next(of scan: IndexScan) throws -> (hits: [IndexHit], isLast: Bool) {
        var scan = scan
        scan.bytesMax = max(1, min(Self.portionBytes, workLeft))
        let before = bodyBytes
        let hits = try search(scan)
        return (hits, hits.count < scan.limit && bodyBytes - before < scan.bytesMax)
    }

    func search(_ scan: IndexScan) throws -> [IndexHit] {
        let hits = try transaction.search(scan)
        rowsRead += hits.count
        work += hits.count * Self.workOfRow
        if scan.includesRecords { count(hits.lazy.compactMap(\.record)) }
        return hits
    }

    /// Rows to read at once where their bodies cannot be bounded: as large as those before, they take a portion.
    func portion(atMost count: Int) -> Int {
        let mean = recordsRead == 0 ? Self.portionBytes / Self.firstPortion : bodyBytes / recordsRead
        return max(1, min(count, Self.mostUnbounded, Self.portionBytes / max(mean, 1)))
    }

    /// Bytes of bodies that are read at once. On this server.
    private static let portionBytes = 4_000_000
    /// Records of a first portion, before anything is known of their size; and the most of a later one, because the next may be larger.
    private static let firstPortion = 25
    private static let mostUnbounded = 50
    /// A row of an index costs as much as so many bytes.
    private static let workOfRow = 64

    func records(in zone: ZoneAddress, after name: String?, limit: Int) throws -> [RecordRow] {
        try counted(transaction.records(in: zone, after: name, limit: limit))
    }

    /// In no order; those that are there.
    func records(in zone: ZoneAddress, named names: [String]) throws -> [RecordRow] {
        try counted(transaction.records(in: zone, named: names))
    }

    private func counted(_ rows: [RecordRow]) -> [RecordRow] {
        rowsRead += rows.count
        work += rows.count * Self.workOfRow
        count(rows)
        return rows
    }

    private func count(_ rows: some Sequence<RecordRow>) {
        for row in rows {
            recordsRead += 1
            bodyBytes += row.body.count
            work += row.body.count
        }
    }

    // MARK: What is kept

    /// The hit as it is to be kept until the page is made: without its body, where those that are kept fill a page.
    func keeping(_ hit: QueryHit) -> QueryHit {
        guard let row = hit.row else { return hit }
        guard keptBytes + row.body.count <= Limits.pageBytes else { return hit.withoutRow }
        keptBytes += row.body.count
        return hit
    }

    func dropped(_ hit: QueryHit) {
        keptBytes -= hit.row?.body.count ?? 0
    }

    /// The row of a hit, which is read again where it was not kept.
    func row(of hit: QueryHit, in zone: ZoneAddress) throws -> RecordRow {
        if let row = hit.row { return row }
        guard let row = try records(in: zone, named: [hit.name]).first else { throw ServerError.internalError }
        return row
    }
}
