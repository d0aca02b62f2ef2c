package import NacreCloudWire

/// An answer as the server writes it: in the form that the request asked for.
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

/// What the request decided about its answer.
package struct AnswerForm: Hashable, Sendable {
    /// Our additions are shown (`nacre.details` of the request). Without them an answer has nothing that CloudKit's has not.
    package var details: Bool
    /// Values of the types INT64, DOUBLE and TIMESTAMP are strings.
    package var numbersAsStrings: Bool
    /// Each record shows its zone: its own, or this one where it says none. nil: records show none, as in answers to `records/modify`.
    package var zoneID: ZoneID?

    package init(details: Bool = false, numbersAsStrings: Bool = false, zoneID: ZoneID? = nil) {
        self.details = details
        self.numbersAsStrings = numbersAsStrings
        self.zoneID = zoneID
    }
}
