package import NacreCloudWire

/// An answer that the server writes in the form that the request asked for.
package protocol WritableAnswer: AnswerMessage {
    func write(to writer: inout JSONWriter, form: AnswerForm)
}

extension WritableAnswer {
    package func json(_ form: AnswerForm) -> [UInt8] {
        var writer = JSONWriter()
        write(to: &writer, form: form)
        return writer.finish()
    }
}

/// The form of an answer, as the request chose it.
package struct AnswerForm: Hashable, Sendable {
    /// Whether our additions are shown (`nacre.details` of the request). Without them an answer has nothing that
    /// CloudKit's does not have.
    package var details: Bool
    /// Whether values of the types INT64, DOUBLE and TIMESTAMP are strings.
    package var numbersAsStrings: Bool
    /// The zone shown with records that name none. nil: records show no zone, as in answers to `records/modify`.
    package var zoneID: ZoneID?

    package init(details: Bool = false, numbersAsStrings: Bool = false, zoneID: ZoneID? = nil) {
        self.details = details
        self.numbersAsStrings = numbersAsStrings
        self.zoneID = zoneID
    }
}
