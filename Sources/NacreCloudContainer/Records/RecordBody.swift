package import NacreCloudStorage
package import NacreCloudWire

/// The content of a record beyond the columns of its row.
package struct RecordContent: Equatable, Sendable {
    package var created: Record.Stamp
    package var modified: Record.Stamp
    /// The change number with which the record came into being, and entered its owner's feed.
    package var entered: ChangeNumber
    package var fields: RecordFields
    /// Types of earlier, deleted records with this name. A device that follows one of them learns here that its record
    /// is gone.
    package var formerTypes: [String] = []
    /// The state of a share; nil for a record that is none.
    package var sharing: ShareState?
    /// The record's positions in the views that participants of shares of records see.
    package var shared = RecordViews.none
    /// The manifest that binds the encrypted values, as its client made it; nil for a record without one.
    package var manifest: [UInt8]?

    /// The content of a record whose body cannot be read.
    package static let unknown = RecordContent(
        created: Record.Stamp(timestamp: Timestamp(secondsSince2001: 0), userRecordName: ""),
        modified: Record.Stamp(timestamp: Timestamp(secondsSince2001: 0), userRecordName: ""), entered: .zero, fields: RecordFields())
}

/// The one binary form of a record's content, for every engine and for archives.
///
/// A body is: version byte, stamps, `entered`, `formerTypes` (in all versions after the first), `shared` (in the last
/// three), `sharing` (in the last two), `manifest` (in the last), fields in the order of their names, CRC-32C. The
/// checksum covers the body, the row's columns *and* the zone: a flipped bit is found and never served, even one that
/// leads from a key to the row of another zone or user. Type codes are kept in databases: never reuse one.
package enum RecordBody {
    /// Versions of bodies: without former types, as nearly all records; with them; a record that a share of records
    /// shows; a share; a record or share with a manifest. Other versions are unknown.
    package static let version: UInt8 = 0x11
    package static let versionWithFormerTypes: UInt8 = 0x12
    package static let versionOfShared: UInt8 = 0x14
    package static let versionOfShares: UInt8 = 0x15
    package static let versionWithManifest: UInt8 = 0x16
    private static let versions = [version, versionWithFormerTypes, versionOfShared, versionOfShares, versionWithManifest]
    package static let checksumBytes = 4
    /// The offset of the first stamp in a body.
    package static let stampsPlace = 1

    package static func encode(
        _ content: RecordContent, in zone: ZoneAddress, name: String, type: String, number: ChangeNumber, isTombstone: Bool, parent: String?
    ) -> [UInt8] {
        var writer = ByteWriter()
        writer.bytes.reserveCapacity(64 + content.fields.count * 32)
        let first = version(of: content)
        writer.byte(first)
        write(content.created, changed: content.modified, to: &writer)
        writer.write(content.entered)
        if first != version { write(content.formerTypes, to: &writer) { $1.string($0) } }
        if !isPlain(first) {
            content.shared.write(to: &writer)
            writer.byte(content.sharing == nil ? 0 : 1)
        }
        if let sharing = content.sharing {
            sharing.write(to: &writer)
            writer.string(sharing.root ?? "")
        }
        if let manifest = content.manifest { writer.block(manifest) }
        writer.number(UInt64(content.fields.count))
        let fields = content.fields.entries
        for index in fields.indices {
            writer.string(fields[index].name)
            write(fields[index].value, to: &writer)
        }
        let sum = checksum(of: writer.bytes[...], in: zone, name: name, type: type, number: number, isTombstone: isTombstone, parent: parent)
        withUnsafeBytes(of: sum.littleEndian) { writer.bytes.append(contentsOf: $0) }
        return writer.bytes
    }

    private static func version(of content: RecordContent) -> UInt8 {
        if content.manifest != nil { return versionWithManifest }
        if content.sharing != nil { return versionOfShares }
        if !content.shared.isEmpty { return versionOfShared }
        return content.formerTypes.isEmpty ? version : versionWithFormerTypes
    }

    /// - Parameter wanted: the fields to read, all when nil.
    /// - Throws: `StoreError.corrupt` when the row is not as it was written, `.newerVersion` when a newer server wrote
    ///   it.
    package static func decode(_ row: RecordRow, in zone: ZoneAddress, only wanted: FieldNames? = nil) throws(StoreError) -> RecordContent {
        try check(row, in: zone)
        return try read(row, only: wanted)
    }

    /// Returns the wanted fields only. The others are skipped or not read.
    /// - Throws: as `decode` does.
    package static func fields(of row: RecordRow, in zone: ZoneAddress, only wanted: FieldNames) throws(StoreError) -> RecordFields {
        try fields(of: row, in: zone, only: wanted, keeps: false).fields
    }

    /// - Parameter keeps: the body may go into an answer as it is kept, and is read to its end.
    /// - Returns: the wanted fields, and the result of `offsetOfPlainFields` where the body was read to its end.
    package static func fields(
        of row: RecordRow, in zone: ZoneAddress, only wanted: FieldNames, keeps: Bool
    ) throws(StoreError) -> (fields: RecordFields, plainOffset: Int?) {
        try check(row, in: zone)
        return try read(row) { reader throws(MalformedBytes) in
            try skipStamps(&reader)
            _ = try reader.number()
            _ = try reader.number()
            _ = try formerTypes(&reader, of: row)
            _ = try shared(&reader, of: row)
            _ = try sharing(&reader, of: row)
            _ = try manifest(&reader, of: row, isWanted: false)
            let place = reader.place
            let isWhole = keeps && isPlain(row)
            let found = try fields(&reader, only: wanted, isWhole: isWhole)
            return (found.fields, isWhole && !found.hasAssets ? place : nil)
        }
    }

    /// Returns the content of a row whose checksum was checked before.
    /// - Parameter wanted: the fields to read, all when nil.
    package static func read(_ row: RecordRow, only wanted: FieldNames? = nil) throws(StoreError) -> RecordContent {
        try read(row) { reader throws(MalformedBytes) in
            var content = try contentBeforeFields(&reader, of: row, withManifest: wanted?.withManifest ?? true)
            content.fields = try fields(&reader, only: wanted)
            return content
        }
    }

    /// Reads all of a row whose checksum was checked before, and returns the offset of its fields. Returns nil, maybe
    /// before the end, where `writeFields` and `writeStamps` would not write what an answer shows. Such a record has an
    /// asset, or more than stamps and fields.
    package static func offsetOfPlainFields(_ row: RecordRow) throws(StoreError) -> Int? {
        try read(row) { reader throws(MalformedBytes) in
            guard isPlain(row) else { return nil }
            try skipStamps(&reader)
            _ = try reader.number()
            _ = try reader.number()
            _ = try formerTypes(&reader, of: row)
            let place = reader.place
            return try passesPlainFields(&reader) ? place : nil
        }
    }

    private static func contentBeforeFields(
        _ reader: inout ByteReader, of row: RecordRow, withManifest: Bool
    ) throws(MalformedBytes) -> RecordContent {
        let (created, modified) = try stamps(&reader)
        let entered = try reader.changeNumber()
        let formerTypes = try formerTypes(&reader, of: row)
        let shared = try shared(&reader, of: row)
        let sharing = try sharing(&reader, of: row)
        let manifest = try manifest(&reader, of: row, isWanted: withManifest)
        return RecordContent(
            created: created, modified: modified, entered: entered, fields: RecordFields(), formerTypes: formerTypes, sharing: sharing,
            shared: shared, manifest: manifest)
    }

    /// The byte in place of the version where the body is lost for good: every reader throws. The columns beside it are
    /// sure.
    private static let lostMark: UInt8 = 0
    private static let lostText = "A record's body is lost, and waits to be saved again"

    /// Returns the body of a record that the check found damaged. Its content and its parent are lost.
    package static func lost(in zone: ZoneAddress, name: String, type: String, number: ChangeNumber) -> [UInt8] {
        var bytes = [lostMark]
        let sum = checksum(of: bytes[...], in: zone, name: name, type: type, number: number, isTombstone: false, parent: nil)
        withUnsafeBytes(of: sum.littleEndian) { bytes.append(contentsOf: $0) }
        return bytes
    }

    package static func isLost(_ damage: StoreError) -> Bool {
        damage.text == lostText
    }

    /// - Throws: `StoreError.corrupt` when the row is not as it was written.
    package static func check(_ row: RecordRow, in zone: ZoneAddress) throws(StoreError) {
        let payload = row.body.dropLast(checksumBytes)
        let stored = row.body[payload.endIndex...].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let sum = checksum(
            of: payload, in: zone, name: row.name, type: row.type, number: row.number, isTombstone: row.isTombstone, parent: row.parent)
        guard row.body.count > checksumBytes, sum == stored else {
            throw StoreError(.corrupt, "A record's checksum does not match", ["recordName": row.name])
        }
    }

    private static func read<Value>(
        _ row: RecordRow, _ body: (inout ByteReader) throws(MalformedBytes) -> Value
    ) throws(StoreError) -> Value {
        if row.body.first == lostMark { throw StoreError(.corrupt, lostText, ["recordName": row.name]) }
        guard let first = row.body.first, versions.contains(first) else {
            throw StoreError(.newerVersion, "A record was written by a newer version", ["recordName": row.name])
        }
        var reader = ByteReader(row.body, droppingFirst: stampsPlace, last: checksumBytes)
        do {
            return try body(&reader)
        } catch {
            throw StoreError(.corrupt, "A record's body is malformed", ["recordName": row.name])
        }
    }

    /// Whether the body shows nothing beside stamps and fields.
    private static func isPlain(_ row: RecordRow) -> Bool { row.body.first.map(isPlain) ?? false }
    private static func isPlain(_ first: UInt8) -> Bool { first == version || first == versionWithFormerTypes }

    private static func formerTypes(_ reader: inout ByteReader, of row: RecordRow) throws(MalformedBytes) -> [String] {
        guard row.body.first != version else { return [] }
        return try list(&reader) { (r) throws(MalformedBytes) in try r.string() }
    }

    private static func sharing(_ reader: inout ByteReader, of row: RecordRow) throws(MalformedBytes) -> ShareState? {
        guard !isPlain(row) else { return nil }
        let isShare = try reader.byte() == 1
        guard row.body.first == versionWithManifest || isShare == (row.body.first == versionOfShares) else { throw MalformedBytes() }
        guard isShare else { return nil }
        var state = try ShareState(&reader)
        let root = try reader.string()
        state.root = root.isEmpty ? nil : root
        return state
    }

    /// - Returns: nil for a record without a manifest, and where it is not wanted.
    private static func manifest(_ reader: inout ByteReader, of row: RecordRow, isWanted: Bool) throws(MalformedBytes) -> [UInt8]? {
        guard row.body.first == versionWithManifest else { return nil }
        if isWanted { return try reader.block() }
        try reader.skipBlock()
        return nil
    }

    private static func shared(_ reader: inout ByteReader, of row: RecordRow) throws(MalformedBytes) -> RecordViews {
        isPlain(row) ? .none : try RecordViews(&reader)
    }

    package static func fields(_ reader: inout ByteReader, only wanted: FieldNames?) throws(MalformedBytes) -> RecordFields {
        try fields(&reader, only: wanted, isWhole: wanted == nil).fields
    }

    /// - Parameter isWhole: all fields are read; otherwise reading ends behind the last wanted one.
    private static func fields(
        _ reader: inout ByteReader, only wanted: FieldNames?, isWhole: Bool
    ) throws(MalformedBytes) -> (fields: RecordFields, hasAssets: Bool) {
        let count = try reader.count()
        var fields: [RecordFields.Field] = []
        fields.reserveCapacity(wanted.map { min($0.count, count) } ?? count)
        var hasAssets = false
        for _ in 0..<count {
            let hasAll = fields.count == wanted?.count
            if hasAll, !isWhole { break }
            let name = try reader.block { !hasAll && wanted?.contains($0) ?? true ? String(decoding: $0, as: UTF8.self) : nil }
            let code = try reader.byte()
            hasAssets = hasAssets || isAsset(code)
            if let name {
                fields.append(RecordFields.Field(name, try value(of: code, &reader)))
            } else {
                try skipValue(of: code, &reader)
            }
        }
        guard reader.isAtEnd || (!isWhole && wanted?.count == fields.count) else { throw MalformedBytes() }
        return (RecordFields(fields), hasAssets)
    }

    /// Passes over all fields.
    /// - Returns: false, maybe before the end, where a field is an asset, which is shown with its URL.
    private static func passesPlainFields(_ reader: inout ByteReader) throws(MalformedBytes) -> Bool {
        for _ in 0..<(try reader.count()) {
            try reader.skipBlock()
            let code = try reader.byte()
            if isAsset(code) { return false }
            try skipValue(of: code, &reader)
        }
        guard reader.isAtEnd else { throw MalformedBytes() }
        return true
    }

    /// Writes the members of `fields`. A text goes from the body into the answer without a string between.
    /// - Parameter zoneID: the record's zone, which is that of all its references.
    package static func writeFields(_ reader: inout ByteReader, of zoneID: ZoneID, to writer: inout JSONWriter, form: ValueForm)
        throws(MalformedBytes)
    {
        for _ in 0..<(try reader.count()) {
            try reader.block { writer.key(utf8: $0) }
            let code = try reader.byte()
            switch code {
            case 1: try reader.block { writer.field(text: $0) }
            case 7, 23: try value(of: code, &reader).referring(to: zoneID).write(to: &writer, form: form)
            default: try value(of: code, &reader).write(to: &writer, form: form)
            }
        }
    }

    package static func checksum(
        of body: ArraySlice<UInt8>, in zone: ZoneAddress, name: String, type: String, number: ChangeNumber, isTombstone: Bool, parent: String?
    ) -> UInt32 {
        var columns = ChecksumWriter(seed: Checksum.crc32c(body))
        columns.fixed(UInt64(bitPattern: zone.database.rawValue))
        columns.fixed(UInt64(bitPattern: zone.zone))
        columns.string(name)
        columns.string(type)
        columns.signed(number.run)
        columns.signed(number.seq)
        columns.byte(isTombstone ? 1 : 0)
        columns.byte(parent == nil ? 0 : 1)
        if let parent { columns.string(parent) }
        return columns.sum
    }
}

