/// The position of an offset in a JSON document for people: line, column, path.
///
/// Found by a scan from the start, once for each error that ends a request.
package struct JSONPosition: Equatable, Sendable {
    /// The line, from 1.
    package var line: Int
    /// The column, from 1, in bytes.
    package var column: Int
    /// The path, such as `operations[2].record.fields`; empty for the document's own value. Cut at
    /// `maximumPathLength` characters.
    package var path: String

    /// Characters of a path at most. Ours: keys are the client's text, and must not make an error long.
    package static let maximumPathLength = 512

    /// Finds the position of an offset.
    /// - Parameter bytes: A document that is valid JSON up to `offset`; later bytes are not read.
    package init(of offset: Int, in bytes: UnsafeRawBufferPointer) {
        line = 1
        column = 1
        for byte in bytes.prefix(offset) {
            if byte == UInt8(ascii: "\n") {
                line += 1
                column = 1
            } else {
                column += 1
            }
        }
        var walk = Walk(bytes: UnsafeRawBufferPointer(rebasing: bytes.prefix(offset)))
        walk.run()
        path = String(walk.path.prefix(Self.maximumPathLength))
    }

    /// Follows the brackets, keys and commas before an offset.
    private struct Walk {
        struct Frame {
            var isArray: Bool
            var index = 0
            var key: Range<Int>?
            var awaitsKey: Bool
        }

        let bytes: UnsafeRawBufferPointer
        var frames: [Frame] = []

        mutating func run() {
            var position = 0
            while position < bytes.count {
                switch bytes[position] {
                case UInt8(ascii: "{"): frames.append(Frame(isArray: false, awaitsKey: true))
                case UInt8(ascii: "["): frames.append(Frame(isArray: true, awaitsKey: false))
                case UInt8(ascii: "}"), UInt8(ascii: "]"): _ = frames.popLast()
                case UInt8(ascii: ","): comma()
                case UInt8(ascii: "\""): position = string(from: position + 1)
                default: break
                }
                position += 1
            }
        }

        private mutating func comma() {
            guard let last = frames.indices.last else { return }
            if frames[last].isArray {
                frames[last].index += 1
            } else {
                frames[last].key = nil
                frames[last].awaitsKey = true
            }
        }

        /// Returns the index of the closing quote, or the end.
        private mutating func string(from start: Int) -> Int {
            var end = start
            while end < bytes.count, bytes[end] != UInt8(ascii: "\"") {
                end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1
            }
            if end < bytes.count, let last = frames.indices.last, frames[last].awaitsKey {
                frames[last].key = start..<end
                frames[last].awaitsKey = false
            }
            return end
        }

        var path: String {
            var path = ""
            for frame in frames {
                if frame.isArray {
                    path += "[\(frame.index)]"
                } else if let key = frame.key {
                    path += path.isEmpty ? "" : "."
                    path += String(decoding: bytes[key].prefix(JSONPosition.maximumPathLength), as: UTF8.self)
                }
            }
            return path
        }
    }
}
