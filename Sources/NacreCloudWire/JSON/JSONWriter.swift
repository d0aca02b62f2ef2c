/// Writes a JSON document into one growing buffer: no tree, no intermediate strings, no white space.
///
/// The writer writes the commas; the caller pairs `begin` with `end` and a key with its value. Escapes are the fewest
/// that RFC 8259 allows.
@usableFromInline
package struct JSONWriter: ~Copyable {
    private var base: UnsafeMutableRawPointer
    private var capacity: Int
    package private(set) var count = 0
    /// Whether a value has been written on this level. One flag serves all levels: an outer level has a value when
    /// the inner one ends.
    private var needsComma = false

    /// Makes a writer.
    /// - Parameter capacity: Bytes to start with; the buffer doubles when it is full.
    package init(capacity: Int = 4096) {
        self.capacity = max(capacity, 64)
        base = .allocate(byteCount: self.capacity, alignment: 8)
    }

    deinit {
        base.deallocate()
    }

    /// Returns the document. Costs one copy.
    package consuming func finish() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { output, initialized in
            UnsafeMutableRawBufferPointer(output).copyMemory(from: UnsafeRawBufferPointer(start: base, count: count))
            initialized = count
        }
    }

    package mutating func beginObject() { open(UInt8(ascii: "{")) }
    package mutating func endObject() { close(UInt8(ascii: "}")) }
    @usableFromInline
    package mutating func beginArray() { open(UInt8(ascii: "[")) }
    @usableFromInline
    package mutating func endArray() { close(UInt8(ascii: "]")) }

    /// Writes a key.
    /// - Parameter name: Must need no escape.
    @inline(__always)
    @usableFromInline
    package mutating func key(_ name: StaticString) {
        let length = name.utf8CodeUnitCount
        reserve(length + 4)
        comma()
        put(UInt8(ascii: "\""))
        copy(name.utf8Start, length)
        put(UInt8(ascii: "\""))
        put(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Writes a key with its escapes. Literals use the overload for `StaticString`, which does not look for escapes.
    @_disfavoredOverload
    package mutating func key(_ name: String) {
        var name = name
        name.withUTF8 { key(utf8: $0) }
    }

    package mutating func string(_ value: String) {
        var value = value
        value.withUTF8 { string(utf8: $0) }
    }

    /// Writes a string.
    /// - Parameter utf8: The text.
    package mutating func string(utf8: UnsafeBufferPointer<UInt8>) {
        beginValue()
        quoted(UnsafeRawBufferPointer(utf8))
    }

    /// Writes a key.
    /// - Parameter utf8: The name.
    package mutating func key(utf8: UnsafeBufferPointer<UInt8>) {
        string(utf8: utf8)
        reserve(1)
        put(UInt8(ascii: ":"))
        needsComma = false
    }

    package mutating func integer(_ value: Int64) {
        beginValue()
        decimal(value)
    }

    /// Writes the shortest digits that read back as the same double. NaN and infinity become `null`: check before.
    package mutating func double(_ value: Double) {
        beginValue()
        guard value.isFinite else {
            put("null")
            return
        }
        decimal(value)
    }

    package mutating func boolean(_ value: Bool) {
        beginValue()
        put(value ? "true" : "false")
    }

    package mutating func null() {
        beginValue()
        put("null")
    }

    /// Writes a value that is JSON already.
    package mutating func raw(_ json: StaticString) {
        beginValue()
        put(json)
    }

    /// Writes JSON that ends where another value must follow: an object's bracket and a key.
    @inline(__always)
    package mutating func opening(_ json: StaticString) {
        beginValue()
        put(json)
        needsComma = false
    }

    /// Writes the JSON that ends what `opening` began.
    package mutating func closing(_ json: StaticString) {
        put(json)
        needsComma = true
    }

    /// Writes members that are JSON already, with their keys. At least one.
    package mutating func members(_ json: StaticString) {
        raw(json)
    }

    /// Copies members from an earlier range of the document, where they followed other members, as they do now.
    package mutating func again(_ members: Range<Int>) {
        precondition(members.upperBound <= count)
        reserve(members.count)
        copy(base + members.lowerBound, members.count)
        needsComma = true
    }

    /// Writes a string of letters that need no escape.
    ///
    /// - Parameters:
    ///   - most: The number of letters at most.
    ///   - write: Writes them, and returns their number.
    package mutating func string(ascii most: Int, _ write: (UnsafeMutableBufferPointer<UInt8>) -> Int) {
        beginValue()
        reserve(most + 2)
        put(UInt8(ascii: "\""))
        count += write(UnsafeMutableBufferPointer(start: (base + count).assumingMemoryBound(to: UInt8.self), count: most))
        put(UInt8(ascii: "\""))
    }

    /// Writes a string of standard base64.
    package mutating func base64(_ bytes: [UInt8]) {
        beginValue()
        let length = Base64.encodedCount(bytes.count)
        reserve(length + 2)
        put(UInt8(ascii: "\""))
        bytes.withUnsafeBytes { Base64.encode($0, into: base + count) }
        count += length
        put(UInt8(ascii: "\""))
    }

    /// Writes the number as a string, for clients whose numbers are doubles.
    package mutating func quotedInteger(_ value: Int64) {
        beginValue()
        put("\"")
        decimal(value)
        put("\"")
    }

    /// Writes the number as a string.
    /// - Parameter value: Must be finite.
    package mutating func quotedDouble(_ value: Double) {
        beginValue()
        put("\"")
        decimal(value)
        put("\"")
    }

    // MARK: - Bytes

    private mutating func open(_ bracket: UInt8) {
        beginValue()
        reserve(1)
        put(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        reserve(1)
        put(bracket)
        needsComma = true
    }

    @inline(__always)
    private mutating func beginValue() {
        reserve(1)
        comma()
        needsComma = true
    }

    @inline(__always)
    private mutating func comma() {
        if needsComma { put(UInt8(ascii: ",")) }
    }

    /// Writes a byte. Room must have been reserved.
    @inline(__always)
    private mutating func put(_ byte: UInt8) {
        base.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
        count += 1
    }

    @inline(__always)
    private mutating func put(_ text: StaticString) {
        put(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    @inline(__always)
    private mutating func put(_ bytes: UnsafeRawBufferPointer) {
        reserve(bytes.count)
        guard let start = bytes.baseAddress else { return }
        copy(start, bytes.count)
    }

    /// Copies bytes. Room must have been reserved. Most pieces are so short that a call of memcpy costs more than the
    /// copy.
    @inline(__always)
    private mutating func copy(_ start: UnsafeRawPointer, _ length: Int) {
        let end = base + count
        if length > 32 {
            end.copyMemory(from: start, byteCount: length)
        } else if length >= 8 {
            // The last word ends with the piece and overlaps the word before: some bytes are written twice.
            for index in stride(from: 0, to: length - 8, by: 8) {
                end.storeBytes(of: start.loadUnaligned(fromByteOffset: index, as: UInt64.self), toByteOffset: index, as: UInt64.self)
            }
            end.storeBytes(of: start.loadUnaligned(fromByteOffset: length - 8, as: UInt64.self), toByteOffset: length - 8, as: UInt64.self)
        } else if length >= 4 {
            end.storeBytes(of: start.loadUnaligned(as: UInt32.self), as: UInt32.self)
            end.storeBytes(of: start.loadUnaligned(fromByteOffset: length - 4, as: UInt32.self), toByteOffset: length - 4, as: UInt32.self)
        } else {
            for index in 0..<length { end.storeBytes(of: start.load(fromByteOffset: index, as: UInt8.self), toByteOffset: index, as: UInt8.self) }
        }
        count += length
    }

    @inline(__always)
    private mutating func reserve(_ room: Int) {
        if capacity - count < room { grow(room) }
    }

    @inline(never)
    private mutating func grow(_ room: Int) {
        let larger = max(capacity * 2, count + room)
        let moved = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 8)
        moved.copyMemory(from: base, byteCount: count)
        base.deallocate()
        base = moved
        capacity = larger
    }
}

extension JSONWriter {
    private mutating func decimal(_ value: Int64) {
        reserve(20)
        if value < 0 { put(UInt8(ascii: "-")) }
        var rest = value.magnitude
        var digits = 1
        var bound: UInt64 = 10
        while digits < 19, rest >= bound {
            bound *= 10
            digits += 1
        }
        var end = count + digits
        count = end
        while rest >= 10 {
            // Two digits per step halve the number of divisions, each of which waits for the one before.
            let (quotient, two) = rest.quotientAndRemainder(dividingBy: 100)
            let (tens, ones) = UInt16(truncatingIfNeeded: two).quotientAndRemainder(dividingBy: 10)
            end -= 2
            base.storeBytes(of: (0x3030 + tens + ones << 8).littleEndian, toByteOffset: end, as: UInt16.self)
            rest = quotient
        }
        if end > count - digits { base.storeBytes(of: UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest), toByteOffset: end - 1, as: UInt8.self) }
    }

    private mutating func decimal(_ value: Double) {
        // Whole numbers up to here are shortest as their digits, and skip the search for a shorter form.
        if value.magnitude < 1e15, let whole = Int64(exactly: value), whole != 0 || value.sign == .plus {
            decimal(whole)
            put(".0")
            return
        }
        reserve(NumberLetters.most)
        var letters = NumberLetters(start: base + count)
        value.write(to: &letters)
        count += letters.count
    }

    /// Writes a quoted text. Copies eight bytes at a time while it looks for characters to escape.
    private mutating func quoted(_ bytes: UnsafeRawBufferPointer) {
        reserve(bytes.count + 2)
        put(UInt8(ascii: "\""))
        var position = 0
        while position + 8 <= bytes.count {
            let word = bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            guard JSONBytes.marks(in: UInt64(littleEndian: word)) == 0 else { break }
            base.storeBytes(of: word, toByteOffset: count, as: UInt64.self)
            count += 8
            position += 8
        }
        if position < bytes.count, !takeLast(of: bytes, from: position) { escaped(bytes, from: position) }
        put(UInt8(ascii: "\""))
    }

    /// Copies the last bytes of a text, fewer than eight, if none needs an escape, and returns whether it did. Room
    /// must have been reserved. It copies a word, or two halves of one, that ends with the text: some bytes are
    /// written twice.
    @inline(__always)
    private mutating func takeLast(of bytes: UnsafeRawBufferPointer, from position: Int) -> Bool {
        let left = bytes.count - position
        if bytes.count >= 8, left < 8 {
            let word = bytes.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self)
            guard JSONBytes.marks(in: UInt64(littleEndian: word)) == 0 else { return false }
            base.storeBytes(of: word, toByteOffset: count + left - 8, as: UInt64.self)
        } else if bytes.count >= 4, bytes.count < 8 {
            let first = bytes.loadUnaligned(as: UInt32.self)
            let last = bytes.loadUnaligned(fromByteOffset: bytes.count - 4, as: UInt32.self)
            guard JSONBytes.marks(in: UInt64(UInt32(littleEndian: first)) | UInt64(UInt32(littleEndian: last)) << 32) == 0 else { return false }
            base.storeBytes(of: first, toByteOffset: count, as: UInt32.self)
            base.storeBytes(of: last, toByteOffset: count + left - 4, as: UInt32.self)
        } else {
            return false
        }
        count += left
        return true
    }

    /// Writes the rest of a text with its escapes.
    @inline(never)
    private mutating func escaped(_ bytes: UnsafeRawBufferPointer, from start: Int) {
        var position = start
        // There is always room for the rest, and the quote behind it.
        while position < bytes.count {
            if position + 8 <= bytes.count {
                let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
                base.storeBytes(of: word.littleEndian, toByteOffset: count, as: UInt64.self)
                let found = JSONBytes.marks(in: word)
                let plain = found == 0 ? 8 : found.trailingZeroBitCount >> 3
                count += plain
                position += plain
                if found == 0 { continue }
            }
            let byte = bytes[position]
            position += 1
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                escape(byte)
                reserve(bytes.count - position + 1)
            } else {
                put(byte)
            }
        }
    }

    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): put("\\\"")
        case UInt8(ascii: "\\"): put("\\\\")
        case 0x08: put("\\b")
        case 0x09: put("\\t")
        case 0x0A: put("\\n")
        case 0x0C: put("\\f")
        case 0x0D: put("\\r")
        default:
            put(byte < 0x10 ? "\\u000" : "\\u001")
            reserve(1)
            let digit = byte & 0x0F
            put(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }
}

/// Writes the letters of a double straight into a buffer: making a `String` first costs half as much again.
private struct NumberLetters: TextOutputStream {
    /// Letters at most: more than the shortest form of any double.
    static let most = 32

    let start: UnsafeMutableRawPointer
    private(set) var count = 0

    init(start: UnsafeMutableRawPointer) {
        self.start = start
    }

    mutating func write(_ text: String) {
        var text = text
        text.withUTF8 { _writeASCII($0) }
    }

    /// Called by the standard library in place of `write` for ASCII letters without a `String`.
    mutating func _writeASCII(_ letters: UnsafeBufferPointer<UInt8>) {
        precondition(count + letters.count <= Self.most)
        UnsafeMutableRawBufferPointer(start: start + count, count: letters.count).copyMemory(from: UnsafeRawBufferPointer(letters))
        count += letters.count
    }
}
