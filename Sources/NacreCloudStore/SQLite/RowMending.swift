import NacreCloudContainer
import NacreCloudWire

/// Restores a row with a checksum after one flipped bit. Rows are short, so the bit can be searched for. Other damage
/// cannot be undone, and is not guessed.
enum RowMending {
    /// Returns the counter before a bit flipped. Of two values that explain the checksum it takes the higher: only one
    /// that is too low does harm.
    private static func counter(_ count: Int64, off difference: Int64) -> Int64? {
        guard difference.magnitude.nonzeroBitCount == 1 else { return nil }
        let other = count &+ difference
        return [count, other].filter { (0..<highest).contains($0) }.max()
    }

    /// Returns the count of bytes before a bit flipped; nil if that does not explain the difference.
    private static func bytes(_ count: Int64, off difference: Int64) -> Int64? {
        let (bits, rest) = difference.quotientAndRemainder(dividingBy: RowChecksum.weightOfBytes)
        let before = count &+ bits
        return rest == 0 && (count ^ before).nonzeroBitCount == 1 && (0..<highest).contains(before) ? before : nil
    }

    /// A number that no counter of changes reaches.
    private static let highest: Int64 = 1 << 52

    static func mended(_ row: DatabaseRow, checksum: Int64) -> DatabaseRow? {
        let environments = DatabaseKey.Environment.allCases.map { row.with(\.key.environment, $0) }
        let kinds = environments.flatMap { row in DatabaseKey.Scope.allCases.map { row.with(\.key.scope, $0) } }
        if let kind = kinds.first(where: { RowChecksum.of($0) == checksum }) { return kind }
        let difference = checksum &- RowChecksum.of(row)
        if let last = counter(row.lastSeq, off: difference) { return row.with(\.lastSeq, last) }
        if let bytes = bytes(row.bytes, off: difference) { return row.with(\.bytes, bytes) }
        var candidates: [DatabaseRow] = []
        candidates += row.key.container.flipped.map { row.with(\.key.container, $0) }
        candidates += row.key.owner.flipped.map { row.with(\.key.owner, $0) }
        candidates += row.run.flipped.map { row.with(\.run, $0) }
        candidates += row.forgottenSeq.flipped.map { row.with(\.forgottenSeq, $0) }
        return candidates.first { RowChecksum.of($0) == checksum }
    }

    static func mended(_ row: ZoneRow, checksum: Int64) -> ZoneRow? {
        let states = ZoneRow.State.allCases.map { row.with(\.state, $0) }
        if let state = states.first(where: { RowChecksum.of($0) == checksum }) { return state }
        let difference = checksum &- RowChecksum.of(row)
        if let last = counter(row.lastSeq, off: difference) { return row.with(\.lastSeq, last) }
        if let bytes = bytes(row.bytes, off: difference) { return row.with(\.bytes, bytes) }
        var candidates: [ZoneRow] = []
        candidates += row.name.flipped.map { row.with(\.name, $0) }
        candidates += row.run.flipped.map { row.with(\.run, $0) }
        candidates += row.forgotten.run.flipped.map { row.with(\.forgotten.run, $0) }
        candidates += row.forgotten.seq.flipped.map { row.with(\.forgotten.seq, $0) }
        candidates += (row.clientChangeToken ?? []).flipped.map { row.with(\.clientChangeToken, $0) }
        return candidates.first { RowChecksum.of($0) == checksum }
    }

    static func mended(_ row: EntryRow, checksum: Int64) -> EntryRow? {
        // The checksum itself has the flipped bit.
        if (checksum ^ RowChecksum.of(row)).nonzeroBitCount == 1 { return row }
        var candidates = row.value.flipped.map { row.with(\.value, $0) }
        if let expires = row.expires {
            candidates += Int64(bitPattern: expires.secondsSince2001.bitPattern).flipped.map {
                row.with(\.expires, Timestamp(secondsSince2001: Double(bitPattern: UInt64(bitPattern: $0))))
            }
        }
        return candidates.first { RowChecksum.of($0) == checksum }
    }
}

/// A row that can be copied with one column replaced.
private protocol Replacing {}

extension Replacing {
    fileprivate func with<Value>(_ column: WritableKeyPath<Self, Value>, _ value: Value) -> Self {
        var copy = self
        copy[keyPath: column] = value
        return copy
    }
}

extension DatabaseRow: Replacing {}
extension ZoneRow: Replacing {}
extension EntryRow: Replacing {}

extension Int64 {
    /// The number with each of its bits flipped.
    fileprivate var flipped: [Int64] { (0..<64).map { self ^ (1 << Int64($0)) } }
}

extension [UInt8] {
    fileprivate var flipped: [[UInt8]] {
        (0..<count * 8).map { bit in
            var copy = self
            copy[bit / 8] ^= 1 << UInt8(bit % 8)
            return copy
        }
    }
}

extension String {
    /// The texts with one flipped bit that are valid UTF-8.
    fileprivate var flipped: [String] {
        Array(utf8).flipped.compactMap { String(validating: $0, as: UTF8.self) }
    }
}
