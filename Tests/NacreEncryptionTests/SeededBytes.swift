import NacreCrypto
import NacreEncryption

/// Random bytes that are the same in each run, and that are counted.
struct SeededBytes: RandomBytes {
    private let name: String
    private(set) var draws = 0

    init(_ name: String) {
        self.name = name
    }

    mutating func bytes(_ count: Int) throws(CryptoError) -> [UInt8] {
        draws += 1
        var bytes: [UInt8] = []
        while bytes.count < count { bytes += SHA256.digest(Array("\(name) \(draws) \(bytes.count)".utf8)) }
        return Array(bytes.prefix(count))
    }

    mutating func secret(_ count: Int) throws(CryptoError) -> SecretBytes { SecretBytes(try bytes(count)) }
}

/// The same bytes at each draw, as on a machine that is resumed twice from one snapshot.
struct RepeatedBytes: RandomBytes {
    mutating func bytes(_ count: Int) throws(CryptoError) -> [UInt8] { [UInt8](repeating: 7, count: count) }
    mutating func secret(_ count: Int) throws(CryptoError) -> SecretBytes { SecretBytes(try bytes(count)) }
}
