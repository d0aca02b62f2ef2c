@testable import NacreCloudWire

/// Fuzzes the JSON reader: input that `skip` accepts can be read, except for the size of numbers.
enum JSONTarget {
    static func run(_ input: UnsafeRawBufferPointer) {
        var skipping = JSONReader(input)
        let isSkipped = succeeds { () throws(JSONError) in
            try skipping.skip()
            try skipping.finish()
        }
        var reading = JSONReader(input)
        let isRead = succeeds { () throws(JSONError) in
            try walk(&reading)
            try reading.finish()
        }
        promise("what can be skipped can be read, and the contrary", isSkipped == isRead)
        if isSkipped { promise("both end at the same place", skipping.offset == reading.offset) }
        for offset in [0, input.count / 2, input.count] { _ = JSONPosition(of: offset, in: input) }
        if let decoded = Base64.decode(input) {
            promise("two texts of base64 that decode to the same are the same", Base64.encode(decoded).utf8.elementsEqual(input))
        }
    }

    private static func succeeds(_ body: () throws(JSONError) -> Void) -> Bool {
        do throws(JSONError) {
            try body()
            return true
        } catch {
            return false
        }
    }

    private static func walk(_ reader: inout JSONReader) throws(JSONError) {
        switch try reader.kind() {
        case .object:
            try reader.beginObject()
            while let key = try reader.nextKey() {
                check(key)
                try walk(&reader)
            }
        case .array:
            try reader.beginArray()
            while try reader.nextElement() { try walk(&reader) }
        case .string: check(try reader.stringText())
        case .number: try number(&reader)
        case .boolean: _ = try reader.boolean()
        case .null: try reader.null()
        }
    }

    /// Checks that a string, written and read again, stays the same.
    private static func check(_ text: JSONText) {
        let string = text.string
        var writer = JSONWriter()
        writer.beginObject()
        writer.key(string)
        writer.string(string)
        writer.endObject()
        let written = writer.finish()
        written.withUnsafeBytes { bytes in
            var reader = JSONReader(bytes)
            do throws(JSONError) {
                try reader.beginObject()
                let key = try reader.nextKey()?.string ?? ""
                promise("a key comes back as it was written", key.utf8.elementsEqual(string.utf8))
                let value = try reader.string()
                promise("a string comes back as it was written", value.utf8.elementsEqual(string.utf8))
                promise("nothing follows", try reader.nextKey() == nil)
                try reader.finish()
            } catch {
                promise("what was written can be read", false)
            }
        }
    }

    /// Reads a number. A well-formed number that fits no type is refused as a value and accepted as a number.
    private static func number(_ reader: inout JSONReader) throws(JSONError) {
        let start = reader.checkpoint
        _ = succeeds { () throws(JSONError) in _ = try reader.int64() }
        reader.restore(start)
        let isDouble = succeeds { () throws(JSONError) in
            let value = try reader.double()
            promise("a number is finite", value.isFinite)
        }
        guard !isDouble else { return }
        reader.restore(start)
        try reader.skip()
    }
}
