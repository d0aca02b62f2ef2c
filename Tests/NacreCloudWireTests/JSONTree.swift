import Foundation
import NacreCloudTestSupport
import NacreCloudWire

/// A document as a tree, which the reader itself never makes.
indirect enum JSONTree: Equatable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case double(Double)
    case string(String)
    case array([JSONTree])
    case object([String: JSONTree])

    init(_ json: [UInt8]) throws(JSONError) {
        self = try json.withUnsafeBufferPointer { (bytes) throws(JSONError) in
            var reader = JSONReader(UnsafeRawBufferPointer(bytes))
            let tree = try JSONTree(from: &reader)
            try reader.finish()
            return tree
        }
    }

    init(_ json: String) throws(JSONError) {
        self = try JSONTree(Array(json.utf8))
    }

    private init(from reader: inout JSONReader) throws(JSONError) {
        switch try reader.kind() {
        case .null:
            try reader.null()
            self = .null
        case .boolean: self = .boolean(try reader.boolean())
        case .string: self = .string(try reader.string())
        case .number: self = try reader.isInteger() ? .integer(try reader.int64()) : .double(try reader.double())
        case .array: self = .array(try reader.array { reader throws(JSONError) in try JSONTree(from: &reader) })
        case .object:
            var members: [String: JSONTree] = [:]
            try reader.beginObject()
            while let key = try reader.nextKey() { members[key.string] = try JSONTree(from: &reader) }
            self = .object(members)
        }
    }

    func write(to writer: inout JSONWriter) {
        switch self {
        case .null: writer.null()
        case .boolean(let value): writer.boolean(value)
        case .integer(let value): writer.integer(value)
        case .double(let value): writer.double(value)
        case .string(let value): writer.string(value)
        case .array(let values):
            writer.beginArray()
            for value in values { value.write(to: &writer) }
            writer.endArray()
        case .object(let members):
            writer.beginObject()
            for (key, value) in members {
                writer.key(key)
                value.write(to: &writer)
            }
            writer.endObject()
        }
    }

    var json: [UInt8] {
        var writer = JSONWriter(capacity: 64)
        write(to: &writer)
        return writer.finish()
    }

    /// The tree in Foundation's types.
    var foundation: Any {
        switch self {
        case .null: NSNull()
        case .boolean(let value): value
        case .integer(let value): value
        case .double(let value): value
        case .string(let value): value
        case .array(let values): values.map(\.foundation)
        case .object(let members): members.mapValues(\.foundation)
        }
    }

    static func random(_ seed: inout SeededRandom, depth: Int = 5) -> JSONTree {
        switch Int.random(in: 0..<(depth == 0 ? 5 : 7), using: &seed) {
        case 0: .null
        case 1: .boolean(.random(using: &seed))
        case 2: .integer(seed.integer())
        case 3: .double(seed.double())
        case 4: .string(seed.text())
        case 5: .array(seed.list(upTo: 6) { random(&$0, depth: depth - 1) })
        default: .object(Dictionary(seed.list(upTo: 6) { ($0.text(upTo: 12), random(&$0, depth: depth - 1)) }) { $1 })
        }
    }

    /// Returns whether the trees are equal. Foundation may write numbers as integers or as doubles: these are
    /// compared as doubles, exactly.
    func matches(_ other: JSONTree) -> Bool {
        switch (self, other) {
        case (.integer(let left), .integer(let right)): left == right
        case (.integer(let left), .double(let right)), (.double(let right), .integer(let left)): Double(left) == right
        case (.array(let left), .array(let right)): left.count == right.count && zip(left, right).allSatisfy { $0.matches($1) }
        case (.object(let left), .object(let right)):
            left.count == right.count && left.allSatisfy { key, value in right[key].map { value.matches($0) } ?? false }
        default: self == other
        }
    }
}
