import NacreCloudServerWire
package import NacreCloudStorage
package import NacreCloudWire

/// The compact form of a record's stamps: when and by which user and device it was made and last changed.
///
/// The second stamp leaves out the names where they are the first one's, as they mostly are. The server's names of
/// users and devices are hexadecimal digits and are kept two to a byte. Uncompressed, stamps were a third of a record
/// of half a kilobyte. See `docs/decisions/store-layout.md`.
extension RecordBody {
    /// The part of the second stamp that follows the first stamp. Codes are kept in databases: never reuse one.
    private enum Change: UInt8 {
        case none = 0
        /// A time alone: user and device are those of the first stamp.
        case bySame = 1
        case byAnother = 2
    }

    /// The form in which a name is kept. Codes are kept in databases: never reuse one.
    private enum Name: UInt8 {
        case none = 0
        case text = 1
        /// Lower-case hexadecimal digits; `userDigits` has them behind an underscore.
        case digits = 2
        case userDigits = 3
    }

    package static func write(_ created: Record.Stamp, changed modified: Record.Stamp, to writer: inout ByteWriter) {
        let (maker, changer) = (who(created), who(modified))
        writer.double(created.timestamp.secondsSince2001)
        writer.bytes += maker
        guard changer == maker else {
            writer.byte(Change.byAnother.rawValue)
            writer.double(modified.timestamp.secondsSince2001)
            writer.bytes += changer
            return
        }
        let isSame = created.timestamp.secondsSince2001.bitPattern == modified.timestamp.secondsSince2001.bitPattern
        writer.byte((isSame ? Change.none : .bySame).rawValue)
        if !isSame { writer.double(modified.timestamp.secondsSince2001) }
    }

    static func stamps(_ reader: inout ByteReader) throws(MalformedBytes) -> (created: Record.Stamp, modified: Record.Stamp) {
        let created = try stamp(&reader)
        switch try change(&reader) {
        case .none: return (created, created)
        case .byAnother: return (created, try stamp(&reader))
        case .bySame:
            var modified = created
            modified.timestamp = Timestamp(secondsSince2001: try reader.double())
            return (created, modified)
        }
    }

    static func skipStamps(_ reader: inout ByteReader) throws(MalformedBytes) {
        try skipStamp(&reader)
        switch try change(&reader) {
        case .none: return
        case .bySame: _ = try reader.fixed()
        case .byAnother: try skipStamp(&reader)
        }
    }

    private static func stamp(_ reader: inout ByteReader) throws(MalformedBytes) -> Record.Stamp {
        let timestamp = Timestamp(secondsSince2001: try reader.double())
        guard let user = try name(&reader) else { throw MalformedBytes() }
        return Record.Stamp(timestamp: timestamp, userRecordName: user, deviceID: try name(&reader))
    }

    private static func skipStamp(_ reader: inout ByteReader) throws(MalformedBytes) {
        _ = try reader.fixed()
        try skipNames(&reader)
    }

    /// Passes over the name of a user, and that of a device where there is one.
    private static func skipNames(_ reader: inout ByteReader) throws(MalformedBytes) {
        guard try kind(&reader) != .none else { throw MalformedBytes() }
        try reader.skipBlock()
        if try kind(&reader) != .none { try reader.skipBlock() }
    }

