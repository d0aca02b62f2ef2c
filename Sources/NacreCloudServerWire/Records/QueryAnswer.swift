package import NacreCloudWire

/// The records of a query's or a lookup's answer. Most are written straight from their stored form.
package protocol RecordPage: Sendable {
    var count: Int { get }
    /// All records, decoded, and the errors in place of records.
    var all: [RecordResult] { get }
    /// Bytes of the values, apart from their JSON form.
    var valueBytes: Int { get }
    /// Writes each of `all` as `RecordResult.write` does; each record with its zone.
    func write(to writer: inout JSONWriter, form: AnswerForm)
}

/// A page of a query's answer, as the server writes it.
package struct QueryAnswer: Sendable {
    /// The answer without its records.
    package var response: RecordsQueryResponse
    package let page: any RecordPage

    package init(response: RecordsQueryResponse, page: any RecordPage) {
        self.response = response
        self.page = page
    }

    /// The answer with its records.
    package var whole: RecordsQueryResponse {
        var whole = response
        whole.records = page.all.compactMap { if case .record(let record) = $0 { record } else { nil } }
        return whole
    }
}

/// Records that were looked up by name, as the server writes them.
package struct LookupAnswer: Sendable {
    package let page: any RecordPage
    /// The number of names without a record.
    package let absent: Int
    package var syncToken: String?

    package init(page: any RecordPage, absent: Int = 0) {
        self.page = page
        self.absent = absent
    }

    /// The answer with its records decoded.
    package var whole: RecordsResponse { RecordsResponse(records: page.all, syncToken: syncToken) }
}

/// Members that the records of an answer mostly share: the next record copies their bytes in the document.
package struct RepeatedMembers {
    private var zone: (zoneID: ZoneID, written: Range<Int>)?
    private var names: (kept: [UInt8], written: Range<Int>)?

    package init() {}

    /// Writes the member `zoneID`.
    mutating func write(_ zoneID: ZoneID, to writer: inout JSONWriter) {
        if let zone, zone.zoneID == zoneID { return writer.again(zone.written) }
        let start = writer.count
        writer.write("zoneID", zoneID, asAnswer: true)
        zone = (zoneID, start..<writer.count)
    }

    /// Writes the members that say who saved a record.
    ///
    /// - Parameters:
    ///   - kept: Their stored form: equal bytes mean equal members.
    ///   - write: Writes them, behind other members.
    package mutating func writeNames(kept: UnsafeBufferPointer<UInt8>, to writer: inout JSONWriter, _ write: (inout JSONWriter) -> Void) {
        if let names, names.kept.withUnsafeBytes({ Self.areSame($0, UnsafeRawBufferPointer(kept)) }) { return writer.again(names.written) }
        let start = writer.count
        write(&writer)
        names = (Array(kept), start..<writer.count)
    }

    /// Compares a word at a time, as it runs for each record of a page.
    private static func areSame(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        guard left.count == right.count else { return false }
        var index = 0
        while index + 8 <= left.count {
            guard left.loadUnaligned(fromByteOffset: index, as: UInt64.self) == right.loadUnaligned(fromByteOffset: index, as: UInt64.self) else {
                return false
            }
            index += 8
        }
        return left[index...].elementsEqual(right[index...])
    }
}
