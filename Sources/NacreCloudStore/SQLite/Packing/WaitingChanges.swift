import Glibc
import NacreCloudStorage

/// The index rows that a change of a record removes and adds in one index, in the order of their keys. The bytes allow
/// a search for a key without reading the others.
struct WaitingChanges: Sendable {
    private static let version: UInt8 = 1
    private static let headBytes = 5
    private static let placeBytes = 4

    let bytes: [UInt8]
    let count: Int

    /// - Parameter bytes: Bytes whose checksum was right.
    init(_ bytes: [UInt8]) throws(MalformedBytes) {
        guard bytes.count >= Self.headBytes, bytes[0] == Self.version else { throw MalformedBytes() }
        self.bytes = bytes
        count = Self.number(bytes, at: 1)
        guard count <= (bytes.count - Self.headBytes) / (Self.placeBytes + 1) else { throw MalformedBytes() }
        var last = 0
        for index in 0..<count {
            let start = Self.number(bytes, at: Self.headBytes + Self.placeBytes * index)
            guard start >= last, keysFrom + start < bytes.count else { throw MalformedBytes() }
            last = start + 1
        }
    }

    /// - Parameters:
    ///   - gone: The keys of the removed rows.
    ///   - come: The keys of the rows that exist afterwards, even if `gone` has them, too.
    init(gone: SortedKeys, come: SortedKeys) {
        if gone.isEmpty || come.isEmpty {
            self.init(gone.isEmpty ? come : gone, areGone: come.isEmpty)
        } else {
            self = Self(gone, areGone: true).followed(by: Self(come, areGone: false))
        }
    }

    private init(_ keys: SortedKeys, areGone: Bool) {
        self.init(most: keys.count, keyBytes: keys.byteCount) { changes in
            keys.each { changes.append($0, isGone: areGone) }
        }
    }

    /// Writes the changes straight into their final bytes, because other writes wait for the 100,000 of a request.
    /// - Parameters:
    ///   - most: The most changes.
    ///   - keyBytes: The most bytes of their keys.
    ///   - write: Appends the changes in the order of their keys, each key once.
    private init(most: Int, keyBytes: Int, _ write: (inout Room) -> Void) {
        var count = 0
        bytes = [UInt8](unsafeUninitializedCapacity: Self.headBytes + (Self.placeBytes + 1) * most + keyBytes) { buffer, used in
            var room = Room(UnsafeMutableRawBufferPointer(buffer), most: most)
            write(&room)
            (count, used) = (room.count, room.finish())
        }
        self.count = count
    }

    /// The buffer of the changes: offsets at the front, then the items, after room for `most` offsets.
    private struct Room {
        private let buffer: UnsafeMutableRawBufferPointer
        private let itemsFrom: Int
        private var end: Int
        private(set) var count = 0

        init(_ buffer: UnsafeMutableRawBufferPointer, most: Int) {
            self.buffer = buffer
            itemsFrom = headBytes + placeBytes * most
            end = itemsFrom
        }

        mutating func append(_ key: UnsafeBufferPointer<UInt8>, isGone: Bool) {
            put(end - itemsFrom, at: headBytes + placeBytes * count)
            buffer[end] = isGone ? 1 : 0
            UnsafeMutableRawBufferPointer(rebasing: buffer[(end + 1)...]).copyMemory(from: UnsafeRawBufferPointer(key))
            end += 1 + key.count
            count += 1
        }

        /// - Returns: The number of bytes in use.
        func finish() -> Int {
            buffer[0] = version
            put(count, at: 1)
            let keysFrom = headBytes + placeBytes * count
            if keysFrom < itemsFrom {
                let items = UnsafeRawBufferPointer(rebasing: buffer[itemsFrom..<end])
                UnsafeMutableRawBufferPointer(rebasing: buffer[keysFrom...]).copyMemory(from: items)
            }
            return keysFrom + end - itemsFrom
        }

        private func put(_ number: Int, at index: Int) {
            buffer.storeBytes(of: UInt32(truncatingIfNeeded: number).littleEndian, toByteOffset: index, as: UInt32.self)
        }
    }

    func key(at index: Int) -> ArraySlice<UInt8> { bytes[(start(index) + 1)..<start(index + 1)] }

    func isGone(at index: Int) -> Bool { bytes[start(index)] == 1 }

    /// Returns the first index whose key is not before `key`.
    func place(of key: [UInt8]) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if order(middle, to: key) < 0 { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Whether the key at an index is `key`.
    func isKey(_ key: [UInt8], at index: Int) -> Bool { index < count && order(index, to: key) == 0 }

    /// Returns a number below, at or above zero if the key at an index is before, at or after `key`.
    private func order(_ index: Int, to key: [UInt8]) -> Int {
        bytes.withUnsafeBufferPointer { bytes in
            key.withUnsafeBufferPointer { ByteOrder.compare(self.key(at: index, of: bytes), $0) }
        }
    }

    /// - Parameter bytes: The value's own bytes.
    private func key(at index: Int, of bytes: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(rebasing: bytes[(start(index) + 1)..<start(index + 1)])
    }

    private var keysFrom: Int { Self.headBytes + Self.placeBytes * count }

    private func start(_ index: Int) -> Int {
        index < count ? keysFrom + Self.number(bytes, at: Self.headBytes + Self.placeBytes * index) : bytes.count
    }

    private static func number(_ bytes: [UInt8], at index: Int) -> Int {
        bytes.withUnsafeBytes { Int(UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: index, as: UInt32.self))) }
    }

    /// Returns these changes merged with later ones. If both name the same key, the later one wins.
    func followed(by later: WaitingChanges) -> WaitingChanges {
        WaitingChanges(most: count + later.count, keyBytes: bytes.count + later.bytes.count) { all in
            bytes.withUnsafeBufferPointer { own in
                later.bytes.withUnsafeBufferPointer { others in
                    var next = 0
                    for index in 0..<later.count {
                        let key = later.key(at: index, of: others)
                        while next < count {
                            let earlier = self.key(at: next, of: own)
                            let order = ByteOrder.compare(earlier, key)
                            if order < 0 { all.append(earlier, isGone: isGone(at: next)) }
                            if order <= 0 { next += 1 }
                            if order >= 0 { break }
                        }
                        all.append(key, isGone: later.isGone(at: index))
                    }
                    for index in next..<count { all.append(self.key(at: index, of: own), isGone: isGone(at: index)) }
                }
            }
        }
    }
}

/// A row of `index_waiting`.
struct WaitingRow: Sendable {
    var name: String
    /// The round of the changes. Of two rows of a record, the one of the later round wins.
    var round: Int64
    /// The number of the record.
    var id: Int64
    var changes: WaitingChanges
}
