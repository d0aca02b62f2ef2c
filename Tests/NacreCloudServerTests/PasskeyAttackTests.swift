import Foundation
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire
import NacreCrypto
import Testing

@testable import NacreCloudServer

/// Tests of attacks with passkeys, by users with a passkey and without.
@Suite(.timeLimit(.minutes(5))) struct PasskeyAttackTests {
    private func passkeys(_ server: TestServer, of user: String) async throws -> [PasskeyEntry] {
        try await server.cloud.registry.passkeys(of: server.names[user + ".account"] ?? "")
    }

    /// Returns a browser on the page where Ada adds a passkey.
    private func adding(_ server: TestServer) async -> TestBrowser {
        var browser = TestBrowser(server)
        await browser.open()
        await browser.signIn()
        await browser.send(["step": "passkeys"])
        return browser
    }

    @Test func `bytes that are no answer of an authenticator add nothing and sign nobody in, and the server goes on`() async throws {
        let server = try await TestServer()
        let form = await adding(server)
        let right = try TestAuthenticator().creation(form.challenge)
        let attestation = try #require(Base64URL.decode(right["attestation"] ?? ""))
        var tried: [[UInt8]] = [
            [], [0xff], [UInt8](repeating: 0x9f, count: 4_000), [UInt8](repeating: 0x81, count: 4_000), [UInt8](repeating: 0xa1, count: 4_000),
            [0x9b, 0x7f] + [UInt8](repeating: 0xff, count: 7), [0x5b] + [UInt8](repeating: 0xff, count: 8), [0xbb, 0, 0, 0, 1, 0, 0, 0, 0],
            attestation + [0], Array(attestation.dropLast()),
        ]
        // Each byte changed; the attestation's signature is not checked, so some are still accepted.
        for index in stride(from: 0, to: attestation.count, by: 3) {
            var changed = attestation
            changed[index] ^= 0xff
            tried.append(changed)
        }
        for bytes in tried {
            var browser = form
            let answer = await browser.send(right.merging(["attestation": Base64URL.encode(bytes)]) { $1 })
            // 409: a change of an unchecked part, once the passkey is there.
            #expect([200, 400, 401, 409].contains(answer.status), "\(bytes.prefix(8)) \(answer.status)")
        }
        // One challenge adds one passkey, whatever was sent for it.
        #expect(try await passkeys(server, of: "ada").count <= 1)
        for client in ["", "{", "[[[[[[[[", "{\"type\":\"webauthn.create\"}", String(repeating: "[", count: 6_000)] {
            var browser = form
            let answer = await browser.send(right.merging(["client": Base64URL.encode(Array(client.utf8))]) { $1 })
            #expect(answer.status == 400, "\(client.prefix(20))")
        }
        var long = form
        let tooLong = await long.send(right.merging(["attestation": String(repeating: "A", count: Limits.accountBodyBytes)]) { $1 })
        #expect([400, 413].contains(tooLong.status), "\(tooLong.status)")
    }

    @Test func `a point that is not on the curve is no key`() async throws {
        let server = try await TestServer()
        let (zero, ones) = ([UInt8](repeating: 0, count: 32), [UInt8](repeating: 0xff, count: 32))
        let right = try TestAuthenticator()
        for (x, y) in [(zero, zero), (ones, ones), (zero, ones), ([UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 32))] {
            var browser = await adding(server)
            var fields = try right.creation(browser.challenge)
            let attestation = try #require(CBOR(Base64URL.decode(fields["attestation"] ?? "") ?? []))
            let data = try #require(attestation[.text("authData")]?.bytes)
            let cose: CBOR = .map([
                .integer(1): .integer(2), .integer(3): .integer(-7), .integer(-1): .integer(1), .integer(-2): .bytes(x), .integer(-3): .bytes(y),
            ])
            let changed = Array(data.prefix(37 + 18 + right.id.count)) + cose.written
            fields["attestation"] = Base64URL.encode(
                CBOR.map([.text("fmt"): .text("none"), .text("attStmt"): .map([:]), .text("authData"): .bytes(changed)]).written)
            #expect(await browser.send(fields).text.contains("cannot be added (algorithm)"))
        }
        #expect(try await passkeys(server, of: "ada").isEmpty)
    }

    @Test func `a passkey's ID that another user has too is each one's own, and opens its own account alone`() async throws {
        let server = try await TestServer()
        var (ada, bob) = (try TestAuthenticator(), try TestAuthenticator(id: [7, 7, 7]))
        ada.id = bob.id
        var browser = TestBrowser(server)
        #expect(try await browser.add(&ada).status == 200)
        #expect(try await browser.add(&bob, for: "bob").status == 200)
        // Bob's authenticator claims Ada's user.
        await browser.open()
        var mixed = bob
        mixed.user = ada.user
        let form = browser
        #expect(await browser.send(try mixed.assertion(form.challenge)).status == 401)
        browser = form
        #expect(await browser.send(try bob.assertion(form.challenge)).text.contains("bob@example.com"))
        browser = form
        #expect(await browser.send(try ada.assertion(form.challenge)).text.contains("ada@example.com"))
    }

    @Test func `a passkey that Ada adds in her own name is not added to another account by a changed form`() async throws {
        let server = try await TestServer()
        let ada = await adding(server)
        var bob = TestBrowser(server)
        await bob.open()
        await bob.signIn("bob@example.com")
        await bob.send(["step": "passkeys"])
        // Bob's consent in Ada's browser, and Ada's challenge answered with Bob's consent.
        let fields = try TestAuthenticator().creation(ada.challenge)
        var crossed = ada
        #expect(await crossed.post(bob.hidden.merging(fields) { $1 }).status == 403)
        var own = bob
        #expect(await own.send(fields).status == 400)
        #expect(try await passkeys(server, of: "bob").isEmpty)
        #expect(try await passkeys(server, of: "ada").isEmpty)
    }

    @Test func `what was signed for one page is good in no other step, and a counter that is not signed says nothing`() async throws {
        let server = try await TestServer()
        var browser = TestBrowser(server)
        var authenticator = try TestAuthenticator()
        authenticator.counter = 5
        #expect(try await browser.add(&authenticator).status == 200)
        await browser.open()
        let form = browser
        var fields = try authenticator.assertion(form.challenge)
        // The data with a higher counter, or with another flag, under the old signature.
        let data = try #require(Base64URL.decode(fields["data"] ?? ""))
        for index in [32, 33, 36] {
            var changed = data
            changed[index] ^= 0x80
            browser = form
            #expect(await browser.send(fields.merging(["data": Base64URL.encode(changed)]) { $1 }).status == 401, "\(index)")
        }
        // Another encoding of the signature, and one with trailing bytes.
        let signature = try #require(Base64URL.decode(fields["signature"] ?? ""))
        for other in [signature + [0], Array(signature.dropLast()), [0x30, 0x06, 2, 1, 0, 2, 1, 0], [], [UInt8](repeating: 0x30, count: 8_000)] {
            browser = form
            #expect(await browser.send(fields.merging(["signature": Base64URL.encode(other)]) { $1 }).status == 401)
        }
        browser = form
        #expect(await browser.send(fields.merging(["step": "add-passkey"]) { $1 }).status == 403)
        browser = form
        #expect(await browser.send(fields).text.contains("Allow access?"))
        // The challenge is used up, even with a higher counter.
        fields = try authenticator.assertion(form.challenge)
        browser = form
        #expect(await browser.send(fields).status == 401)
    }

    @Test func `what was used stays used, however many others are used after it`() async throws {
        let server = try await TestServer()
        let registry = server.cloud.registry
        let ada = try #require(try await registry.account(email: "ada@example.com"))
        let later = server.clock.now + 600
        for number in 0..<Limits.sessionsPerAccount { try await registry.use(UsedConsent(id: "\(number)", expires: later), of: ada) }
        await #expect(throws: ServerError.self) { try await registry.use(UsedConsent(id: "more", expires: later), of: ada) }
        await #expect(throws: ServerError.consentUsed) { try await registry.use(UsedConsent(id: "0", expires: later), of: ada) }
        server.clock.advance(601)
        try await registry.use(UsedConsent(id: "more", expires: server.clock.now + 600), of: ada)
    }
}
