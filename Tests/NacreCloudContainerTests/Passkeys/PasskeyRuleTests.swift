import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests of when a passkey can be added, and when it signs in.
struct PasskeyRuleTests {
    private static let party = [UInt8](repeating: 7, count: 32)
    private static let question = PasskeyQuestion(
        challenge: "c2FtcGxl", origin: "https://cloud.example", relyingParty: party)
    private static let present: UInt8 = 0x01
    private static let verified: UInt8 = 0x04
    private static let made: UInt8 = 0x40

    private static func client(
        _ type: String = "webauthn.get", challenge: String = "c2FtcGxl",
        origin: String = "https://cloud.example", isCross: Bool? = false
    ) -> PasskeyClientData {
        PasskeyClientData(type: type, challenge: challenge, origin: origin, crossOrigin: isCross)
    }

    private static func data(
        _ flags: UInt8 = present | verified, counter: UInt8 = 0, party: [UInt8] = party,
        more: [UInt8] = []
    ) -> [UInt8] {
        party + [flags, 0, 0, 0, counter] + more
    }

    private static func passkey(counter: UInt32 = 0) -> PasskeyEntry {
        PasskeyEntry(id: "aWQ", publicKey: "", counter: counter, name: "", created: 0)
    }

    private static let signsIn: [(String, PasskeyClientData?, [UInt8], PasskeyEntry?, Bool, PasskeyFault?)] = [
        ("as asked", Self.client(), Self.data(), Self.passkey(), true, nil),
        (
            "no word of other origins", Self.client(isCross: nil), Self.data(), Self.passkey(),
            true, nil
        ),
        ("no client data", nil, Self.data(), Self.passkey(), true, .malformed),
        ("no authenticator data", Self.client(), [1, 2], Self.passkey(), true, .malformed),
        (
            "one byte too many", Self.client(), Self.data(more: [0]), Self.passkey(), true,
            .malformed
        ),
        (
            "made to be added", Self.client("webauthn.create"), Self.data(), Self.passkey(),
            true, .purpose
        ),
        (
            "another question", Self.client(challenge: "b3RoZXI"), Self.data(), Self.passkey(),
            true, .challenge
        ),
        (
            "no question", Self.client(challenge: ""), Self.data(), Self.passkey(), true,
            .challenge
        ),
        (
            "another page", Self.client(origin: "https://evil.example"), Self.data(),
            Self.passkey(), true, .origin
        ),
        (
            "without TLS", Self.client(origin: "http://cloud.example"), Self.data(),
            Self.passkey(), true, .origin
        ),
        (
            "another port", Self.client(origin: "https://cloud.example:8443"), Self.data(),
            Self.passkey(), true, .origin
        ),
        (
            "in another page", Self.client(isCross: true), Self.data(), Self.passkey(), true,
            .origin
        ),
        (
            "another server", Self.client(), Self.data(party: [UInt8](repeating: 8, count: 32)),
            Self.passkey(), true, .relyingParty
        ),
        (
            "nobody there", Self.client(), Self.data(Self.verified), Self.passkey(), true,
            .userNotPresent
        ),
        (
            "anybody there", Self.client(), Self.data(Self.present), Self.passkey(), true,
            .userNotVerified
        ),
        ("no such passkey", Self.client(), Self.data(), nil, false, .credential),
        ("another key", Self.client(), Self.data(), Self.passkey(), false, .signature),
        (
            "counted on", Self.client(), Self.data(counter: 6), Self.passkey(counter: 5), true,
            nil
        ),
        ("began to count", Self.client(), Self.data(counter: 1), Self.passkey(), true, nil),
        (
            "stood still", Self.client(), Self.data(counter: 5), Self.passkey(counter: 5), true,
            .counter
        ),
        (
            "counted back", Self.client(), Self.data(counter: 4), Self.passkey(counter: 5),
            true, .counter
        ),
        (
            "counts no more", Self.client(), Self.data(counter: 0), Self.passkey(counter: 5),
            true, .counter
        ),
    ]

    @Test func `a passkey signs in where all is as it was asked, and nowhere else`() {
        for (label, client, data, passkey, isSigned, fault) in Self.signsIn {
            let found = PasskeyRule.fault(
                client, AuthenticatorData(data), for: Self.question, passkey: passkey,
                isSigned: isSigned)
            #expect(found == fault, "\(label)")
        }
    }

    private static let key: [CBOR: CBOR] = [
        .integer(1): .integer(2), .integer(3): .integer(-7), .integer(-1): .integer(1),
        .integer(-2): .bytes([UInt8](repeating: 1, count: 32)),
        .integer(-3): .bytes([UInt8](repeating: 2, count: 32)),
    ]

