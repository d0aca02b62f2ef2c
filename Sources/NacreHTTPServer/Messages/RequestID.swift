import CNacreSockets
import Glibc

/// The 128 bits of a request's UUID. The text is made on demand.
struct RequestID: Sendable {
    private let high: UInt64
    private let low: UInt64

    /// Creates a UUID of version 4, variant 1 (RFC 9562 §5.4), out of 128 random bits.
    init(high: UInt64, low: UInt64) {
        self.high = high & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
        self.low = low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
    }

    static func random() -> RequestID {
        RequestID(high: .random(in: .min ... .max), low: .random(in: .min ... .max))
    }

    var text: String {
        String(unsafeUninitializedCapacity: 36) { text in
            var position = 0
            for index in 0..<32 {
                if index == 8 || index == 12 || index == 16 || index == 20 {
                    text[position] = UInt8(ascii: "-")
                    position += 1
                }
                let word = index < 16 ? high : low
                let digit = UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * (index & 15))) & 15
                text[position] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
                position += 1
            }
            return position
        }
    }
}

/// Random bits for ids, fetched from the kernel a page at a time, because a system call a request is too dear. One
/// thread only.
struct RequestIDSource {
    private static let wordsAtOnce = 512
    private var words: [UInt64] = []

    mutating func next() -> RequestID {
        if words.count < 2 { refill() }
        return RequestID(high: words.removeLast(), low: words.removeLast())
    }

    private mutating func refill() {
        words = [UInt64](unsafeUninitializedCapacity: Self.wordsAtOnce) { words, count in
            let bytes = getrandom(words.baseAddress, words.count * 8, 0)
            count = max(bytes, 0) / 8
            // A signal may cut the call short. Missing words come from Swift's own source, which does not fail.
            while count < 2 {
                words[count] = .random(in: .min ... .max)
                count += 1
            }
        }
    }
}
