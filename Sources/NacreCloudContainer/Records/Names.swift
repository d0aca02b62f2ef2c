package import NacreCloudWire

/// The rules for names. CloudKit: `CKRecord.ID`, `CKRecordZone.ID`, `CKRecord`'s overview.
package enum Names {
    /// CloudKit: ASCII, at most 255 characters, not empty, no underscore first (those are CloudKit's own).
    /// - Parameter mayBeUser: a user's record may stand there, whose name begins with one. Whether it does is the record's verdict.
    static func recordNameFault(_ name: String, field: String, mayBeUser: Bool = false) -> ServerError? {
        guard !name.isEmpty, name.utf8.count <= Limits.nameCharacters, name.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }),
            mayBeUser || !UserRecord.isName(name)
        else {
            return .badValue(
                field, "invalid name",
                remedy: "Names are 1 to \(Limits.nameCharacters) printable ASCII characters and do not begin with an underscore.")
        }
        return nil
    }

    /// CloudKit: starts with a letter, then letters, digits and underscores.
    static func recordTypeFault(_ type: String) -> ServerError? {
        guard isIdentifier(type) else {
            return .badValue(
                "recordType", "invalid record type",
                remedy: "Types begin with a letter and go on with letters, digits and underscores, \(Limits.nameCharacters) at most.")
        }
        return nil
    }

    /// CloudKit: an ASCII letter, then letters, digits and underscores; a leading underscore is CloudKit's own.
    static func fieldNameFault(_ name: String) -> ServerError? {
        guard isIdentifier(name) else {
            return .badValue(
                name, "invalid field name",
                remedy: "Fields begin with a letter and go on with letters, digits and underscores, \(Limits.nameCharacters) at most.")
        }
        return nil
    }

    private static func isIdentifier(_ name: String) -> Bool {
        guard name.utf8.count <= Limits.nameCharacters, let first = name.utf8.first, isLetter(first) else { return false }
        return name.utf8.allSatisfy { isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "_") }
    }

    /// Container IDs begin with `iCloud.` and are reverse DNS. CloudKit: "Designing with CloudKit".
    package static func containerFault(_ name: String) -> ServerError? {
        let parts = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let wellFormed = parts.allSatisfy { part in
            !part.isEmpty && part.allSatisfy { isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
        }
        guard parts.count >= 3, parts[0].elementsEqual("iCloud".utf8), wellFormed, name.utf8.count <= Limits.nameCharacters else {
            return .badValue(
                "container", "invalid container name", remedy: "Containers are named in reverse DNS behind iCloud., as in iCloud.com.example.notes.")
        }
        return nil
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