    private static func attestation(
        _ flags: UInt8 = present | verified | made, id: [UInt8] = [1, 2, 3],
        key: [CBOR: CBOR] = key, party: [UInt8] = party, format: String = "none"
    ) -> [UInt8] {
        let credential =
            [UInt8](repeating: 0, count: 16) + [UInt8(id.count >> 8), UInt8(id.count & 255)] + id
            + CBOR.map(key).written
        let data = data(flags, counter: 9, party: party, more: flags & made != 0 ? credential : [])
        return CBOR.map([
            .text("fmt"): .text(format), .text("attStmt"): .map([:]),
            .text("authData"): .bytes(data),
        ]).written
    }

    private static func without(_ member: Int64, _ value: CBOR? = nil) -> [CBOR: CBOR] {
        var changed = key
        changed[.integer(member)] = value
        return changed
    }

    private static let creation = client("webauthn.create")

    private static let added: [(String, PasskeyClientData?, [UInt8], PasskeyFault?)] = [
        ("as asked", creation, Self.attestation(), nil),
        ("by a model that says which it is", creation, Self.attestation(format: "packed"), nil),
        (
            "the longest ID", creation,
            Self.attestation(id: [UInt8](repeating: 1, count: Limits.passkeyIDBytes)), nil
        ),
        (
            "a longer ID", creation,
            Self.attestation(id: [UInt8](repeating: 1, count: Limits.passkeyIDBytes + 1)),
            .malformed
        ),
        ("no ID", creation, Self.attestation(id: []), .malformed),
        ("no client data", nil, Self.attestation(), .malformed),
        ("nothing", creation, [], .malformed), ("something", creation, [0xa0], .malformed),
        ("bytes left over", creation, Self.attestation() + [0], .malformed),
        ("no credential", creation, Self.attestation(Self.present | Self.verified), .malformed),
        ("made to sign in", Self.client(), Self.attestation(), .purpose),
        (
            "another question", Self.client("webauthn.create", challenge: "b3RoZXI"),
            Self.attestation(), .challenge
        ),
        (
            "another page", Self.client("webauthn.create", origin: "https://evil.example"),
            Self.attestation(), .origin
        ),
        (
            "another server", creation,
            Self.attestation(party: [UInt8](repeating: 8, count: 32)), .relyingParty
        ),
        (
            "nobody there", creation, Self.attestation(Self.verified | Self.made),
            .userNotPresent
        ),
        (
            "anybody there", creation, Self.attestation(Self.present | Self.made),
            .userNotVerified
        ),
        ("RS256", creation, Self.attestation(key: Self.without(3, .integer(-257))), .algorithm),
        ("no algorithm", creation, Self.attestation(key: Self.without(3)), .algorithm),
        (
            "another curve", creation, Self.attestation(key: Self.without(-1, .integer(2))),
            .algorithm
        ),
        (
            "another kind of key", creation,
            Self.attestation(key: Self.without(1, .integer(1))), .algorithm
        ),
        ("half a point", creation, Self.attestation(key: Self.without(-3)), .algorithm),
        (
            "a compressed point", creation,
            Self.attestation(key: Self.without(-3, .boolean(true))), .algorithm
        ),
        (
            "a short coordinate", creation,
            Self.attestation(key: Self.without(-2, .bytes([1]))), .algorithm
        ),
    ]

    @Test func `a passkey is added where all is as it was asked, and nowhere else`() throws {
        for (label, client, attestation, fault) in Self.added {
            do {
                let made = try PasskeyRule.made(
                    client, attestation: attestation, for: Self.question)
                #expect(fault == nil, "\(label)")
                #expect(made.counter == 9 && made.x.first == 1 && made.y.first == 2, "\(label)")
            } catch {
                #expect(error == fault, "\(label)")
            }
        }
    }

    @Test
    func `client data is JSON with these members, and what else a browser says does not matter`() {
        let text =
            #"{"type":"webauthn.get","challenge":"c2FtcGxl","origin":"https://cloud.example","crossOrigin":false,"other":[1]}"#
        #expect(PasskeyClientData(json: Array(text.utf8)) == Self.client())
        for bad in [
            "", "{}", "[]", #"{"type":1,"challenge":"a","origin":"b"}"#,
            #"{"type":"a","challenge":"a"}"#,
        ] {
            #expect(PasskeyClientData(json: Array(bad.utf8)) == nil, "\(bad)")
        }
    }
}
