package import NacreCloudServerWire
package import NacreCloudStorage
package import NacreCloudWire

/// A record of an answer, still in its binary form. Its checksum is right and it was read through once: reading it
/// again cannot fail. See `docs/decisions/records-answers.md`.
package struct UnreadRecord: Sendable {
    package let row: RecordRow
    /// The offset in the body where the fields begin.
    let fieldsPlace: Int
    package let zone: UnreadZone

    /// Returns nil for a record that is not shown exactly as it is kept and has to be decoded: an asset is shown with
    /// its URL, a share for its caller, and a manifest beside the times.
    ///
    /// - Parameters:
    ///   - row: its checksum was checked before.
    ///   - index: the offset of its fields in the body; nil: it was not read through before.
    /// - Throws: as `RecordBody.read` does.
    package init?(_ row: RecordRow, at index: Int? = nil, of zone: UnreadZone) throws(StoreError) {
        let known: Int? = if let index { index } else { try RecordBody.offsetOfPlainFields(row) }
        guard let known else { return nil }
        self.row = row
        self.zone = zone
        fieldsPlace = known
    }

    /// Makes an unread record of a row that was just found. Returns nil also for a damaged or large record, and where
    /// the caller does not see everything.
    package init?(found row: RecordRow, at address: ZoneAddress, of zone: UnreadZone) {
        guard !row.isTombstone, zone.showing.keeps(row, keys: nil), (try? RecordBody.check(row, in: address)) != nil,
            let record = try? UnreadRecord(row, of: zone)
        else { return nil }
        self = record
    }

    /// Bytes of the fields as they are kept.
    package var valueBytes: Int { row.body.count - fieldsPlace - RecordBody.checksumBytes }
}

/// The zone of an answer's unread records, and how they are shown.
package final class UnreadZone: Sendable {
    package let showing: ShownRecords

    package init(_ showing: ShownRecords) {
        self.showing = showing
    }
}

extension UnreadRecord: AnsweredRecord {
    package var recordName: String { row.name }
    package var recordType: String { row.type }
    package var sharing: Box<ShareDetails>? { nil }
    package var manifest: [UInt8]? { nil }

    package func writeFields(to writer: inout JSONWriter, form: ValueForm) {
        writer.key("fields")
        writer.beginObject()
        var reader = ByteReader(row.body, droppingFirst: fieldsPlace, last: RecordBody.checksumBytes)
        try? RecordBody.writeFields(&reader, of: zone.showing.zoneID, to: &writer, form: form)
        writer.endObject()
    }

    package func writeChangeTag(to writer: inout JSONWriter) {
        writer.string(ascii: ChangeTag.mostLetters) { ChangeTag.write(row.number, to: $0) }
    }

    package func writeStamps(to writer: inout JSONWriter, _ repeated: inout RepeatedMembers) -> (created: Timestamp, modified: Timestamp) {
        var reader = ByteReader(row.body, droppingFirst: RecordBody.stampsPlace, last: RecordBody.checksumBytes)
        let unknown = RecordContent.unknown.created.timestamp
        return (try? RecordBody.writeStamps(&reader, to: &writer, &repeated)) ?? (unknown, unknown)
    }

    package func writeLinks(to writer: inout JSONWriter, details: Bool) {
        guard let parent = row.parent else { return }
        writer.key("parent")
        Reference(recordName: parent, action: .none).writeLink(to: &writer, asAnswer: true)
    }
}

/// The records of a page, in its order.
package struct PagedRecords: RecordPage {
    private enum Entry: Sendable {
        case read(Box<Record>)
        case unread(UnreadRecord)
        /// The answer in place of a record: an error or a tombstone.
        case other(RecordResult)
    }

    private var entries: [Entry] = []
    package private(set) var valueBytes = 0

    package var count: Int { entries.count }

    package mutating func reserve(_ count: Int) {
        entries.reserveCapacity(count)
    }

    package mutating func append(_ record: UnreadRecord) {
        entries.append(.unread(record))
        valueBytes += record.valueBytes
    }

    package mutating func append(_ record: Record) {
        entries.append(.read(Box(record)))
        valueBytes += record.byteCount
    }

    package mutating func append(_ result: RecordResult) {
        if case .record(let record) = result { append(record) } else { entries.append(.other(result)) }
    }

    package var all: [RecordResult] {
        entries.compactMap { entry in
            switch entry {
            case .read(let record): .record(record.value)
            // Never nil: the record was read through before.
            case .unread(let record): (try? record.zone.showing.record(record.row, keys: nil, nil)).map(RecordResult.record)
            case .other(let result): result
            }
        }
    }

    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        var repeated = RepeatedMembers()
        for index in entries.indices {
            switch entries[index] {
            case .read(let record): record.value.write(to: &writer, form: form, zoneID: record.value.zoneID ?? form.zoneID, &repeated)
            case .unread(let record): record.write(to: &writer, form: form, zoneID: record.zone.showing.zoneID, &repeated)
            case .other(let result): result.write(to: &writer, form: form)
            }
        }
    }
}
