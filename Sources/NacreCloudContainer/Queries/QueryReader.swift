package import NacreCloudStorage
import NacreCloudWire

/// Reads in one zone for one page of a query, and counts what it reads.
///
/// A class, because everything that reads for the zone shares one count. It never leaves the transaction's thread.
package final class QueryReader {
    private let reads: IndexReads
    private(set) var rowsRead = 0
    private(set) var recordsRead = 0
    /// The number of records that were tested for being in the answer, and where.
    private(set) var considered = 0
    /// The calls of the store for index rows and for records.
    package private(set) var questions = 0
    private let questionsMax: Int
    /// The damaged records of the zone that were met, by name.
    package private(set) var damaged: [String: StoredRecord] = [:]
    /// The bound of `rowsRead`. A walk that has read nothing yet reads one portion all the same.
    private var limit = 0
    /// The bytes of rows and bodies that were read, plus the cost of filters.
    package private(set) var work = 0
    private var workLimit = 0
    /// The bytes of the bodies that are kept until the page is made.
    package private(set) var keptBytes: Int

    /// - Parameters:
    ///   - questions: the most calls of the store. A search without progress makes its first one all the same.
    ///   - keptBytes: the bytes of bodies that other readers keep for the page.
    package init(_ reads: IndexReads, questions: Int = .max, keptBytes: Int = 0) {
        self.reads = reads
        questionsMax = questions
        self.keptBytes = keptBytes
    }

    /// The rows that may still be read.
    package var left: Int { workLeft == 0 || questionsLeft == 0 ? 0 : max(0, limit - rowsRead) }

    /// The calls of the store that are left.
    var questionsLeft: Int { max(0, questionsMax - questions) }

    /// Whether the page may make as many calls as it takes to make progress.
    var isPersistent: Bool { questionsMax == .max }

    /// The bytes that may still be looked at.
    var workLeft: Int { max(0, workLimit - work) }

    package func met(_ record: StoredRecord) {
        damaged[record.row.name] = record
    }

    /// Allows this many rows from now on.
    package func allow(_ rows: Int) {
        limit = rowsRead + rows
    }

    /// Allows this many bytes of work from now on.
    package func allow(work: Int) {
        workLimit = self.work + work
    }

    func consider() {
        considered += 1
    }

    package func worked(_ bytes: Int) {
        work += bytes
    }

    /// Reads a portion of each scan, with at most the bodies of one portion in all.
    package func search(_ scans: [IndexScan]) throws -> [IndexPortion] {
        questions += 1
        let portions = try reads.search(scans, bytesMax: max(1, min(Self.portionBytes, workLeft)))
        for (scan, portion) in zip(scans, portions) {
            rowsRead += portion.hits.count
            work += portion.hits.count * Self.workOfRow
            if scan.includesRecords { count(portion.hits.lazy.compactMap(\.record)) }
        }
        return portions
    }

    package func search(_ scan: IndexScan) throws -> IndexPortion {
        try search([scan]).first ?? IndexPortion(hits: [], isWhole: true)
    }

    /// The most bytes of bodies that are read at once. On this server.
    package static let portionBytes = 4_000_000
    /// The calls of the store for a page, with those for the schema and the zones. On this server: 6, because across a
    /// network each is a round trip.
    static let callsOfPage = 6
    /// The fewest calls with which a page looks at anything: a search by distance takes two to find a record and one to
    /// read it. On this server.
    static let questionsLeast = 3
    /// The bytes that an index row counts as.
    private static let workOfRow = 64

    /// Reads the next portion of a zone's records by name.
    /// - Returns: `isWhole`: they are its last.
    package func records(in zone: ZoneAddress, after name: String?, limit: Int) throws -> (rows: [RecordRow], isWhole: Bool) {
        let most = max(1, min(Self.portionBytes, workLeft))
        let (rows, isWhole) = try reads.transaction.portion(of: zone, after: name, limit: limit, bytesMax: most)
        return (counted(rows), isWhole)
    }

    /// Reads a portion of the records of these names, and removes their names.
    /// - Returns: the records that exist, in the names' order.
    package func records(in zone: ZoneAddress, next names: inout ArraySlice<String>) throws -> [RecordRow] {
        try counted(reads.transaction.records(in: zone, next: &names, bytesMax: Self.portionBytes))
    }

    package func record(in zone: ZoneAddress, named name: String) throws -> RecordRow? {
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

    /// Returns the hit to keep until the page is made: without its body, if the kept bodies fill a page.
    package func keeping(_ hit: QueryHit) -> QueryHit {
        guard let row = hit.row else { return hit }
        guard keptBytes + row.body.count <= Limits.pageBytes else { return hit.withoutRow }
        keptBytes += row.body.count
        return hit
    }

    package func dropped(_ hit: QueryHit) {
        keptBytes -= hit.row?.body.count ?? 0
    }

    /// Returns the row of a hit, and reads it again if it was not kept; nil if no calls are left for that.
    package func row(of hit: QueryHit, in zone: ZoneAddress) throws -> RecordRow? {
        if let row = hit.row { return row }
        guard questionsLeft > 0 else { return nil }
        guard let row = try record(in: zone, named: hit.name) else { throw ServerError.internalError }
        return row
    }
}
