@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Fuzzes the database's binary forms: record bodies and the results of operations. The first byte chooses which.
///
/// A checksum detects damage on the disk, so it is made valid here, and the reader must bear any bytes below it.
enum StoredTarget {
    static func run(_ input: UnsafeRawBufferPointer) {
        guard let choice = input.first else { return }
        let bytes = [UInt8](input.dropFirst())
        if choice & 1 == 0 { body(bytes) } else { result(bytes) }
    }

    private static let zone = ZoneAddress(database: DatabaseID(rawValue: 1), zone: 2)
    private static let number = ChangeNumber(run: 1, seq: 2)

    private static func row(_ body: [UInt8]) -> RecordRow {
        RecordRow(name: "name", type: "Type", number: number, isTombstone: false, parent: nil, body: body)
    }

    private static func body(_ bytes: [UInt8]) {
        _ = try? RecordBody.decode(row(bytes), in: zone)
        let sum = RecordBody.checksum(of: bytes[...], in: zone, name: "name", type: "Type", number: number, isTombstone: false, parent: nil)
        let whole = bytes + withUnsafeBytes(of: sum.littleEndian) { [UInt8]($0) }
        guard let content = try? RecordBody.decode(row(whole), in: zone) else { return }
        let written = encode(content)
        guard let again = try? RecordBody.decode(row(written), in: zone) else { return promise("a body that was written can be read", false) }
        promise("a body is written the same each time", encode(again) == written)
    }

    private static func encode(_ content: RecordContent) -> [UInt8] {
        RecordBody.encode(content, in: zone, name: "name", type: "Type", number: number, isTombstone: false, parent: nil)
    }

    private static func result(_ bytes: [UInt8]) {
        guard let result = try? OperationResult(bytes) else { return }
        guard let again = try? OperationResult(result.bytes) else { return promise("a result that was written can be read", false) }
        promise("a result is written the same each time", again.bytes == result.bytes)
    }
}
