import NacreCloudWire

/// A JSON value as a tree: messages of the Model Context Protocol, whose form depends on the tool.
enum JSONValue: Hashable, Sendable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// Reads a document.
    /// - Throws: `JSONError`, also for a depth or a number beyond the limits of messages.
    init(_ bytes: [UInt8]) throws {
        self = try bytes.withUnsafeBytes { bytes in
            var reader = JSONReader(bytes)
            let value = try Self.read(&reader)
            try reader.finish()
            return value
        }
    }

    private static func read(_ reader: inout JSONReader) throws(JSONError) -> JSONValue {
        switch try reader.kind() {
        case .null:
            try reader.null()
            return .null
        case .boolean: return .boolean(try reader.boolean())
        case .number: return try reader.isInteger() ? .integer(try reader.int64()) : .double(try reader.double())
        case .string: return .string(try reader.string())
        case .array:
            try reader.beginArray()
            var items: [JSONValue] = []
            while try reader.nextElement() { items.append(try read(&reader)) }
            return .array(items)
        case .object:
            try reader.beginObject()
            var members: [String: JSONValue] = [:]
            while let key = try reader.nextKey() {
                let name = key.string
                members[name] = try read(&reader)
            }
            return .object(members)
        }
    }

    /// The document in one line, the members of objects in the order of their names.
    var text: String {
        var writer = JSONWriter()
        write(to: &writer)
        return String(decoding: writer.finish(), as: UTF8.self)
    }

    private func write(to writer: inout JSONWriter) {
        switch self {
        case .null: writer.null()
        case .boolean(let flag): writer.boolean(flag)
        case .integer(let number): writer.integer(number)
        case .double(let number): writer.double(number)
        case .string(let text): writer.string(text)
        case .array(let items):
            writer.beginArray()
            for item in items { item.write(to: &writer) }
            writer.endArray()
        case .object(let members):
            writer.beginObject()
            for (name, value) in members.sorted(by: { $0.key < $1.key }) {
                writer.key(name)
                value.write(to: &writer)
            }
            writer.endObject()
        }
    }

    subscript(name: String) -> JSONValue? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    var string: String? { if case .string(let text) = self { text } else { nil } }
    var items: [JSONValue]? { if case .array(let items) = self { items } else { nil } }
    /// The whole number that the value is. JSON does not tell 5.0 from 5.
    var integer: Int64? {
        switch self {
        case .integer(let number): number
        case .double(let number): Int64(exactly: number)
        default: nil
        }
    }

    /// Returns the value with each text changed. Names of members stay.
    func mapTexts(_ change: (String) -> String) -> JSONValue {
        switch self {
        case .string(let text): .string(change(text))
        case .array(let items): .array(items.map { $0.mapTexts(change) })
        case .object(let members): .object(members.mapValues { $0.mapTexts(change) })
        default: self
        }
    }

    /// Makes a text; nil for nil.
    static func text(_ text: String?) -> JSONValue? { text.map(JSONValue.string) }

    static func texts(_ texts: [String]) -> JSONValue { .array(texts.map(JSONValue.string)) }

    static func number(_ number: some BinaryInteger) -> JSONValue { .integer(Int64(clamping: number)) }

    /// Makes an object without the members that are nil.
    static func members(_ members: KeyValuePairs<String, JSONValue?>) -> JSONValue {
        .object(Dictionary(members.compactMap { name, value in value.map { (name, $0) } }, uniquingKeysWith: { $1 }))
    }
}
