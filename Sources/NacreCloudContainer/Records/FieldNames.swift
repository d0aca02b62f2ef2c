import NacreCloudStorage

/// Names of wanted fields. They are compared with the bytes of a record's body, in place.
package struct FieldNames: Hashable, Sendable {
    /// The UTF-8 bytes of the names, each once, ascending.
    private let names: [[UInt8]]
    /// An answer shows the manifest of a record's encrypted values whatever fields are wanted.
    let withManifest: Bool

    package init(_ names: some Sequence<String>, withManifest: Bool = false) {
        self.withManifest = withManifest
        self.names = Set(names.map { Array($0.utf8) }).sorted { $0.lexicographicallyPrecedes($1) }
    }

    package var count: Int { names.count }

    package func contains(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        var low = 0
        var high = names.count
        while low < high {
            let middle = (low + high) / 2
            let order = names[middle].withUnsafeBufferPointer { ByteOrder.compare($0, name) }
            if order == 0 { return true }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return false
    }
}
