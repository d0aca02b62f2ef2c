/// The form of values: as web clients see them, or exactly.
package struct ValueForm {
    /// Whether times carry their seconds beside the milliseconds, and sealed values the ID of their key.
    var details: Bool
    var numbersAsStrings: Bool
    /// Whether zones of references stand as in answers.
    var isAnswer: Bool

    package init(details: Bool, numbersAsStrings: Bool, isAnswer: Bool = false) {
        self.details = details
        self.numbersAsStrings = numbersAsStrings
        self.isAnswer = isAnswer
    }
}

extension FieldValue {
    /// Writes `{"value": V, "type": "T"}`, with `nacre` where the form has details and the value has any.
    package func write(to writer: inout JSONWriter, form: ValueForm) {
        writer.opening(#"{"value":"#)
        writeBare(to: &writer, form: form)
        writer.closing(type.member)
        if case .sealed = self { writer.members(#""isEncrypted":true"#) }
        if form.details { writeExtension(to: &writer) }
        writer.endObject()
    }

    private func writeBare(to writer: inout JSONWriter, form: ValueForm) {
        switch self {
        case .string(let value): writer.string(value)
        case .int64(let value): writer.write(value, form)
        case .double(let value): writer.write(value, form)
        case .timestamp(let value): writer.write(value.millisecondsSince1970, form)
        case .bytes(let value): writer.base64(value)
        case .location(let value): value.write(to: &writer)
        case .reference(let value): value.write(to: &writer, form: form)
        case .asset(let value): value.write(to: &writer)
        case .stringList(let values): writer.array(values) { $0.string($1) }
        case .int64List(let values): writer.array(values) { $0.write($1, form) }
        case .doubleList(let values): writer.array(values) { $0.write($1, form) }
        case .timestampList(let values): writer.array(values) { $0.write($1.millisecondsSince1970, form) }
        case .bytesList(let values): writer.array(values) { $0.base64($1) }
        case .locationList(let values): writer.array(values) { $1.write(to: &$0) }
        case .referenceList(let values): writer.array(values) { $1.write(to: &$0, form: form) }
        case .assetList(let values): writer.array(values) { $1.write(to: &$0) }
        case .emptyList: writer.array([String]()) { $0.string($1) }
        case .sealed(let value): writer.base64(value.bytes)
        }
    }

    /// Writes the part of times that milliseconds round away, and the key ID of a sealed value.
    private func writeExtension(to writer: inout JSONWriter) {
        switch self {
        case .timestamp(let value): writer.writeSeconds(value)
        case .timestampList(let values) where !values.isEmpty: writer.writeSeconds(values)
        case .location(let value):
            if let timestamp = value.timestamp { writer.writeSeconds(timestamp) }
        case .locationList(let values) where values.contains { $0.timestamp != nil }: writer.writeSeconds(values.map(\.timestamp))
        case .sealed(let value):
            writer.key("nacre")
            writer.beginObject()
            writer.write(ifPresent: "keyID", value.keyID)
            writer.endObject()
        default: break
        }
    }
}

extension FieldType {
    /// The JSON of a field's type, behind its value.
    fileprivate var member: StaticString {
        switch self {
        case .string: #","type":"STRING""#
        case .int64: #","type":"INT64""#
        case .double: #","type":"DOUBLE""#
        case .timestamp: #","type":"TIMESTAMP""#
        case .bytes: #","type":"BYTES""#
        case .location: #","type":"LOCATION""#
        case .reference: #","type":"REFERENCE""#
        case .asset: #","type":"ASSETID""#
        case .stringList: #","type":"STRING_LIST""#
        case .int64List: #","type":"INT64_LIST""#
        case .doubleList: #","type":"DOUBLE_LIST""#
        case .timestampList: #","type":"TIMESTAMP_LIST""#
        case .bytesList: #","type":"BYTES_LIST""#
        case .locationList: #","type":"LOCATION_LIST""#
        case .referenceList: #","type":"REFERENCE_LIST""#
        case .assetList: #","type":"ASSETID_LIST""#
        case .unknownList: #","type":"UNKNOWN_LIST""#
        }
    }
}

extension JSONWriter {
    /// Writes a field with a text, as `FieldValue.write` does in any form.
    /// - Parameter text: The text's UTF-8.
    package mutating func field(text: UnsafeBufferPointer<UInt8>) {
        opening(#"{"value":"#)
        string(utf8: text)
        closing(#","type":"STRING"}"#)
    }

    fileprivate mutating func write(_ value: Int64, _ form: ValueForm) {
        form.numbersAsStrings ? quotedInteger(value) : integer(value)
    }

    fileprivate mutating func write(_ value: Double, _ form: ValueForm) {
        form.numbersAsStrings && value.isFinite ? quotedDouble(value) : any(value)
    }

    /// Writes a double, or its name where JSON has no number for it.
    fileprivate mutating func any(_ value: Double) {
        if value.isFinite {
            double(value)
        } else {
            let names = Double.nonFiniteNames
            string((value.isNaN ? names.nan : value > 0 ? names.positive : names.negative).description)
        }
    }

    fileprivate mutating func write(ifPresent key: StaticString, any value: Double?) {
        guard let value else { return }
        self.key(key)
        any(value)
    }

    fileprivate mutating func writeSeconds(_ moment: Timestamp) {
        guard moment.secondsSince2001.isFinite else { return }
        key("nacre")
        beginObject()
        write("seconds", moment.secondsSince2001)
        endObject()
    }

    /// Writes the exact times. null stands for an element without a time, or with a time that is not a number.
    fileprivate mutating func writeSeconds(_ moments: [Timestamp?]) {
        key("nacre")
        beginObject()
        key("seconds")
        array(moments) { writer, moment in
            if let moment { writer.double(moment.secondsSince2001) } else { writer.null() }
        }
        endObject()
    }
}

extension Location {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.write(ifPresent: "latitude", any: latitude)
        writer.write(ifPresent: "longitude", any: longitude)
        writer.write(ifPresent: "horizontalAccuracy", any: horizontalAccuracy)
        writer.write(ifPresent: "verticalAccuracy", any: verticalAccuracy)
        writer.write(ifPresent: "altitude", any: altitude)
        writer.write(ifPresent: "speed", any: speed)
        writer.write(ifPresent: "course", any: course)
        if let timestamp { writer.write("timestamp", timestamp.millisecondsSince1970) }
        writer.endObject()
    }
}

extension Reference {
    fileprivate func write(to writer: inout JSONWriter, form: ValueForm) {
        writer.beginObject()
        writer.write("recordName", recordName)
        writer.write("action", action.rawValue)
        if let zoneID { writer.write("zoneID", zoneID, asAnswer: form.isAnswer) }
        writer.endObject()
    }

    /// Writes the reference as `parent` or `share`, which have no action.
    package func writeLink(to writer: inout JSONWriter, asAnswer: Bool) {
        writer.beginObject()
        writer.write("recordName", recordName)
        if let zoneID { writer.write("zoneID", zoneID, asAnswer: asAnswer) }
        writer.endObject()
    }
}

extension Asset {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.write("fileChecksum", fileChecksum)
        writer.write("size", size)
        writer.write(ifPresent: "referenceChecksum", referenceChecksum)
        writer.write(ifPresent: "wrappingKey", wrappingKey)
        writer.write(ifPresent: "receipt", receipt)
        writer.write(ifPresent: "downloadURL", downloadURL)
        writer.endObject()
    }
}
