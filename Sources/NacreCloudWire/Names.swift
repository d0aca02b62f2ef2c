/// The rules for names, on client and server. CloudKit: `CKRecord.ID`, `CKRecordZone.ID`, `CKRecord`'s overview.
package enum Names {
    package static let nameRemedy =
        "Names are 1 to \(Limits.nameCharacters) printable ASCII characters and do not begin with an underscore."
    package static let recordTypeRemedy =
        "A record type is an ASCII letter, then ASCII letters, digits and underscores, \(Limits.nameCharacters) characters at most."
    package static let fieldRemedy =
        "A field's name is an ASCII letter, then ASCII letters, digits and underscores, \(Limits.nameCharacters) characters at most."

    /// Returns whether a text has the form of record names and zone names. CloudKit: ASCII, at most 255 characters,
    /// not empty.
    package static func isName(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= Limits.nameCharacters && name.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7f }
    }

    /// Returns whether a name begins with an underscore. These names are CloudKit's own, and apps cannot give them; a
    /// record with one can only be a user's.
    package static func isReserved(_ name: String) -> Bool {
        name.utf8.first == UInt8(ascii: "_")
    }

    /// Returns whether a text has the form of record types and field names. CloudKit: a letter, then letters, digits
    /// and underscores.
    package static func isIdentifier(_ name: String) -> Bool {
        guard name.utf8.count <= Limits.nameCharacters, let first = name.utf8.first, isLetter(first) else { return false }
        return name.utf8.allSatisfy { isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "_") }
    }

    /// Returns the fault of a record name or a zone name that an app gives.
    /// - Parameter mayBeUser: Whether a user's record may stand there, whose name begins with an underscore. The
    ///   record's save checks that.
    package static func recordNameFault(_ name: String, field: String, mayBeUser: Bool = false) -> ServerError? {
        if isName(name), mayBeUser || !isReserved(name) { return nil }
        return ServerError(.badRequest, "invalid name", field: field, remedy: nameRemedy)
    }

    /// Returns the fault of a record type that a client names. The type of shares is CloudKit's own, with a dot.
    package static func recordTypeFault(_ type: String) -> ServerError? {
        if isIdentifier(type) || type == ShareNames.recordType { return nil }
        return ServerError(.badRequest, "invalid record type", field: "recordType", remedy: recordTypeRemedy)
    }

    /// Returns the fault of a field name. A leading underscore is CloudKit's own here too.
    package static func fieldNameFault(_ name: String) -> ServerError? {
        if isIdentifier(name) { return nil }
        return ServerError(.badRequest, "invalid field name", field: shown(name), remedy: fieldRemedy)
    }

    /// Returns a name that a client gave as an error shows it: as many bytes at most as a name may have.
    package static func shown(_ name: String) -> String {
        name.utf8.count <= Limits.nameCharacters ? name : String(decoding: name.utf8.prefix(Limits.nameCharacters), as: UTF8.self)
    }

    /// Returns the fault of a container ID, which is `iCloud.` and reverse DNS. CloudKit: "Designing with CloudKit".
    package static func containerFault(_ name: String) -> ServerError? {
        guard name.utf8.count <= Limits.nameCharacters, name.utf8.starts(with: "iCloud.".utf8), partsOfReverseDNS(name).map({ $0 >= 3 }) == true
        else {
            return ServerError(
                .badRequest, "invalid container name", field: "container",
                remedy: "Containers are named in reverse DNS behind iCloud., as in iCloud.com.example.notes.")
        }
        return nil
    }

    /// Returns the number of parts between the dots; nil where one is empty or has a forbidden character.
    private static func partsOfReverseDNS(_ name: String) -> Int? {
        var (parts, isEmpty) = (1, true)
        for byte in name.utf8 {
            if byte == UInt8(ascii: ".") {
                if isEmpty { return nil }
                (parts, isEmpty) = (parts + 1, true)
            } else {
                guard isLetter(byte) || isDigit(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") else { return nil }
                isEmpty = false
            }
        }
        return isEmpty ? nil : parts
    }

    package static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    package static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    /// Whether a byte may stand in the name of a file or of a bucket without being escaped, whatever reads the name.
    package static func isPlain(_ byte: UInt8) -> Bool { isLetter(byte) || isDigit(byte) || "._-".utf8.contains(byte) }
}
