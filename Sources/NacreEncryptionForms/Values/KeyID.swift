import NacreCrypto

/// The name of a key: a scope and the key's version, from 1.
package struct KeyID: Hashable, Sendable {
    package static let length: Int = ScopeID.length + 4

    package let scope: ScopeID
    package let version: UInt32

    /// Returns nil for version 0.
    package init?(scope: ScopeID, version: UInt32) {
        guard version > 0 else { return nil }
        (self.scope, self.version) = (scope, version)
    }

    /// Reads the 40 small hexadecimal digits of `nacre.keyID`.
    package init?(text: String) {
        guard let bytes = try? Hex.decode(text), bytes.count == Self.length, Hex.encode(bytes) == text else { return nil }
        var reader = FormReader(bytes)
        guard let id = try? KeyID(reader: &reader) else { return nil }
        self = id
    }

    /// The form that `nacre.keyID` has on the wire.
    package var text: String { Hex.encode(bytes) }

    package var bytes: [UInt8] {
        var writer = FormWriter(capacity: Self.length)
        write(to: &writer)
        return writer.written
    }

    init(reader: inout FormReader) throws(FormFault) {
        scope = try reader.fixed()
        version = try reader.integer()
        guard version > 0 else { throw .invalid("version") }
    }

    func write(to writer: inout FormWriter) {
        writer.fixed(scope)
        writer.integer(version)
    }
}

extension KeyID: CustomStringConvertible {
    package var description: String { text }
}
