import NacreCloudServerWire
import NacreCloudWire

/// A record of a page, or one that was asked for by name, as it is kept: its checksum was found right and it was gone through once, so that to read it again
/// does not fail.
/// See `docs/decisions/records-of-a-page-stay-unread.md`.
struct UnreadRecord: Sendable {
    let row: RecordRow
    /// Where its fields begin in the body.
    let fieldsPlace: Int
    let zone: UnreadZone

    /// nil for a record that has to be read, because not all of it is shown as it is kept: an asset has a URL, and a share says who asks.
    ///
    /// - Parameters:
    ///   - row: its checksum was found right before.
    ///   - place: where its fields begin, where it was gone through before.
    /// - Throws: as `RecordBody.read` does.
    init?(_ row: RecordRow, at place: Int? = nil, of zone: UnreadZone) throws(StoreError) {
        let known: Int? = if let place { place } else { try RecordBody.placeOfPlainFields(row) }
        guard let known else { return nil }
        self.row = row
        self.zone = zone
        fieldsPlace = known
    }

    /// The same of a row that was just found; nil also where it is damaged, is too large to be kept, or is not all for who asks.
    init?(found row: RecordRow, at address: ZoneAddress, of zone: UnreadZone) {
        guard !row.isTombstone, zone.showing.keeps(row, keys: nil), (try? RecordBody.check(row, in: address)) != nil,
            let record = try? UnreadRecord(row, of: zone)
        else { return nil }
        self = record
    }

    /// Bytes of its fields as they are kept.
    var valueBytes: Int { row.body.count - fieldsPlace - RecordBody.checksumBytes }
}

/// A zone of which a page keeps records, and how they are shown.
final class UnreadZone: Sendable {
    let showing: ShownRecords

    init(_ showing: ShownRecords) {
        self.showing = showing
    }
}

extension UnreadRecord: AnsweredRecord {
    var recordName: String { row.name }
    var recordType: String { row.type }
    var sharing: Box<ShareDetails>? { nil }

    func writeFields(to writer: inout JSONWriter, form: ValueForm) {
        writer.key("fields")
        writer.beginObject()
        var reader = ByteReader(row.body, droppingFirst: fieldsPlace, last: RecordBody.checksumBytes)
        try? RecordBody.writeFields(&reader, of: zone.showing.zoneID, to: &writer, form: form)
        writer.endObject()
    }

    func writeChangeTag(to writer: inout JSONWriter) {
        writer.string(ascii: ChangeTag.mostLetters) { ChangeTag.write(row.number, to: $0) }
    }

    func writeStamps(to writer: inout JSONWriter, _ repeated: inout RepeatedMembers) -> (created: Timestamp, modified: Timestamp) {
        var reader = ByteReader(row.body, droppingFirst: RecordBody.stampsPlace, last: RecordBody.checksumBytes)
        let unknown = RecordContent.unknown.created.timestamp
        return (try? RecordBody.writeCompactStamps(&reader, to: &writer, &repeated)) ?? (unknown, unknown)
    }

    func writeLinks(to writer: inout JSONWriter, details: Bool) {
        guard let parent = row.parent else { return }
        writer.key("parent")
        Reference(recordName: parent, action: .none, zoneID: zone.showing.zoneID).writeLink(to: &writer, asAnswer: true)
    }
}

/// The records of a page, in its order.
struct PagedRecords: RecordPage {
    private enum Entry: Sendable {
        case read(Box<Record>)
        case unread(UnreadRecord)
        /// What is answered in the place of a record.
        case other(RecordResult)
    }

    private var entries: [Entry] = []
    private(set) var valueBytes = 0

    var count: Int { entries.count }

    mutating func reserve(_ count: Int) {
        entries.reserveCapacity(count)
    }

    mutating func append(_ record: UnreadRecord) {
        entries.append(.unread(record))
        valueBytes += record.valueBytes
    }

    mutating func append(_ record: Record) {
        entries.append(.read(Box(record)))
        valueBytes += record.fields.byteCount
    }

    mutating func append(_ result: RecordResult) {
        if case .record(let record) = result { append(record) } else { entries.append(.other(result)) }
    }

    var all: [RecordResult] {
        entries.compactMap { entry in
            switch entry {
            case .read(let record): .record(record.value)
            // Was gone through before: it is not nil.
            case .unread(let record): (try? record.zone.showing.record(record.row, keys: nil, nil)).map(RecordResult.record)
            case .other(let result): result
            }
        }
    }

    func write(to writer: inout JSONWriter, form: AnswerForm) {
        var repeated = RepeatedMembers()
        for place in entries.indices {
            switch entries[place] {
            case .read(let record): record.value.write(to: &writer, form: form, zoneID: record.value.zoneID ?? form.zoneID, &repeated)
            case .unread(let record): record.write(to: &writer, form: form, zoneID: record.zone.showing.zoneID, &repeated)
            case .other(let result): result.write(to: &writer, form: form)
            }
        }
    }
}
