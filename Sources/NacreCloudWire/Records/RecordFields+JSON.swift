extension RecordFields {
    /// The number of fields of most records: room for them is reserved at once.
    package static let usualCount = 8

    /// Reads the fields of a record that a server answers. A field that is null is absent.
    init(from reader: inout JSONReader) throws(JSONError) {
        var values: [Field] = []
        if !(try reader.takeNull()) {
            try reader.beginObject()
            values.reserveCapacity(Self.usualCount)
            while let key = try reader.nextKey() {
                let name = key.string
                if let value = try FieldValue.read(from: &reader) { values.append(Field(name, value)) }
            }
        }
        self.init(values)
    }

    package func write(to writer: inout JSONWriter, form: ValueForm) {
        writer.key("fields")
        writer.beginObject()
        for index in entries.indices {
            writer.key(entries[index].name)
            entries[index].value.write(to: &writer, form: form)
        }
        writer.endObject()
    }
}
