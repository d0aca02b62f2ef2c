import Foundation
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreCrypto
import Testing

@testable import NacreCloudServer

/// Tests of attacks by a lying issuer, and by a man in the middle.
@Suite(.timeLimit(.minutes(5))) struct OpenIDAttackTests {
    private func withIssuer(_ body: (TestServer, TestIssuer) async throws -> Void) async throws {
        let clock = TestClock()
        let issuer = try await TestIssuer(clock: clock)
        do {
            try await body(try await TestServer(openID: try issuer.configuration(), clock: clock), issuer)
        } catch {
            await issuer.close()
            throw error
        }
        await issuer.close()
    }

    /// Follows the link to the issuer, and returns the answer.
    private func leave(_ browser: inout TestBrowser) async throws -> Answer {
        let link = try #require(await browser.open().text.firstMatch(of: /href="(sign-in-openid\?[^"]*)"/)?.1)
        return await browser.go("/" + TestBrowser.unescaped(String(link)))
    }

    private func path(_ url: String) -> String { String(url.dropFirst("http://localhost".count)) }

    /// Returns the page after the user has agreed at the issuer.
    private func signIn(_ server: TestServer, _ issuer: TestIssuer) async throws -> Answer {
        var browser = TestBrowser(server)
        let location = try #require(try await leave(&browser).header("Location"))
        return await browser.go(path(try issuer.agree(location)))
    }

    @Test func `an algorithm that is none, shared or another key's signs nobody in, whatever the token brings along`() async throws {
        let own = try P256.PrivateKey()
        let pem = try own.publicKey().pem().split(separator: "\n").dropFirst().dropLast().joined()
        let point = Base64.decode(pem)?.suffix(64) ?? []
        let (x, y) = (Base64URL.encode(Array(point.prefix(32))), Base64URL.encode(Array(point.suffix(32))))
        let jwk = #"{"kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(y)"}"#
        let some = Base64URL.encode([UInt8](repeating: 1, count: 64))
        let rows: [(String, @Sendable (inout TestIssuer.Words) -> Void)] = [
            ("none", { ($0.header, $0.signature) = (#"{"alg":"none"}"#, "") }), ("None", { ($0.header, $0.signature) = (#"{"alg":"None"}"#, some) }),
            ("an empty signature", { $0.signature = "" }), ("zeros", { $0.signature = Base64URL.encode([UInt8](repeating: 0, count: 64)) }),
            ("half a signature", { $0.signature = Base64URL.encode([UInt8](repeating: 1, count: 32)) }),
            ("HMAC under the public key", { $0.header = #"{"alg":"HS256"}"# }),
            ("RSA by a key of an elliptic curve", { $0.header = #"{"alg":"RS256"}"# }),
            ("a key in the token", { ($0.header, $0.hidesKey) = (#"{"alg":"ES256","jwk":\#(jwk)}"#, true) }),
            ("a URL of keys in the token", { ($0.header, $0.hidesKey) = (#"{"alg":"ES256","jku":"http://127.0.0.1:1/keys"}"#, true) }),
            ("a key that nobody has published", { ($0.header, $0.hidesKey) = (#"{"alg":"ES256","kid":"../../etc/passwd"}"#, true) }),
            ("a member that a reader must know", { $0.header = #"{"alg":"ES256","crit":["exp"]}"# }),
        ]
        for (label, change) in rows {
            try await withIssuer { server, issuer in
                issuer.say(change)
                let answer = try await signIn(server, issuer)
                #expect(answer.status == 401 && answer.text.contains("did not work") && !answer.text.contains("Allow access"), "\(label)")
                #expect(try await server.cloud.registry.account(email: "grace@example.com") == nil, "\(label)")
            }
        }
    }

    @Test func `a key for encrypting, of another curve, or off its curve counts for nothing, and one that is right beside them does`() async throws {
        let zero = Base64URL.encode([UInt8](repeating: 0, count: 32))
        try await withIssuer { server, issuer in
            issuer.say {
                $0.otherKeys = """
                    {"kty":"EC","crv":"P-256","use":"enc","x":"\(zero)","y":"\(zero)"},{"kty":"EC","crv":"P-256","x":"\(zero)","y":"\(zero)"},
                    {"kty":"EC","crv":"P-521","x":"AA","y":"AA"},{"kty":"EC","crv":"P-256"},{"kty":"RSA","n":"AQ","e":"AQ"},{"kty":"none"}
                    """
            }
            let answer = try await signIn(server, issuer)
            #expect(answer.text.contains("Allow access?"))
        }
    }

    @Test func `keys without end are not read, and those of a long list are looked at as far as the limit`() async throws {
        let key = #"{"kty":"EC","crv":"P-256","kid":"x","x":"AA","y":"AA"}"#
        for (count, isIn) in [(Limits.openIDKeys - 1, true), (Limits.openIDKeys, false), (Limits.openIDAnswerBytes / key.utf8.count + 1, false)] {
            try await withIssuer { server, issuer in
                issuer.say { $0.otherKeys = [String](repeating: key, count: count).joined(separator: ",") }
                let answer = try await signIn(server, issuer)
                #expect(answer.text.contains("Allow access?") == isIn && (isIn || [401, 503].contains(answer.status)), "\(count): \(answer.status)")
            }
        }
    }

    @Test func `an issuer that sends on is not followed`() async throws {
        try await withIssuer { server, issuer in
            issuer.say { $0.redirects = true }
            var browser = TestBrowser(server)
            let answer = try await leave(&browser)
            #expect(answer.status == 503 && answer.header("Location") == nil)
            #expect(issuer.count("description") == 1 && issuer.count("elsewhere") == 0)
        }
    }

    @Test(arguments: [
        "http://169.254.169.254/latest", "http://10.0.0.1/keys", "http://192.168.0.1/", "http://id.example/keys", "file:///etc/passwd",
        "gopher://127.0.0.1:25/x", "http://127.0.0.1.evil.example/", "http://127.0.0.1@evil.example/", "//evil.example", "",
    ])
    func `an issuer leads the server to no place in the clear but this machine`(_ url: String) async throws {
        for change in [{ $0.describedKeys = url }, { $0.describedTokens = url }] as [@Sendable (inout TestIssuer.Words) -> Void] {
            try await withIssuer { server, issuer in
                issuer.say(change)
                var browser = TestBrowser(server)
                let answer = try await leave(&browser)
                #expect(answer.status == 401 && answer.header("Location") == nil, "\(answer.status)")
                #expect(issuer.count("keys") == 0 && issuer.count("token") == 0)
            }
        }
    }

    @Test func `an answer for one app signs in to no other, and its state is no flow and no consent`() async throws {
        try await withIssuer { server, issuer in
            var browser = TestBrowser(server)
            let location = try #require(try await leave(&browser).header("Location"))
            let state = try #require(URLComponents(string: location)?.queryItems?.first { $0.name == "state" }?.value)
            for field in ["flow", "consent"] {
                for step in ["sign-in", "allow", "passkeys"] {
                    let answer = await browser.post([field: state, "step": step, "email": "ada@example.com", "password": TestServer.password])
                    #expect(answer.status == 403, "\(field) \(step)")
                }
            }
            // The result is for the app that the browser left from, whatever the address says.
            let back = path(try issuer.agree(location)) + "&ckAPIToken=\(server.names["api.other"] ?? "")"
            #expect(await browser.go(back).text.contains("Allow access?"))
            await browser.send(["step": "allow"])
            let token = try #require(browser.delivered?.at("message.ckWebAuthToken")?.text)
            #expect(await browser.caller(token) != nil)
            #expect(await browser.caller(token, api: "api.other") == nil)
        }
    }

    @Test func `two users of the issuer with the same address are two, and the second gets no account`() async throws {
        try await withIssuer { server, issuer in
            let first = try await signIn(server, issuer)
            #expect(first.text.contains("Allow access?"))
            // A name with a trailing blank is another user's.
            for subject in ["sub-2", "sub-1 "] {
                issuer.say { $0.subject = subject }
                let answer = try await signIn(server, issuer)
                #expect([400, 409].contains(answer.status) && !answer.text.contains("Allow access"), "\(subject)")
            }
            let grace = try #require(try await server.cloud.registry.account(email: "grace@example.com"))
            #expect(grace.openID?.subject == "sub-1")
        }
    }
}
