package import NacreCloudWire

/// The records of a page, or those that were asked for by name, on their way into an answer. Those that nobody has to look at are written down from where they are kept.
package protocol RecordPage: Sendable {
    var count: Int { get }
    /// All of them, read, and what is answered in the place of others.
    var all: [RecordResult] { get }
    /// Bytes of their values, whatever they take as JSON.
    var valueBytes: Int { get }
    /// Writes what `RecordResult.write` does of each of `all`; each record with its zone.
    func write(to writer: inout JSONWriter, form: AnswerForm)
}

/// A page of a query's answer, as the server writes it.
package struct QueryAnswer: Sendable {
    /// Without its records.
    package var response: RecordsQueryResponse
    package let page: any RecordPage

    package init(response: RecordsQueryResponse, page: any RecordPage) {
        self.response = response
        self.page = page
    }

    /// With its records.
    package var whole: RecordsQueryResponse {
        var whole = response
        whole.records = page.all.compactMap { if case .record(let record) = $0 { record } else { nil } }
        return whole
    }
}

/// Records that were asked for by name, as the server writes them.
package struct LookupAnswer: Sendable {
    package let page: any RecordPage
    /// Names under which there was nothing.
    package let absent: Int
    package var syncToken: String?

    package init(page: any RecordPage, absent: Int = 0) {
        self.page = page
        self.absent = absent
    }

    /// With its records read.
    package var whole: RecordsResponse { RecordsResponse(records: page.all, syncToken: syncToken) }
}

/// What the records of an answer mostly have in common, where it stands in the document: the next one has a copy of its bytes.
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
    ///   - kept: how they are kept: the same bytes are the same members.
    ///   - write: writes them, behind others.
    package mutating func writeNames(kept: UnsafeBufferPointer<UInt8>, to writer: inout JSONWriter, _ write: (inout JSONWriter) -> Void) {
        if let names, names.kept.withUnsafeBytes({ Self.areSame($0, UnsafeRawBufferPointer(kept)) }) { return writer.again(names.written) }
        let start = writer.count
        write(&writer)
        names = (Array(kept), start..<writer.count)
    }

    /// A word at a time: for each record of a page.
    private static func areSame(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        guard left.count == right.count else { return false }
        var place = 0
        while place + 8 <= left.count {
            guard left.loadUnaligned(fromByteOffset: place, as: UInt64.self) == right.loadUnaligned(fromByteOffset: place, as: UInt64.self) else {
                return false
            }
            place += 8
        }
        return left[place...].elementsEqual(right[place...])
    }
}