// MARK: - Values

extension RecordBody {
    package static func write(_ value: FieldValue, to writer: inout ByteWriter) {
        writer.byte(code(of: value))
        switch value {
        case .string(let value): writer.string(value)
        case .int64(let value): writer.signed(value)
        case .double(let value): writer.double(value)
        case .timestamp(let value): writer.double(value.secondsSince2001)
        case .bytes(let value): writer.block(value)
        case .location(let value): write(value, to: &writer)
        case .reference(let value): write(value, to: &writer)
        case .asset(let value): write(value, to: &writer)
        case .stringList(let values): write(values, to: &writer) { $1.string($0) }
        case .int64List(let values): write(values, to: &writer) { $1.signed($0) }
        case .doubleList(let values): write(values, to: &writer) { $1.double($0) }
        case .timestampList(let values): write(values, to: &writer) { $1.double($0.secondsSince2001) }
        case .bytesList(let values): write(values, to: &writer) { $1.block($0) }
        case .locationList(let values): write(values, to: &writer) { write($0, to: &$1) }
        case .referenceList(let values): write(values, to: &writer) { write($0, to: &$1) }
        case .assetList(let values): write(values, to: &writer) { write($0, to: &$1) }
        case .emptyList: break
        case .sealed(let value):
            writer.string(value.type.rawValue)
            writer.string(value.keyID ?? "")
            writer.block(value.bytes)
        }
    }

