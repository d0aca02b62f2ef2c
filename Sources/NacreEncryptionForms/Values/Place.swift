package import NacreCrypto

/// An account as encrypted values have it: a user in one environment of one container. Two names are equal if their
/// bytes are.
package struct AccountName: Hashable, Sendable {
    package let container: String
    package let environment: String
    /// The name of the user's record.
    package let user: String

    /// Returns nil if a name is empty or longer than 255 bytes.
    package init?(container: String, environment: String, user: String) {
        guard [container, environment, user].allSatisfy({ !$0.isEmpty && $0.utf8.count <= FormReader.textBytesMax }) else { return nil }
        (self.container, self.environment, self.user) = (container, environment, user)
    }

    // Strings are equal also where their bytes differ, and forms are made of bytes.
    package static func == (one: AccountName, other: AccountName) -> Bool {
        one.container.utf8.elementsEqual(other.container.utf8) && one.environment.utf8.elementsEqual(other.environment.utf8)
            && one.user.utf8.elementsEqual(other.user.utf8)
    }

    /// Whether both accounts are in one environment of one container.
    func isBeside(_ other: AccountName) -> Bool {
        container.utf8.elementsEqual(other.container.utf8) && environment.utf8.elementsEqual(other.environment.utf8)
    }

    init(reader: inout FormReader) throws(FormFault) {
        container = try reader.name("container")
        environment = try reader.name("environment")
        user = try reader.name("user")
    }

    func write(to writer: inout FormWriter) {
        writer.text(container)
        writer.text(environment)
        writer.text(user)
    }
}

/// A zone of an account, or the account itself: what a sealed thing is bound to. Two places are equal if their bytes
/// are.
package struct Place: Hashable, Sendable {
    package let owner: AccountName
    /// The zone's name; empty for the account itself.
    package let zone: String

    /// Returns nil if the zone's name is longer than 255 bytes.
    package init?(owner: AccountName, zone: String) {
        guard zone.utf8.count <= FormReader.textBytesMax else { return nil }
        (self.owner, self.zone) = (owner, zone)
    }

    /// Names an account.
    package init(_ account: AccountName) {
        (owner, zone) = (account, "")
    }

    package static func == (one: Place, other: Place) -> Bool {
        one.owner == other.owner && one.zone.utf8.elementsEqual(other.zone.utf8)
    }

    init(reader: inout FormReader) throws(FormFault) {
        owner = try AccountName(reader: &reader)
        zone = try reader.name("zone")
    }

    func write(to writer: inout FormWriter) {
        owner.write(to: &writer)
        writer.text(zone)
    }

    /// The four texts, as a part of contexts.
    package var bytes: [UInt8] {
        var writer = FormWriter(capacity: 256)
        write(to: &writer)
        return writer.written
    }
}

/// A record as its sealed values and its manifest are bound to it.
package struct RecordPlace: Hashable, Sendable {
    package let place: Place
    package let type: String
    package let name: String
    /// The bytes of the three, for contexts.
    private let parts: [[UInt8]]

    /// Returns nil if a name is empty or longer than 255 bytes.
    package init?(place: Place, type: String, name: String) {
        guard !place.zone.isEmpty, [type, name].allSatisfy({ !$0.isEmpty && $0.utf8.count <= FormReader.textBytesMax }) else { return nil }
        (self.place, self.type, self.name) = (place, type, name)
        parts = [place.bytes, Array(type.utf8), Array(name.utf8)]
    }

    /// Hashes a label, the record and what follows it.
    package func context(_ label: String, _ others: [UInt8]...) throws(CryptoError) -> Digest { try Digest(label: label, parts + others) }
}
