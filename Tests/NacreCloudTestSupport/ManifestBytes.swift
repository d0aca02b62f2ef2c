/// A record manifest, written by the page `docs/encryption.md` alone: the module that the server reads it with has no
/// part in it.
package struct ManifestBytes: Sendable {
    private let stamp: UInt64
    private let parent: String
    private let values: [String: [UInt8]]

    /// - Parameter values: The sealed values, by field.
    package init(stamp: UInt64, parent: String = "", _ values: [String: [UInt8]]) {
        (self.stamp, self.parent, self.values) = (stamp, parent, values)
    }

    /// - Parameter hash: SHA-256.
    package func written(_ hash: ([UInt8]) -> [UInt8]) -> [UInt8] {
        func number(_ value: UInt64, _ count: Int) -> [UInt8] {
            (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) }
        }
        func text(_ text: String) -> [UInt8] { number(UInt64(text.utf8.count), 2) + Array(text.utf8) }
        let (suite, kind): (UInt8, UInt8) = (1, 2)
        let scope = [UInt8](repeating: 7, count: 16) + number(1, 4)
        let writer = [UInt8](repeating: 5, count: 16)
        var bytes = [suite, kind] + scope + number(0, 8) + number(stamp, 8) + writer + text(parent) + number(UInt64(values.count), 2)
        for (name, value) in values.sorted(by: { $0.key < $1.key }) { bytes += text(name) + hash(value) }
        let (noFiles, noAdmission) = (number(0, 2), number(0, 2))
        let (code, signature) = ([UInt8](repeating: 0, count: 32), [UInt8](repeating: 0, count: 64))
        return bytes + noFiles + noAdmission + code + signature
    }
}
