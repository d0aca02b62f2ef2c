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

    init(_ transaction: any ReadTransaction) {
        self.transaction = transaction
    }

    /// Rows that may still be read.
    var left: Int { max(0, limit - rowsRead) }

    func met(_ record: StoredRecord, in zone: ZoneAddress) {
        damaged[zone, default: [:]][record.row.name] = record
    }

    /// Allows so many rows from now on.
    func allow(_ rows: Int) {
        limit = rowsRead + rows
    }

    func search(_ scan: IndexScan) throws -> [IndexHit] {
        let hits = try transaction.search(scan)
        rowsRead += hits.count
        if scan.includesRecords { recordsRead += hits.count }
        return hits
    }

    func records(in zone: ZoneAddress, after name: String?, limit: Int) throws -> [RecordRow] {
        try counted(transaction.records(in: zone, after: name, limit: limit))
    }

    /// In no order; those that are there.
    func records(in zone: ZoneAddress, named names: [String]) throws -> [RecordRow] {
        try counted(transaction.records(in: zone, named: names))
    }

    private func counted(_ rows: [RecordRow]) -> [RecordRow] {
        rowsRead += rows.count
        recordsRead += rows.count
        return rows
    }
}
