import NacreCloudContainer
import NacreCloudWire

/// What a row with a checksum was before a bit of it flipped. Rows are short, so that a single flipped bit can be looked for; whatever else happened to a row
/// cannot be undone, and is not guessed.
enum RowMending {
    /// A counter that is too high does no harm, and one that is too low does: of two that explain the checksum the higher is taken.
    private static func counter(_ count: Int64, off difference: Int64) -> Int64? {
        guard difference.magnitude.nonzeroBitCount == 1 else { return nil }
        let other = count &+ difference
        return [count, other].filter { (0..<highest).contains($0) }.max()
    }

    /// What was counted before a bit flipped; nil where that does not explain the difference.
    private static func bytes(_ count: Int64, off difference: Int64) -> Int64? {
        let (bits, rest) = difference.quotientAndRemainder(dividingBy: RowChecksum.weightOfBytes)
        let before = count &+ bits
        return rest == 0 && (count ^ before).nonzeroBitCount == 1 && (0..<highest).contains(before) ? before : nil
    }

    /// Beyond what a counter of changes reaches.
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
        // The checksum itself.
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

/// A row with one of its columns replaced.
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
    /// With each of its bits flipped.
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
    /// Those that are text.
    fileprivate var flipped: [String] {
        Array(utf8).flipped.compactMap { String(validating: $0, as: UTF8.self) }
    }
}
