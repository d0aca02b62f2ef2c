package import NacreCloudWire

/// Why an issuer's answer signs nobody in.
package enum OpenIDFault: String, Error, Hashable, Sendable, CaseIterable {
    /// It is not what issuers answer.
    case malformed
    /// It is of another issuer than the one that was asked (RFC 9207).
    case issuer
    /// The issuer said no, or that it cannot.
    case refused
    /// No key of the issuer has signed it, or with another algorithm.
    case signature
    /// It is for another client.
    case audience
    case expired
    /// It is of another time.
    case issued
    /// It answers another question.
    case nonce
    case subject
    /// It was used already.
    case used
    /// The issuer cannot be reached, or has too much to do.
    case unreachable
}

/// When an issuer's answer is believed. OpenID Connect Core 1.0, 3.1.3.7; RFC 9207, 2.4.
package enum OpenIDRule {
    /// Whether the answer that a browser brings is of the issuer that was asked.
    /// - Parameters:
    ///   - named: `iss` of the answer.
    ///   - namesItself: the issuer says of itself that it always does.
    package static func fault(named: String?, issuer: String, namesItself: Bool) -> OpenIDFault? {
        if let named { return named == issuer ? nil : .issuer }
        return namesItself ? .issuer : nil
    }

    /// - Parameter now: on this server; clocks may differ by `Limits.openIDClockSeconds`.
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

    /// What is done with a user of the issuer's who has no account yet.
    package enum Newcomer: Hashable, Sendable {
        case isMade
        /// The operator does not let the issuer make accounts.
        case isNotLetIn
        /// The issuer gives no address that it has verified.
        case hasNoAddress
    }

    /// An address that has an account already is not asked for here: an account is never joined by its address, and `givesWay` says what becomes of it.
    package static func newcomer(_ claims: IDTokenClaims, opensSignUp: Bool) -> Newcomer {
        guard opensSignUp else { return .isNotLetIn }
        guard let email = claims.email, claims.isEmailVerified,
            (try? Registry.normalized(email)) != nil
        else { return .hasNoAddress }
        return .isMade
    }

    /// Whether an account gives up an address that the issuer has verified for one of its users.
    ///
    /// Anybody may sign up with anybody's address, and must not keep its owner out by that. Where no mail is sent nobody can verify an address, so that
    /// nobody has says nothing.
    static func givesWay(isVerified: Bool, isOfIssuer: Bool, sendsMail: Bool) -> Bool {
        sendsMail && !isVerified && !isOfIssuer
    }
}