    private static func code(of value: FieldValue) -> UInt8 {
        switch value {
        case .string: 1
        case .int64: 2
        case .double: 3
        case .timestamp: 4
        case .bytes: 5
        case .location: 6
        case .reference: 7
        case .asset: 8
        case .stringList: 17
        case .int64List: 18
        case .doubleList: 19
        case .timestampList: 20
        case .bytesList: 21
        case .locationList: 22
        case .referenceList: 23
        case .assetList: 24
        case .emptyList: 25
        case .sealed: 32
        }
    }

    /// Whether a code stands for an asset or a list of assets.
    private static func isAsset(_ code: UInt8) -> Bool { code == 8 || code == 24 }

    /// Passes over a value. Texts, bytes and lists of them, the longest values, are not copied.
    private static func skipValue(of code: UInt8, _ reader: inout ByteReader) throws(MalformedBytes) {
        switch code {
        case 1, 5: try reader.skipBlock()
        case 2: _ = try reader.number()
        case 3, 4: _ = try reader.fixed()
        case 17, 21:
            for _ in 0..<(try reader.count()) { try reader.skipBlock() }
        default: _ = try value(of: code, &reader)
        }
    }

    private static func value(of code: UInt8, _ reader: inout ByteReader) throws(MalformedBytes) -> FieldValue {
        switch code {
        case 1: return .string(try reader.string())
        case 2: return .int64(try reader.signed())
        case 3: return .double(try reader.double())
        case 4: return .timestamp(Timestamp(secondsSince2001: try reader.double()))
        case 5: return .bytes(try reader.block())
        case 6: return .location(try location(&reader))
        case 7: return .reference(try reference(&reader))
        case 8: return .asset(try asset(&reader))
        case 17: return .stringList(try list(&reader) { (r) throws(MalformedBytes) in try r.string() })
        case 18: return .int64List(try list(&reader) { (r) throws(MalformedBytes) in try r.signed() })
        case 19: return .doubleList(try list(&reader) { (r) throws(MalformedBytes) in try r.double() })
        case 20: return .timestampList(try list(&reader) { (r) throws(MalformedBytes) in Timestamp(secondsSince2001: try r.double()) })
        case 21: return .bytesList(try list(&reader) { (r) throws(MalformedBytes) in try r.block() })
        case 22: return .locationList(try list(&reader, location))
        case 23: return .referenceList(try list(&reader, reference))
        case 24: return .assetList(try list(&reader, asset))
        case 25: return .emptyList
        case 32:
            guard let type = FieldType(rawValue: try reader.string()) else { throw MalformedBytes() }
            return .sealed(SealedValue(type: type, keyID: try reader.string(), bytes: try reader.block()))
        default: throw MalformedBytes()
        }
    }

