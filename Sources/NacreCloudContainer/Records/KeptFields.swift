import NacreCloudServerWire
import NacreCloudWire

/// The fields of a body whose checksum was found right, and which was gone through once: to read it again does not fail.
/// See `docs/decisions/fields-of-a-page-stay-unread.md`.
struct KeptFields: UnreadFields {
    private let body: [UInt8]
    /// Where the fields begin.
    private let start: Int
    /// Bytes behind them.
    private let last: Int

    init(body: [UInt8], start: Int, last: Int) {
        self.body = body
        self.start = start
        self.last = last
    }

    private var reader: ByteReader { ByteReader(body, droppingFirst: start, last: last) }

    var byteCount: Int { body.count - start - last }

    var fields: RecordFields {
        var reader = reader
        return (try? RecordBody.fields(&reader, only: nil)) ?? RecordFields()
    }

    func write(to writer: inout JSONWriter, form: ValueForm) {
        writer.key("fields")
        writer.beginObject()
        var reader = reader
        try? RecordBody.writeFields(&reader, to: &writer, form: form)
        writer.endObject()
    }
}
