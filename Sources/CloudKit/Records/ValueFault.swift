/// Why a record cannot be saved: where Apple's framework raises an exception, this is kept until the save, which it fails.
struct ValueFault: Error, Hashable, Sendable, Codable {
    enum Reason: String, Error, Sendable, Codable {
        case unsupportedType = "The value's class cannot be stored in a record"
        case unsupportedElement = "A list holds an element whose class cannot be stored in a record"
        case mixedList = "The elements of a list must have one type"
        case nestedList = "A list cannot hold lists"
        case notFinite = "A number, date or coordinate must be finite"
        case beyondInt64 = "An integer must fit 64 bits with a sign"
        case invalidKey = "A key must be an ASCII letter, then ASCII letters, digits or underscores, at most 255 in all"
        case encrypted = "Encrypted fields are not supported by this version"
        case parentAction = "The action of a parent reference must be none"
        case parentZone = "A parent must be in the zone of its child"
        case invalidRecordType = "A record type must be an ASCII letter, then ASCII letters, digits or underscores"
        case invalidRecordName = "A record name must have 1 to 255 characters"
        case invalidZoneName = "A zone name must have 1 to 255 characters"
    }

    var key: String
    var reason: Reason
}

/// The shape of names that apps give.
enum NameRule {
    /// Source: Apple's documentation of record names, zone names and field keys.
    static let maximumLength = 255

    /// An ASCII letter, then ASCII letters, digits and underscores.
    static func isIdentifier(_ name: String) -> Bool {
        let bytes = name.utf8
        guard let first = bytes.first, isLetter(first), bytes.count <= maximumLength else { return false }
        return bytes.allSatisfy { isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "_") }
    }

    static func isName(_ name: String) -> Bool {
        (1...maximumLength).contains(name.utf8.count)
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
