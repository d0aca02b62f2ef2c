import Glibc
import NacreCloudContainer

/// What a change of a record takes away and brings in one index, in the order of its keys: bytes in which a key is found without reading the others.
struct WaitingChanges: Sendable {
    private static let version: UInt8 = 1
    private static let headBytes = 5
    private static let placeBytes = 4

    let bytes: [UInt8]
    let count: Int

    /// - Parameter bytes: their checksum was right.
    init(_ bytes: [UInt8]) throws(MalformedBytes) {
        guard bytes.count >= Self.headBytes, bytes[0] == Self.version else { throw MalformedBytes() }
        self.bytes = bytes
        count = Self.number(bytes, at: 1)
        guard count <= (bytes.count - Self.headBytes) / (Self.placeBytes + 1) else { throw MalformedBytes() }
        var last = 0
        for place in 0..<count {
            let start = Self.number(bytes, at: Self.headBytes + Self.placeBytes * place)
            guard start >= last, keysFrom + start < bytes.count else { throw MalformedBytes() }
            last = start + 1
        }
    }

    /// - Parameter changes: in the order of their keys, each once.
    static func encode(_ changes: [(key: [UInt8], isGone: Bool)]) -> [UInt8] {
        var bytes: [UInt8] = [version]
        bytes.reserveCapacity(changes.reduce(headBytes) { $0 + placeBytes + 1 + $1.key.count })
        append(changes.count, to: &bytes)
        var place = 0
        for change in changes {
            append(place, to: &bytes)
            place += 1 + change.key.count
        }
        for change in changes {
            bytes.append(change.isGone ? 1 : 0)
            bytes.append(contentsOf: change.key)
        }
        return bytes
    }

    func key(at place: Int) -> ArraySlice<UInt8> { bytes[(start(place) + 1)..<start(place + 1)] }

    func isGone(at place: Int) -> Bool { bytes[start(place)] == 1 }

    /// The first place whose key is not before this one.
    func place(of key: [UInt8]) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if order(middle, to: key) < 0 { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Whether the key of a place is this one.
    func isKey(_ key: [UInt8], at place: Int) -> Bool { place < count && order(place, to: key) == 0 }

    /// Below, at or above zero as the key at a place stands before, at or behind this one.
    private func order(_ place: Int, to key: [UInt8]) -> Int {
        let (start, end) = (start(place) + 1, start(place + 1))
        return bytes.withUnsafeBufferPointer { bytes in
            key.withUnsafeBufferPointer { key in
                ByteOrder.compare(UnsafeBufferPointer(rebasing: bytes[start..<end]), key)
            }
        }
    }

    private var keysFrom: Int { Self.headBytes + Self.placeBytes * count }

    private func start(_ place: Int) -> Int {
        place < count ? keysFrom + Self.number(bytes, at: Self.headBytes + Self.placeBytes * place) : bytes.count
    }

    private static func append(_ number: Int, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: UInt32(truncatingIfNeeded: number).littleEndian) { bytes.append(contentsOf: $0) }
    }

    private static func number(_ bytes: [UInt8], at place: Int) -> Int {
        bytes.withUnsafeBytes { Int(UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: place, as: UInt32.self))) }
    }

    /// These with later ones, which say what is so.
    /// - Parameter later: in the order of their keys, each once.
    func followed(by later: [(key: [UInt8], isGone: Bool)]) -> [(key: [UInt8], isGone: Bool)] {
        var all: [(key: [UInt8], isGone: Bool)] = []
        all.reserveCapacity(count + later.count)
        var next = 0
        for change in later {
            while next < count, order(next, to: change.key) < 0 {
                all.append((Array(key(at: next)), isGone(at: next)))
                next += 1
            }
            if isKey(change.key, at: next) { next += 1 }
            all.append(change)
        }
        while next < count {
            all.append((Array(key(at: next)), isGone(at: next)))
            next += 1
        }
        return all
    }
}

/// A row of `index_waiting`.
struct WaitingRow: Sendable {
    var name: String
    /// Of two rows of a record the one of the later round says what is so.
    var round: Int64
    /// The number of the record.
    var id: Int64
    var changes: WaitingChanges
}