    private static func write<Element>(
        _ values: [Element], to writer: inout ByteWriter, _ write: (Element, inout ByteWriter) -> Void
    ) {
        writer.number(UInt64(values.count))
        for value in values { write(value, &writer) }
    }

    private static func list<Element>(
        _ reader: inout ByteReader, _ element: (inout ByteReader) throws(MalformedBytes) -> Element
    ) throws(MalformedBytes) -> [Element] {
        let count = try reader.count()
        var values: [Element] = []
        values.reserveCapacity(count)
        for _ in 0..<count { values.append(try element(&reader)) }
        return values
    }

    private static func write(_ location: Location, to writer: inout ByteWriter) {
        let optional = [
            location.horizontalAccuracy, location.verticalAccuracy, location.altitude, location.speed, location.course,
            location.timestamp?.secondsSince2001,
        ]
        writer.double(location.latitude)
        writer.double(location.longitude)
        writer.byte(optional.enumerated().reduce(0) { $1.element == nil ? $0 : $0 | 1 << UInt8($1.offset) })
        for value in optional {
            if let value { writer.double(value) }
        }
    }

    private static func location(_ reader: inout ByteReader) throws(MalformedBytes) -> Location {
        var location = Location(latitude: try reader.double(), longitude: try reader.double())
        let present = try reader.byte()
        if present & 1 != 0 { location.horizontalAccuracy = try reader.double() }
        if present & 2 != 0 { location.verticalAccuracy = try reader.double() }
        if present & 4 != 0 { location.altitude = try reader.double() }
        if present & 8 != 0 { location.speed = try reader.double() }
        if present & 16 != 0 { location.course = try reader.double() }
        if present & 32 != 0 { location.timestamp = Timestamp(secondsSince2001: try reader.double()) }
        return location
    }

