import NacreCloudStorage
package import NacreCloudWire

/// The reason why an issuer's answer signs no user in.
package enum OpenIDFault: String, Error, Hashable, Sendable, CaseIterable {
    /// The answer is not in the form that issuers send.
    case malformed
    /// The answer is from another issuer than the one asked (RFC 9207).
    case issuer
    /// The issuer refused, or reported an error of its own.
    case refused
    /// No key of the issuer has signed the token, or only with another algorithm.
    case signature
    /// The token is for another client.
    case audience
    case expired
    /// The token's issue time is too far from now.
    case issued
    /// The token answers another question.
    case nonce
    case subject
    /// The answer was used already.
    case used
    /// The issuer cannot be reached, or is overloaded.
    case unreachable
}

/// The checks of an issuer's answer. OpenID Connect Core 1.0, 3.1.3.7; RFC 9207, 2.4.
package enum OpenIDRule {
    /// Whether a browser's answer is from the issuer that was asked.
    /// - Parameters:
    ///   - named: `iss` of the answer.
    ///   - namesItself: Whether the issuer declares that it always sends `iss`.
    package static func fault(named: String?, issuer: String, namesItself: Bool) -> OpenIDFault? {
        if let named { return named == issuer ? nil : .issuer }
        return namesItself ? .issuer : nil
    }

    /// Checks the claims of a token.
    /// - Parameter now: On this server: clocks may differ by `Limits.openIDClockSeconds`.
    package static func fault(
        _ claims: IDTokenClaims, issuer: String, client: String, nonce: String, at now: Timestamp
    ) -> OpenIDFault? {
        let seconds = Double(now.millisecondsSince1970) / 1000
        if claims.issuer != issuer { return .issuer }
        guard claims.audiences.contains(client), claims.authorizedParty ?? client == client,
            claims.audiences.count == 1 || claims.authorizedParty == client
        else { return .audience }
        if claims.expires + Limits.openIDClockSeconds <= seconds { return .expired }
        if abs(seconds - claims.issued) > Limits.openIDSeconds + Limits.openIDClockSeconds {
            return .issued
        }
        if claims.nonce != nonce { return .nonce }
        // Core 1.0, 2: "It MUST NOT exceed 255 ASCII characters in length".
        let isSubject =
            (1...255).contains(claims.subject.utf8.count)
            && claims.subject.utf8.allSatisfy { 0x20...0x7e ~= $0 }
        return isSubject ? nil : .subject
    }

    /// The decision about an issuer's user who has no account yet.
    package enum Newcomer: Hashable, Sendable {
        case isMade
        /// The operator does not let the issuer make accounts.
        case isNotLetIn
        /// The issuer gives no address that it has verified.
        case hasNoAddress
    }

    /// Decides about a new user. An address with an account is no reason to refuse: accounts are never joined by
    /// address, and `givesWay` decides who keeps it.
    package static func newcomer(_ claims: IDTokenClaims, opensSignUp: Bool) -> Newcomer {
        guard opensSignUp else { return .isNotLetIn }
        guard let email = claims.email, claims.isEmailVerified,
            (try? Registry.normalized(email)) != nil
        else { return .hasNoAddress }
        return .isMade
    }

    /// Whether an account gives up an address that the issuer has verified for one of its users.
    ///
    /// A sign-up may claim any address, and must not keep the address's owner out. On a server without mail no address
    /// can be verified, so an unverified one proves nothing.
    static func givesWay(isVerified: Bool, isOfIssuer: Bool, sendsMail: Bool) -> Bool {
        sendsMail && !isVerified && !isOfIssuer
    }
}