    /// Writes the members `created` and `modified`. The names go from the body into the answer without a string
    /// between.
    /// - Parameter reader: stands before stamps that were read once without a fault.
    /// - Returns: the times of the two stamps.
    static func writeStamps(
        _ reader: inout ByteReader, to writer: inout JSONWriter, _ repeated: inout RepeatedMembers
    ) throws(MalformedBytes) -> (created: Timestamp, modified: Timestamp) {
        writer.key("created")
        let created = Timestamp(secondsSince2001: try reader.double())
        let maker = try writeStamp(created, by: &reader, to: &writer, &repeated)
        let change = try change(&reader)
        writer.key("modified")
        var modified = created
        if change != .none { modified = Timestamp(secondsSince2001: try reader.double()) }
        if change == .byAnother {
            _ = try writeStamp(modified, by: &reader, to: &writer, &repeated)
        } else {
            writer.opening(#"{"timestamp":"#)
            writer.integer(modified.millisecondsSince1970)
            writer.again(maker)
            writer.endObject()
        }
        return (created, modified)
    }

    /// - Returns: the range of the answer's bytes that name the user and the device.
    private static func writeStamp(
        _ time: Timestamp, by reader: inout ByteReader, to writer: inout JSONWriter, _ repeated: inout RepeatedMembers
    ) throws(MalformedBytes) -> Range<Int> {
        writer.opening(#"{"timestamp":"#)
        writer.integer(time.millisecondsSince1970)
        let start = writer.count
        var names = reader
        try skipNames(&reader)
        try names.slice(UInt64(reader.place - names.place)) { kept in
            repeated.writeNames(kept: kept, to: &writer) { writer in
                var names = ByteReader(Array(kept))
                try? writeNames(&names, to: &writer)
            }
        }
        defer { writer.endObject() }
        return start..<writer.count
    }

    private static func writeNames(_ reader: inout ByteReader, to writer: inout JSONWriter) throws(MalformedBytes) {
        writer.key("userRecordName")
        try writeName(of: try kind(&reader), &reader, to: &writer)
        let device = try kind(&reader)
        guard device != .none else { return }
        writer.key("deviceID")
        try writeName(of: device, &reader, to: &writer)
    }

    private static func write(digits bytes: UnsafeBufferPointer<UInt8>, prefix: Unicode.Scalar? = nil, to writer: inout JSONWriter) {
        writer.string(ascii: 2 * bytes.count + 1) { HexText.encode(bytes, prefix: prefix, into: $0) }
    }

    private static func writeName(of kind: Name, _ reader: inout ByteReader, to writer: inout JSONWriter) throws(MalformedBytes) {
        switch kind {
        case .none: throw MalformedBytes()
        case .text: try reader.block { writer.string(utf8: $0) }
        case .digits: try reader.block { write(digits: $0, to: &writer) }
        case .userDigits: try reader.block { write(digits: $0, prefix: "_", to: &writer) }
        }
    }

    private static func change(_ reader: inout ByteReader) throws(MalformedBytes) -> Change {
        guard let change = Change(rawValue: try reader.byte()) else { throw MalformedBytes() }
        return change
    }

    private static func kind(_ reader: inout ByteReader) throws(MalformedBytes) -> Name {
        guard let kind = Name(rawValue: try reader.byte()) else { throw MalformedBytes() }
        return kind
    }

    private static func who(_ stamp: Record.Stamp) -> [UInt8] {
        var writer = ByteWriter()
        writer.bytes.reserveCapacity(56)
        write(name: stamp.userRecordName, to: &writer)
        if let device = stamp.deviceID { write(name: device, to: &writer) } else { writer.byte(Name.none.rawValue) }
        return writer.bytes
    }

    private static func write(name: String, to writer: inout ByteWriter) {
        let isUser = name.utf8.first == UInt8(ascii: "_")
        let digits = Substring(isUser ? name.utf8.dropFirst() : name.utf8[...])
        guard !digits.isEmpty, let bytes = HexText.decode(digits) else {
            writer.byte(Name.text.rawValue)
            return writer.string(name)
        }
        writer.byte((isUser ? Name.userDigits : .digits).rawValue)
        writer.block(bytes)
    }

    private static func name(_ reader: inout ByteReader) throws(MalformedBytes) -> String? {
        switch try kind(&reader) {
        case .none: return nil
        case .text: return try reader.string()
        case .digits: return try reader.block { HexText.encode($0) }
        case .userDigits: return try reader.block { HexText.encode($0, prefix: "_") }
        }
    }
}
