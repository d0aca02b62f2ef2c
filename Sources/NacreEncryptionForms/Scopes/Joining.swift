import NacreCrypto

/// The word of a user who came to a share by a link. It names the account that is to have the scope's keys, under a
/// code that needs the link's secret.
package struct Joining: Form {
    /// The parts under the code.
    package struct Parts: Hashable, Sendable {
        package let place: Place
        /// The newest key, which the link has opened.
        package let keyID: KeyID
        /// The ID of the participant whose one-time link it is; empty for the share's own link.
        package let link: String
        /// The name of the user's record.
        package let user: String
        /// The fingerprint of the user's account.
        package let fingerprint: Digest

        /// Returns nil for a name that a form cannot have.
        package init?(place: Place, keyID: KeyID, link: String, user: String, fingerprint: Digest) {
            guard link.utf8.count <= FormReader.textBytesMax, !user.isEmpty, user.utf8.count <= FormReader.textBytesMax else { return nil }
            self.place = place
            self.keyID = keyID
            self.link = link
            self.user = user
            self.fingerprint = fingerprint
        }

        /// The bytes under the code: suite and kind, and the parts.
        package var bytes: [UInt8] {
            var writer = FormWriter(capacity: 256)
            writer.integer(Suite.current)
            writer.integer(FormKind.joining.rawValue)
            write(to: &writer)
            return writer.written
        }

        fileprivate init(reader: inout FormReader) throws(FormFault) {
            place = try Place(reader: &reader)
            keyID = try KeyID(reader: &reader)
            link = try reader.text("link")
            user = try reader.name("user")
            fingerprint = try reader.fixed()
        }

        fileprivate func write(to writer: inout FormWriter) {
            place.write(to: &writer)
            keyID.write(to: &writer)
            writer.text(link)
            writer.text(user)
            writer.fixed(fingerprint)
        }
    }

    package static let kinds: [FormKind] = [.joining]

    package let parts: Parts
    /// HMAC of the parts, under a key of the link's secret.
    package let code: Digest

    package var kind: FormKind { .joining }

    package init(parts: Parts, code: Digest) {
        self.parts = parts
        self.code = code
    }

    package init(kind: FormKind, parts reader: inout FormReader) throws(FormFault) {
        parts = try Parts(reader: &reader)
        code = try reader.fixed()
    }

    package func writeParts(to writer: inout FormWriter) {
        parts.write(to: &writer)
        writer.fixed(code)
    }
}
