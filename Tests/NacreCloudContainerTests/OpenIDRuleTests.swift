import Foundation
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of when an issuer's answer is valid, and of the rules for its users.
struct OpenIDRuleTests {
    private static let issuer = "https://id.example"
    /// A time in seconds since 1970.
    private static let now = 1_780_000_000.0

    private static func claims(_ change: (inout IDTokenClaims) -> Void = { _ in }) -> IDTokenClaims {
        var claims = IDTokenClaims(
            issuer: issuer, subject: "248289761001", audiences: ["nacre"], expires: now + 300,
            issued: now - 5, nonce: "n",
            email: "ada@example.com", isEmailVerified: true)
        change(&claims)
        return claims
    }

    private static let skew = Limits.openIDClockSeconds
    private static let tokens: [(String, IDTokenClaims, OpenIDFault?)] = [
        ("as asked", Self.claims(), nil),
        ("another issuer", Self.claims { $0.issuer = "https://id.example/" }, .issuer),
        ("another client", Self.claims { $0.audiences = ["other"] }, .audience),
        ("nobody", Self.claims { $0.audiences = [] }, .audience),
        (
            "one of several, without a word for whom",
            Self.claims { $0.audiences = ["nacre", "other"] }, .audience
        ),
        (
            "one of several, made for us",
            Self.claims { ($0.audiences, $0.authorizedParty) = (["nacre", "other"], "nacre") },
            nil
        ),
        (
            "one of several, made for another",
            Self.claims { ($0.audiences, $0.authorizedParty) = (["nacre", "other"], "other") },
            .audience
        ),
        ("made for another", Self.claims { $0.authorizedParty = "other" }, .audience),
        (
            "expired a moment ago, by our clock",
            Self.claims { $0.expires = Self.now - skew + 1 }, nil
        ),
        ("expired", Self.claims { $0.expires = Self.now - skew }, .expired),
        (
            "of the past",
            Self.claims { $0.issued = Self.now - Limits.openIDSeconds - skew - 1 }, .issued
        ),
        (
            "of the future",
            Self.claims { $0.issued = Self.now + Limits.openIDSeconds + skew + 1 }, .issued
        ),
        ("another question", Self.claims { $0.nonce = "m" }, .nonce),
        ("no question", Self.claims { $0.nonce = nil }, .nonce),
        ("of nobody", Self.claims { $0.subject = "" }, .subject),
        (
            "of a longest name",
            Self.claims { $0.subject = String(repeating: "s", count: 255) }, nil
        ),
        (
            "of a longer name", Self.claims { $0.subject = String(repeating: "s", count: 256) },
            .subject
        ),
        ("of a name that is not ASCII", Self.claims { $0.subject = "ä" }, .subject),
    ]

    @Test func `a token is believed where all is as it was asked, and nowhere else`() {
        let now = Timestamp(millisecondsSince1970: Int64(Self.now * 1000))
        for (label, claims, fault) in Self.tokens {
            #expect(
                OpenIDRule.fault(claims, issuer: Self.issuer, client: "nacre", nonce: "n", at: now)
                    == fault, "\(label)")
        }
    }

    @Test
    func `an answer of another issuer is none, nor one without a name of an issuer that gives it`() {
        for (named, namesItself, fault) in [
            (Self.issuer, true, nil), (Self.issuer, false, nil), (nil, false, nil),
            (nil, true, OpenIDFault.issuer),
            ("https://evil.example", false, .issuer), ("https://evil.example", true, .issuer),
            ("", false, .issuer),
        ] as [(String?, Bool, OpenIDFault?)] {
            #expect(
                OpenIDRule.fault(named: named, issuer: Self.issuer, namesItself: namesItself)
                    == fault, "\(named ?? "-")")
        }
    }

    @Test
    func
        `who is new gets an account by an address that the issuer has verified, where the operator lets in`()
    {
        for (label, claims, opensSignUp, verdict) in [
            ("verified", Self.claims(), true, .isMade),
            ("closed", Self.claims(), false, .isNotLetIn),
            ("not verified", Self.claims { $0.isEmailVerified = false }, true, .hasNoAddress),
            ("no address", Self.claims { $0.email = nil }, true, .hasNoAddress),
            ("not an address", Self.claims { $0.email = "ada" }, true, .hasNoAddress),
            ("not an address, closed", Self.claims { $0.email = "ada" }, false, .isNotLetIn),
        ] as [(String, IDTokenClaims, Bool, OpenIDRule.Newcomer)] {
            #expect(OpenIDRule.newcomer(claims, opensSignUp: opensSignUp) == verdict, "\(label)")
        }
    }

    @Test func `an account gives its address to the issuer's user where it might have verified it and has not`() {
        for (isVerified, isOfIssuer, sendsMail, givesWay) in [
            (false, false, true, true), (true, false, true, false), (false, true, true, false), (true, true, true, false),
            (false, false, false, false), (true, false, false, false), (false, true, false, false), (true, true, false, false),
        ] {
            #expect(OpenIDRule.givesWay(isVerified: isVerified, isOfIssuer: isOfIssuer, sendsMail: sendsMail) == givesWay)
        }
    }

    @Test func `claims are read as issuers write them, and nothing but true verifies`() throws {
        func read(_ more: String) -> IDTokenClaims? {
            IDTokenClaims(json: Array(#"{"iss":"i","sub":"s","exp":2,"iat":1\#(more)}"#.utf8))
        }
        #expect(
            read(#","aud":"a""#)?.audiences == ["a"]
                && read(#","aud":["a","b"],"azp":"a""#)?.audiences == ["a", "b"])
        #expect(
            read("") == nil && read(#","aud":1"#) == nil && read(#","aud":"a","nonce":1"#) == nil)
        #expect(read(#","aud":"a","email_verified":true"#)?.isEmailVerified == true)
        for word in [#""true""#, "1", "false", "null", "{}"] {
            #expect(
                read(#","aud":"a","email_verified":\#(word)"#)?.isEmailVerified == false, "\(word)")
        }
    }

    @Test func `a token has three parts, an algorithm that we know and no member that we must`() {
        func token(_ header: String, _ parts: String = ".e30.AA") -> SignedToken? {
            SignedToken(Base64URL.encode(Array(header.utf8)) + parts)
        }
        #expect(
            token(#"{"alg":"RS256"}"#)?.algorithm == .rs256
                && token(#"{"alg":"ES256","kid":"k"}"#)?.keyID == "k")
        for header in [
            #"{"alg":"none"}"#, #"{"alg":"HS256"}"#, #"{"alg":"rs256"}"#, "{}", "[]", "",
            #"{"alg":"RS256","crit":["b64"]}"#, #"{"alg":"RS512"}"#,
        ] { #expect(token(header) == nil, "\(header)") }
        for parts in ["", ".e30", ".e30.", ".e30.AA.AA", ".e3.AA", ".e30.A+", ".e30.AA="]
        where parts != ".e30." {
            #expect(token(#"{"alg":"RS256"}"#, parts) == nil, "\(parts)")
        }
        #expect(
            token(
                #"{"alg":"RS256"}"#,
                "." + String(repeating: "A", count: Limits.openIDAnswerBytes) + ".AA") == nil)
    }
}