    private static func write(_ reference: Reference, to writer: inout ByteWriter) {
        writer.string(reference.recordName)
        writer.byte(reference.action == .none ? 0 : reference.action == .deleteSelf ? 1 : 2)
        // No zone: it is the record's own, however the client spelled it.
        writer.byte(0)
    }

    private static func reference(_ reader: inout ByteReader) throws(MalformedBytes) -> Reference {
        let name = try reader.string()
        let action: Reference.Action
        switch try reader.byte() {
        case 0: action = .none
        case 1: action = .deleteSelf
        case 2: action = .validate
        default: throw MalformedBytes()
        }
        guard try reader.byte() == 0 else { throw MalformedBytes() }
        return Reference(recordName: name, action: action)
    }

    private static func write(_ asset: Asset, to writer: inout ByteWriter) {
        writer.string(asset.fileChecksum)
        writer.signed(asset.size)
        for text in [asset.referenceChecksum, asset.wrappingKey, asset.receipt, asset.downloadURL] {
            writer.byte(text == nil ? 0 : 1)
            if let text { writer.string(text) }
        }
    }

    private static func asset(_ reader: inout ByteReader) throws(MalformedBytes) -> Asset {
        var asset = Asset(fileChecksum: try reader.string(), size: try reader.signed())
        if try reader.byte() == 1 { asset.referenceChecksum = try reader.string() }
        if try reader.byte() == 1 { asset.wrappingKey = try reader.string() }
        if try reader.byte() == 1 { asset.receipt = try reader.string() }
        if try reader.byte() == 1 { asset.downloadURL = try reader.string() }
        return asset
    }
}
