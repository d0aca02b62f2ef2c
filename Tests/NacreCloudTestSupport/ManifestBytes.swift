import NacreCrypto

/// A record manifest, written by the page `docs/encryption.md` alone: the module that the server reads it with has no
/// part in it. Its key is the first one of the `SampleScope` of a zone.
package struct ManifestBytes: Sendable {
    private let zone: String
    private let stamp: UInt64
    private let parent: String
    private let values: [String: [UInt8]]

    /// - Parameter values: The sealed values, by field.
    package init(in zone: String, stamp: UInt64, parent: String = "", _ values: [String: [UInt8]]) {
        (self.zone, self.stamp, self.parent, self.values) = (zone, stamp, parent, values)
    }

    /// The name of the key, as `nacre.keyID` has it.
    package static func keyID(in zone: String) -> String { Hex.encode(key(of: zone)) }

    private static func key(of zone: String) -> [UInt8] { SHA256.digest(Array(zone.utf8)).prefix(16) + [0, 0, 0, 1] }

    /// - Parameter hash: SHA-256.
    package func written(_ hash: ([UInt8]) -> [UInt8]) -> [UInt8] {
        func number(_ value: UInt64, _ count: Int) -> [UInt8] {
            (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) }
        }
        func text(_ text: String) -> [UInt8] { number(UInt64(text.utf8.count), 2) + Array(text.utf8) }
        let (suite, kind): (UInt8, UInt8) = (1, 2)
        let writer = [UInt8](repeating: 5, count: 16)
        var bytes = [suite, kind] + Self.key(of: zone) + number(0, 8) + number(stamp, 8) + writer + text(parent) + number(UInt64(values.count), 2)
        for (name, value) in values.sorted(by: { $0.key < $1.key }) { bytes += text(name) + hash(value) }
        let (noFiles, noAdmission) = (number(0, 2), number(0, 2))
        let (code, signature) = ([UInt8](repeating: 0, count: 32), [UInt8](repeating: 0, count: 64))
        return bytes + noFiles + noAdmission + code + signature
    }
}
