package import NacreCloudWire

/// Fields of a record that nobody looked at on their way into an answer: what keeps them writes them down from where they stand.
package protocol UnreadFields: Sendable {
    /// Writes what `RecordFields.write` would of the same fields.
    func write(to writer: inout JSONWriter, form: ValueForm)
    /// The same fields, read.
    var fields: RecordFields { get }
    /// Bytes of them as they are kept.
    var byteCount: Int { get }
}

/// A page of a query's answer, as the server writes it.
package struct QueryAnswer: Sendable {
    /// Without the fields of the records that are among `unread`.
    package var response: RecordsQueryResponse
    /// For each record its fields, where they were not read.
    package let unread: [(any UnreadFields)?]

    package init(response: RecordsQueryResponse, unread: [(any UnreadFields)?]) {
        self.response = response
        self.unread = unread
    }

    /// With the fields of all records.
    package var whole: RecordsQueryResponse {
        var whole = response
        for (place, kept) in unread.enumerated() {
            if let kept { whole.records[place].fields = kept.fields }
        }
        return whole
    }
}
