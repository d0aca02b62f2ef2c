import NacreCloudWire

/// Reads in one zone for one page of a query, and counts what it reads.
///
/// A class, because everything that reads for the zone shares one count; it never leaves the transaction's thread.
final class QueryReader {
    private let reads: IndexReads
    private(set) var rowsRead = 0
    private(set) var recordsRead = 0
    /// Records that were looked at for whether and where they are in the answer.
    private(set) var considered = 0
    /// Of the indexes, and for records.
    private(set) var questions = 0
    private let questionsMax: Int
    /// Records of the zone that were met and are not what was written, by name.
    private(set) var damaged: [String: StoredRecord] = [:]
    /// `rowsRead` may not pass it; a walk that has read nothing yet reads one portion all the same.
    private var limit = 0
    /// Bytes looked at: of rows and bodies that were read, and what filters cost.
    private(set) var work = 0
    private var workLimit = 0
    /// Of bodies that are kept until the page is made.
    private(set) var keptBytes: Int

    /// - Parameters:
    ///   - questions: that it may ask. What has found nothing to go on from asks its first one all the same.
    ///   - keptBytes: of bodies that others keep for the page.
    init(_ reads: IndexReads, questions: Int = .max, keptBytes: Int = 0) {
        self.reads = reads
        questionsMax = questions
        self.keptBytes = keptBytes
    }

    /// Rows that may still be read.
    var left: Int { workLeft == 0 || questionsLeft == 0 ? 0 : max(0, limit - rowsRead) }

    /// Questions that may still be asked.
    var questionsLeft: Int { max(0, questionsMax - questions) }

    /// The page may ask as often as it needs to get somewhere.
    var isPersistent: Bool { questionsMax == .max }

    /// Bytes that may still be looked at.
    var workLeft: Int { max(0, workLimit - work) }

    func met(_ record: StoredRecord) {
        damaged[record.row.name] = record
    }

    /// Allows so many rows from now on.
    func allow(_ rows: Int) {
        limit = rowsRead + rows
    }

    /// Allows so many bytes of work from now on.
    func allow(work: Int) {
        workLimit = self.work + work
    }

    func consider() {
        considered += 1
    }

    func worked(_ bytes: Int) {
        work += bytes
    }

    /// Reads a portion of each scan, and no more bodies in all than a portion has.
    func search(_ scans: [IndexScan]) throws -> [IndexPortion] {
        questions += 1
        let portions = try reads.search(scans, bytesMax: max(1, min(Self.portionBytes, workLeft)))
        for (scan, portion) in zip(scans, portions) {
            rowsRead += portion.hits.count
            work += portion.hits.count * Self.workOfRow
            if scan.includesRecords { count(portion.hits.lazy.compactMap(\.record)) }
        }
        return portions
    }

    func search(_ scan: IndexScan) throws -> IndexPortion {
        try search([scan]).first ?? IndexPortion(hits: [], isWhole: true)
    }

    /// Bytes of bodies that are read at once. On this server.
    static let portionBytes = 4_000_000
    /// Calls of the store that a page takes, with those for the schema and the zones. On this server: across a network each one is a round trip.
    static let callsOfPage = 6
    /// With fewer questions a page looks at nothing: by distance it takes two to find a record and one to read it. On this server.
    static let questionsLeast = 3
    /// A row of an index costs as much as so many bytes.
    private static let workOfRow = 64

    /// Reads the next records of a zone by name, as many as a portion has.
    /// - Returns: `isWhole`: they are its last.
    func records(in zone: ZoneAddress, after name: String?, limit: Int) throws -> (rows: [RecordRow], isWhole: Bool) {
        let most = max(1, min(Self.portionBytes, workLeft))
        let (rows, isWhole) = try reads.transaction.portion(of: zone, after: name, limit: limit, bytesMax: most)
        return (counted(rows), isWhole)
    }

    /// Reads the records of the first of these names, as many as a portion has, and takes their names off.
    /// - Returns: those that are there, in the names' order.
    func records(in zone: ZoneAddress, next names: inout ArraySlice<String>) throws -> [RecordRow] {
        try counted(reads.transaction.records(in: zone, next: &names, bytesMax: Self.portionBytes))
    }

    func record(in zone: ZoneAddress, named name: String) throws -> RecordRow? {
        try counted(reads.transaction.records(in: zone, named: [name])).first
    }

    private func counted(_ rows: [RecordRow]) -> [RecordRow] {
        questions += 1
        rowsRead += rows.count
        work += rows.count * Self.workOfRow
        count(rows)
        return rows
    }

    private func count(_ rows: some Sequence<RecordRow>) {
        for row in rows {
            recordsRead += 1
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

    /// The row of a hit, which is read again where it was not kept; nil: it may not be, because the questions are used up.
    func row(of hit: QueryHit, in zone: ZoneAddress) throws -> RecordRow? {
        if let row = hit.row { return row }
        guard questionsLeft > 0 else { return nil }
        guard let row = try record(in: zone, named: hit.name) else { throw ServerError.internalError }
        return row
    }
}
