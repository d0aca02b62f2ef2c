/// A message of OpenTelemetry's protocol (OTLP 1). Its two forms are written from one description: protobuf, and the
/// JSON that OTLP derives from it.
package struct OTLPMessage: Sendable {
    package enum Value: Sendable {
        case text(String)
        /// An ID: bytes, hexadecimal digits in JSON.
        case id([UInt8])
        case flag(Bool)
        /// `uint32` or an enum: a varint, and a number in JSON.
        case number(UInt32)
        /// `int64`: a varint, and text in JSON.
        case integer(Int64)
        /// `fixed32`: a number in JSON.
        case fixed32(UInt32)
        /// `fixed64`: text in JSON.
        case fixed64(UInt64)
        /// `sfixed64`: text in JSON.
        case signedFixed64(Int64)
        case double(Double)
        case message(OTLPMessage)
        case messages([OTLPMessage])
        /// A packed list of `fixed64`.
        case allFixed64([UInt64])
        /// A packed list of `double`.
        case doubles([Double])
    }

    package struct Field: Sendable {
        /// The number in the protobuf form.
        var number: UInt32
        /// The name in the JSON form.
        var name: String
        var value: Value
    }

    private(set) var fields: [Field] = []

    package init() {}

    /// Adds a field. It is written as it is, even if its value is the default one.
    package mutating func add(_ number: UInt32, _ name: String, _ value: Value) {
        fields.append(Field(number: number, name: name, value: value))
    }

    // MARK: Protobuf

    /// Returns the message in protobuf's wire format.
    package var protobuf: [UInt8] {
        var writer = ProtobufWriter()
        writer.write(self)
        return writer.bytes
    }

    // MARK: JSON

    /// Returns the message as JSON: names in camel case, IDs in hexadecimal digits, 64-bit integers as text.
    package var json: [UInt8] {
        var text = ""
        writeJSON(to: &text)
        return Array(text.utf8)
    }

    private func writeJSON(to text: inout String) {
        text += "{"
        for (index, field) in fields.enumerated() {
            text += "\(index == 0 ? "" : ",")\"\(field.name)\":"
            field.value.writeJSON(to: &text)
        }
        text += "}"
    }
}

extension OTLPMessage.Value {
    fileprivate func writeJSON(to text: inout String) {
        switch self {
        case .text(let value): LogLine.appendJSON(value, to: &text)
        case .id(let bytes): text += "\"\(bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())\""
        case .flag(let value): text += value ? "true" : "false"
        case .number(let value), .fixed32(let value): text += String(value)
        case .integer(let value), .signedFixed64(let value): text += "\"\(value)\""
        case .fixed64(let value): text += "\"\(value)\""
        case .double(let value): text += Self.number(value)
        case .message(let message): text += String(decoding: message.json, as: UTF8.self)
        case .messages(let messages): text += "[\(messages.map { String(decoding: $0.json, as: UTF8.self) }.joined(separator: ","))]"
        case .allFixed64(let values): text += "[\(values.map { "\"\($0)\"" }.joined(separator: ","))]"
        case .doubles(let values): text += "[\(values.map(Self.number).joined(separator: ","))]"
        }
    }

    private static func number(_ value: Double) -> String {
        value.isFinite ? String(value) : "\"\(value.isNaN ? "NaN" : value < 0 ? "-Infinity" : "Infinity")\""
    }
}

/// Protobuf's wire format, as far as OTLP needs it (protobuf.dev, "Encoding").
struct ProtobufWriter {
    private enum WireType: UInt64 {
        case varint = 0
        case fixed64 = 1
        case lengthDelimited = 2
        case fixed32 = 5
    }

    private(set) var bytes: [UInt8] = []

    mutating func write(_ message: OTLPMessage) {
        for field in message.fields { write(field.value, as: UInt64(field.number)) }
    }

    private mutating func write(_ value: OTLPMessage.Value, as number: UInt64) {
        switch value {
        case .text(let text): write(delimited: Array(text.utf8), as: number)
        case .id(let id): write(delimited: id, as: number)
        case .flag(let flag): write(varint: flag ? 1 : 0, as: number)
        case .number(let value): write(varint: UInt64(value), as: number)
        case .integer(let value): write(varint: UInt64(bitPattern: value), as: number)
        case .fixed32(let value):
            tag(number, .fixed32)
            append(value)
        case .fixed64(let value):
            tag(number, .fixed64)
            append(value)
        case .signedFixed64(let value): write(.fixed64(UInt64(bitPattern: value)), as: number)
        case .double(let value): write(.fixed64(value.bitPattern), as: number)
        case .message(let message): write(delimited: message.protobuf, as: number)
        case .messages(let messages): for message in messages { write(delimited: message.protobuf, as: number) }
        case .allFixed64(let values): write(packed: values, as: number)
        case .doubles(let values): write(packed: values.map(\.bitPattern), as: number)
        }
    }

    private mutating func write(varint value: UInt64, as number: UInt64) {
        tag(number, .varint)
        append(varint: value)
    }

    private mutating func write(delimited content: [UInt8], as number: UInt64) {
        tag(number, .lengthDelimited)
        append(varint: UInt64(content.count))
        bytes += content
    }

    private mutating func write(packed values: [UInt64], as number: UInt64) {
        tag(number, .lengthDelimited)
        append(varint: UInt64(values.count * 8))
        for value in values { append(value) }
    }

    private mutating func tag(_ number: UInt64, _ type: WireType) { append(varint: number << 3 | type.rawValue) }

    private mutating func append(varint value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    private mutating func append(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.littleEndian) { bytes += $0 }
    }
}
