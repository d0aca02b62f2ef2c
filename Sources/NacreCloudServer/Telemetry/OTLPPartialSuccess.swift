import FoundationEssentials

/// The answer of a collector that took a part of an export alone (OTLP 1, "Partial Success").
struct OTLPPartialSuccess: Equatable, Sendable {
    /// The number of spans or data points that it rejected; above 0.
    var rejected: Int
    /// The reason that it gives, cut to `messageCharacters`.
    var message: String

    private static let messageCharacters = 200

    private init?(_ rejected: Int64, _ message: String) {
        guard rejected > 0 else { return nil }
        // A collector may send any number, and the sum must not overflow.
        (self.rejected, self.message) = (Int(min(rejected, Int64(Int32.max))), String(message.prefix(Self.messageCharacters)))
    }

    /// Returns nil for an answer that rejects nothing, or that is unreadable: the status says that the export is taken.
    init?(_ body: [UInt8], isJSON: Bool) {
        if isJSON { self.init(json: body) } else { self.init(protobuf: body) }
    }

    // MARK: JSON

    private struct Answer: Decodable {
        struct Part: Decodable {
            var rejectedSpans: Number?
            var rejectedDataPoints: Number?
            var errorMessage: String?
        }

        /// Protobuf's JSON has numbers of 64 bits as texts, and readers take both.
        struct Number: Decodable {
            var value: Int64

            init(from decoder: any Decoder) throws {
                let container = try decoder.singleValueContainer()
                value = try (try? container.decode(Int64.self)) ?? Int64(try container.decode(String.self)) ?? 0
            }
        }

        var partialSuccess: Part?
    }

    private init?(json: [UInt8]) {
        guard let part = (try? JSONDecoder().decode(Answer.self, from: Data(json)))?.partialSuccess else { return nil }
        self.init((part.rejectedSpans ?? part.rejectedDataPoints)?.value ?? 0, part.errorMessage ?? "")
    }

    // MARK: Protobuf

    /// The fields of a message: varints, and fields of bytes; others are passed over. A malformed message ends early.
    private struct Fields: Sequence, IteratorProtocol {
        var rest: ArraySlice<UInt8>

        mutating func next() -> (number: UInt64, varint: UInt64, bytes: ArraySlice<UInt8>)? {
            while let key = varint() {
                switch key & 7 {
                case 0: return varint().map { (key >> 3, $0, []) }
                case 1 where rest.count >= 8: rest = rest.dropFirst(8)
                case 2:
                    guard let length = varint(), length <= UInt64(rest.count) else { return nil }
                    defer { rest = rest.dropFirst(Int(length)) }
                    return (key >> 3, 0, rest.prefix(Int(length)))
                case 5 where rest.count >= 4: rest = rest.dropFirst(4)
                default: return nil
                }
            }
            return nil
        }

        private mutating func varint() -> UInt64? {
            var value: UInt64 = 0
            for shift in stride(from: UInt64(0), to: 70, by: 7) {
                guard let byte = rest.popFirst() else { return nil }
                value |= UInt64(byte & 0x7f) << shift
                if byte < 0x80 { return value }
            }
            return nil
        }
    }

    private init?(protobuf: [UInt8]) {
        var (rejected, message) = (Int64(0), "")
        for field in Fields(rest: protobuf[...]) where field.number == 1 {
            for part in Fields(rest: field.bytes) {
                if part.number == 1 { rejected = Int64(bitPattern: part.varint) }
                if part.number == 2 { message = String(decoding: part.bytes, as: UTF8.self) }
            }
        }
        self.init(rejected, message)
    }
}
