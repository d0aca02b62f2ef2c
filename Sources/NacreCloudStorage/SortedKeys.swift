/// The keys of an index, each once, in the order of their bytes. They share one array: a text has many thousand.
package struct SortedKeys: Hashable, Sendable {
    package private(set) var count = 0
    private var bytes: [UInt8] = []
    /// The offset of each key but the first. A single key takes its bytes and no more.
    private var starts: [UInt32] = []

    package init() {}

    package init(_ key: [UInt8]) {
        bytes = key
        count = 1
    }

    /// - Parameter keys: in any order, and any number of times.
    package init(sorting keys: [[UInt8]]) {
        guard keys.count > 1 else {
            bytes = keys.first ?? []
            count = keys.count
            return
        }
        let sorted = keys.sorted { ByteOrder.compare($0, $1) < 0 }
        reserve(keys: sorted.count, bytes: sorted.reduce(0) { $0 + $1.count })
        for index in sorted.indices where index == 0 || sorted[index] != sorted[index - 1] {
            sorted[index].withUnsafeBufferPointer { append($0) }
        }
    }

    package var isEmpty: Bool { count == 0 }

    /// The bytes of all keys together.
    package var byteCount: Int { bytes.count }

    /// Passes the keys in their order. A key is valid only during its call.
    package func each(_ body: (UnsafeBufferPointer<UInt8>) throws -> Void) rethrows {
        try withUnsafeKeys { keys in
            for index in 0..<keys.count { try body(keys[index]) }
        }
    }

    package func contains(_ key: [UInt8]) -> Bool {
        key.withUnsafeBufferPointer { key in
            withUnsafeKeys { keys in (0..<keys.count).contains { ByteOrder.compare(keys[$0], key) == 0 } }
        }
    }

    /// Returns the keys that are not among `others`.
    package func subtracting(_ others: SortedKeys) -> SortedKeys {
        if isEmpty || others.isEmpty { return self }
        var left = SortedKeys()
        left.reserve(keys: count, bytes: bytes.count)
        withUnsafeKeys { keys in
            others.withUnsafeKeys { others in
                var index = 0
                for key in (0..<keys.count).lazy.map({ keys[$0] }) {
                    while index < others.count, ByteOrder.compare(others[index], key) < 0 { index += 1 }
                    if index == others.count || ByteOrder.compare(others[index], key) != 0 { left.append(key) }
                }
            }
        }
        return left
    }

    private mutating func reserve(keys: Int, bytes: Int) {
        self.bytes.reserveCapacity(bytes)
        starts.reserveCapacity(max(keys - 1, 0))
    }

    /// - Parameter key: comes after all that are there.
    private mutating func append(_ key: UnsafeBufferPointer<UInt8>) {
        if count > 0 { starts.append(UInt32(truncatingIfNeeded: bytes.count)) }
        bytes.append(contentsOf: key)
        count += 1
    }

    private func withUnsafeKeys<Value>(_ body: (Keys) throws -> Value) rethrows -> Value {
        try bytes.withUnsafeBufferPointer { bytes in
            try starts.withUnsafeBufferPointer { starts in try body(Keys(count: count, bytes: bytes, starts: starts)) }
        }
    }

    private struct Keys {
        let count: Int
        let bytes: UnsafeBufferPointer<UInt8>
        let starts: UnsafeBufferPointer<UInt32>

        subscript(place: Int) -> UnsafeBufferPointer<UInt8> {
            let start = place == 0 ? 0 : Int(starts[place - 1])
            let end = place == starts.count ? bytes.count : Int(starts[place])
            return UnsafeBufferPointer(rebasing: bytes[start..<end])
        }
    }
}

/// The rows of a record in one index: one under each key.
package struct IndexKeys: Hashable, Sendable {
    /// The number of keys of a record in one index that cost as much as a row: an engine may pack them together.
    package static let perRow = 8

    package var index: IndexID
    package var keys: SortedKeys

    package init(index: IndexID, keys: SortedKeys) {
        self.index = index
        self.keys = keys
    }

    /// Groups rows, which may be in any order, by their index.
    package static func of(_ entries: [IndexEntry]) -> [IndexKeys] {
        Dictionary(grouping: entries, by: \.index).map { IndexKeys(index: $0, keys: SortedKeys(sorting: $1.map(\.key))) }
            .sorted { $0.index.rawValue < $1.index.rawValue }
    }

    package var entries: [IndexEntry] {
        var entries: [IndexEntry] = []
        entries.reserveCapacity(keys.count)
        keys.each { entries.append(IndexEntry(index: index, key: Array($0))) }
        return entries
    }
}

extension [IndexKeys] {
    /// The number of rows in all indexes.
    package var rowCount: Int { reduce(0) { $0 + $1.keys.count } }

    /// The cost of writing them, in rows: `IndexKeys.perRow` keys of a record in one index count as one row.
    package var rowsToWrite: Int { reduce(0) { $0 + ($1.keys.count + IndexKeys.perRow - 1) / IndexKeys.perRow } }
}
