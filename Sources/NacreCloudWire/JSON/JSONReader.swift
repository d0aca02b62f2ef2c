/// The kind of a JSON value, as its first byte tells.
@usableFromInline
package enum JSONKind: Hashable, Sendable {
    case object
    case array
    case string
    case number
    case boolean
    case null

    var expectation: String {
        switch self {
        case .object: "an object is expected here"
        case .array: "an array is expected here"
        case .string: "a string is expected here"
        case .number: "a number is expected here"
        case .boolean: "true or false is expected here"
        case .null: "null is expected here"
        }
    }
}

/// Reads a JSON document value by value, straight from its bytes: no tree, and no copy of skipped values.
///
/// Strict RFC 8259 in UTF-8, and within the limits below. Every byte of the document is checked, also of skipped
/// values; only the size of a skipped number is not. Members with the same key are all returned in order: a codec
/// that assigns lets the last win.
///
///     try reader.beginObject()
///     while let key = try reader.nextKey() {
///         switch key {
///         case "recordName": name = try reader.string()
///         default: try reader.skip()
///         }
///     }
///
/// The reader points into the document, which must outlive it. After an error it must not be used again, unless a
/// checkpoint is restored.
@usableFromInline
package struct JSONReader: ~Copyable {
    let bytes: UnsafeRawBufferPointer
    /// The next byte to read.
    @usableFromInline
    package internal(set) var offset = 0
    private var depth = 0
    /// Whether the innermost array or object has returned nothing yet, so that no comma is due. One flag serves all
    /// levels, since an outer one always has returned something.
    private var isFirst = false

    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// A position to return to.
    package struct Checkpoint {
        fileprivate var offset: Int
        fileprivate var depth: Int
        fileprivate var isFirst: Bool
    }

    package var checkpoint: Checkpoint {
        Checkpoint(offset: offset, depth: depth, isFirst: isFirst)
    }

    package mutating func restore(_ checkpoint: Checkpoint) {
        offset = checkpoint.offset
        depth = checkpoint.depth
        isFirst = checkpoint.isFirst
    }

    /// Skips white space and returns the kind of the next value.
    @inline(__always)
    @usableFromInline
    package mutating func kind() throws(JSONError) -> JSONKind {
        switch try significantByte() {
        case UInt8(ascii: "\""): return .string
        case UInt8(ascii: "{"): return .object
        case UInt8(ascii: "["): return .array
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .boolean
        case UInt8(ascii: "n"): return .null
        default: throw JSONError(.unexpectedByte, at: offset)
        }
    }

    /// Throws unless the next value has that kind; does not move past it.
    @inline(__always)
    @usableFromInline
    package mutating func expect(_ expected: JSONKind) throws(JSONError) {
        guard try kind() == expected else { throw JSONError(.expected(expected), at: offset) }
    }

    /// Begins an object. Returns its offset, for errors about missing keys.
    @discardableResult
    package mutating func beginObject() throws(JSONError) -> Int {
        try expect(.object)
        return try begin()
    }

    @usableFromInline
    package mutating func beginArray() throws(JSONError) {
        try expect(.array)
        _ = try begin()
    }

    private mutating func begin() throws(JSONError) -> Int {
        let start = offset
        guard depth < Limits.messageDepth else { throw JSONError(.tooDeep, at: start) }
        depth += 1
        offset += 1
        isFirst = true
        return start
    }

    /// Returns the next key of the object begun last, or nil at its end. The key's value must be read or skipped
    /// before the next call.
    package mutating func nextKey() throws(JSONError) -> JSONText? {
        guard try advance(to: UInt8(ascii: "}")) else { return nil }
        guard try significantByte() == UInt8(ascii: "\"") else { throw JSONError(.unexpectedByte, at: offset) }
        let key = try text()
        guard try significantByte() == UInt8(ascii: ":") else { throw JSONError(.unexpectedByte, at: offset) }
        offset += 1
        return key
    }

    /// Returns whether the array begun last has another element, which must be read or skipped before the next call.
    @usableFromInline
    package mutating func nextElement() throws(JSONError) -> Bool {
        try advance(to: UInt8(ascii: "]"))
    }

    /// Moves past the comma, or past the end.
    @inline(__always)
    private mutating func advance(to end: UInt8) throws(JSONError) -> Bool {
        let byte = try significantByte()
        if byte == end {
            offset += 1
            depth -= 1
            isFirst = false
            return false
        }
        if isFirst {
            isFirst = false
            return true
        }
        guard byte == UInt8(ascii: ",") else { throw JSONError(.unexpectedByte, at: offset) }
        offset += 1
        return true
    }

    package mutating func boolean() throws(JSONError) -> Bool {
        try expect(.boolean)
        if bytes[offset] == UInt8(ascii: "t") {
            try literal("true")
            return true
        }
        try literal("false")
        return false
    }

    package mutating func null() throws(JSONError) {
        try expect(.null)
        try literal("null")
    }

    /// Returns whether the next value is null, and moves past it if so.
    package mutating func takeNull() throws(JSONError) -> Bool {
        guard try kind() == .null else { return false }
        try literal("null")
        return true
    }

    /// Checks the next value and moves past it.
    package mutating func skip() throws(JSONError) {
        switch try kind() {
        case .string: _ = try text()
        case .number: _ = try number()
        case .boolean: _ = try boolean()
        case .null: try null()
        case .array:
            try beginArray()
            while try nextElement() { try skip() }
        case .object:
            try beginObject()
            while try nextKey() != nil { try skip() }
        }
    }

    /// Throws unless only white space is left.
    package mutating func finish() throws(JSONError) {
        skipWhiteSpace()
        guard offset == bytes.count else { throw JSONError(.trailingBytes, at: offset) }
    }

    private mutating func literal(_ word: StaticString) throws(JSONError) {
        let start = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
        for byte in start {
            guard offset < bytes.count else { throw JSONError(.endOfInput, at: offset) }
            guard bytes[offset] == byte else { throw JSONError(.unexpectedByte, at: offset) }
            offset += 1
        }
    }

    /// Returns the next byte that is not white space; does not move past it.
    @inline(__always)
    private mutating func significantByte() throws(JSONError) -> UInt8 {
        guard offset < bytes.count else { throw JSONError(.endOfInput, at: bytes.count) }
        let byte = bytes[offset]
        if byte > UInt8(ascii: " ") { return byte }
        skipWhiteSpace()
        guard offset < bytes.count else { throw JSONError(.endOfInput, at: offset) }
        return bytes[offset]
    }

    private mutating func skipWhiteSpace() {
        while offset < bytes.count {
            switch bytes[offset] {
            case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"): offset += 1
            default: return
            }
        }
    }
}
