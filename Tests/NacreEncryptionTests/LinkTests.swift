import NacreCrypto
import NacreEncryption
import NacreEncryptionForms
import Testing

/// Tests of the links of a scope: what their secrets open, and what they prove.
struct LinkTests {
    private let secret: LinkSecret
    private let key: ScopeKey
    private let manifest: ScopeManifest
    private let grace: LiveAccount

    init() throws {
        var (ada, grace) = (try LiveAccount("_ada"), try LiveAccount("_grace"))
        secret = try LinkSecret(using: &grace.random)
        key = try SampleSealing.key("1")
        manifest = try ada.manifest([key])
        self.grace = grace
    }

    private var place: Place { manifest.parts.place }

    private func parts(link: String = "p", user: String = "_grace", fingerprint: Digest? = nil) throws -> Joining.Parts {
        try #require(
            Joining.Parts(place: place, keyID: key.id, link: link, user: user, fingerprint: fingerprint ?? grace.log.fingerprint))
    }

    @Test func `the secret of a link opens under the scope's key, in its place and by its name alone`() throws {
        var random = SystemRandomBytes()
        let sealed = try key.seal(secret, named: "p", place: place, using: &random)
        let read = try SealedValue(sealed.bytes)
        #expect(try key.open(read, ofLink: "p", place: place).fragment == secret.fragment)
        #expect(throws: EncryptionError.cannotBeOpened) { try key.open(read, ofLink: "", place: place) }
        let other = try SampleSealing.key("another")
        #expect(throws: EncryptionError.cannotBeOpened) { try other.open(read, ofLink: "p", place: place) }
        let elsewhere = try #require(Place(owner: place.owner, zone: "Work"))
        #expect(throws: EncryptionError.cannotBeOpened) { try key.open(read, ofLink: "p", place: elsewhere) }
        // The key of the link is no secret of one.
        let link = try secret.seal(key, place: place, using: &random)
        #expect(throws: EncryptionError.cannotBeOpened) { try key.open(link, ofLink: "p", place: place) }
    }

    @Test func `a word of joining needs the link's secret, and no part of it can be another`() throws {
        var random = SystemRandomBytes()
        let joining = try secret.joining(parts())
        #expect(secret.hasMade(try Joining(joining.bytes)))
        #expect(try !LinkSecret(using: &random).hasMade(joining))
        let others = [
            try parts(link: ""), try parts(link: "q"), try parts(user: "_eve"), try parts(fingerprint: Digest(of: [1])),
        ]
        for other in others { #expect(!secret.hasMade(Joining(parts: other, code: joining.code))) }
    }

    @Test func `a key that a link has opened is wrapped for the account of who came, and opens with the account's key`() throws {
        var random = SystemRandomBytes()
        let opened = try secret.open(secret.seal(key, place: place, using: &random), manifest: manifest)
        let wrap = try opened.wrap(forOwn: grace.log, place: place, by: grace.device, using: &random)
        let again = try grace.key.open(KeyWrap(wrap.bytes), manifest: manifest, senders: grace.log, recipients: grace.log)
        #expect(again.proof == key.proof)
        let foreign = try SampleSealing.key("server").wrap(forOwn: grace.log, place: place, by: grace.device, using: &random)
        #expect(throws: EncryptionError.cannotBeOpened) {
            try grace.key.open(foreign, manifest: manifest, senders: grace.log, recipients: grace.log)
        }
    }
}
