import FoundationEssentials
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreCrypto
import NacreHTTPClient

/// The configuration of the SMTP server that takes this server's mails.
package struct MailConfiguration: Sendable {
    /// The URL without a user.
    var url: String
    var user: String?
    var password: String?
    var from: String
    /// Whether TLS is required, because the SMTP server is on another machine.
    var wantsTLS: Bool

    /// - Parameter url: `smtp://[user@]host[:port]`, or `smtps`.
    /// - Returns: nil for any other URL, and for a sender that is no plain address.
    package init?(url: String, password: String?, from: String) {
        guard let separator = url.firstRange(of: "://"),
            ["smtp", "smtps"].contains(url[..<separator.lowerBound]),
            url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }), let host = Server.host(of: url),
            Letter.isMailable(from)
        else { return nil }
        let rest = url[separator.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let at = rest.lastIndex(of: "@")
        user = at.map { String(rest[..<$0]) }
        guard user?.contains(":") != true else { return nil }
        let place = at.map { rest[rest.index(after: $0)...] } ?? rest
        self.url = "\(url[..<separator.upperBound])\(place)"
        (self.password, self.from) = (password, from)
        wantsTLS = !["localhost", "127.0.0.1", "[::1]"].contains(host)
    }
}

extension ServerConfiguration {
    /// The sender of mails; nil if no mail is sent, or if there is no public URL for its links.
    func postman(_ sealer: TokenSealer) -> Postman? {
        guard let mail, let publicURL else { return nil }
        return Postman(mail, publicURL: publicURL, sealer: sealer, clock: clock)
    }
}

/// The content of a link that sets a password: sealed, and valid as long as address and password do not change.
struct MailedLink: Codable, Hashable, Sendable {
    var account: String
    /// A digest of the address and the password's hash.
    var password: String
    /// Time of issue, in seconds since 2001.
    var issued: Double

    init(_ account: AccountEntry, issued: Double) {
        (self.account, password, self.issued) = (account.id, Self.digest(account), issued)
    }

    func opens(_ account: AccountEntry, at now: Timestamp) -> Bool {
        account.id == self.account && Self.digest(account) == password
            && now.secondsSince2001 < issued + Limits.passwordLinkSeconds
    }

    private static func digest(_ account: AccountEntry) -> String {
        // Addresses contain no space.
        Hex.encode(SHA256.digest(Array("\(account.email) \(account.passwordHash)".utf8)))
    }
}

/// The content of a link that verifies an address: sealed, and valid as long as the account has the address.
struct AddressLink: Codable, Hashable, Sendable {
    var account: String
    var address: String
    /// Time of issue, in seconds since 2001.
    var issued: Double

    func isGood(at now: Timestamp) -> Bool { now.secondsSince2001 < issued + Limits.addressLinkSeconds }
}

/// Writes letters and hands them to the SMTP server.
struct Postman: Mailing {
    let configuration: MailConfiguration
    let publicURL: String
    let sealer: TokenSealer
    let client: MailClient
    let clock: ServerClock

    init(
        _ configuration: MailConfiguration, publicURL: String, sealer: TokenSealer,
        clock: ServerClock
    ) {
        (self.configuration, self.publicURL, self.sealer, self.clock) = (
            configuration, publicURL, sealer, clock
        )
        client = MailClient(
            MailClient.Configuration(
                url: configuration.url, user: configuration.user, password: configuration.password,
                wantsTLS: configuration.wantsTLS,
                seconds: Limits.mailSeconds))
    }

    func send(_ letter: Letter, for account: AccountEntry?) async throws {
        let (subject, body) = try text(letter, account)
        try await send(subject: subject, body: body, to: letter.address)
    }

    /// Sends a plain text. Returns when the SMTP server has taken it.
    /// - Parameter subject: one line of ASCII characters.
    func send(subject: String, body: String, to address: String) async throws {
        let lines = [
            "From: <\(configuration.from)>", "To: <\(address)>", "Subject: \(subject)",
            "Date: \(date)",
            "Message-ID: <\(Hex.encode(try SecureRandom.bytes(16)))@\(configuration.from.split(separator: "@").last ?? "")>",
            "MIME-Version: 1.0", "Content-Type: text/plain; charset=utf-8",
            "Content-Transfer-Encoding: 8bit", "Auto-Submitted: auto-generated", "",
            body,
        ]
        let text = lines.joined(separator: "\n").replacing("\n", with: "\r\n") + "\r\n"
        try await client.send(from: configuration.from, to: address, text: text)
    }

    /// The date as in RFC 5322, 3.3: `Mon, 23 Nov 2026 08:04:48 +0000`.
    private var date: String {
        let now = Date(timeIntervalSinceReferenceDate: clock.now().secondsSince2001)
        // 2026-11-23T08:04:48Z
        let parts = now.formatted(.iso8601).split { $0 == "-" || $0 == "T" || $0 == "Z" }
        guard parts.count == 4, let month = Int(parts[1]), Self.months.indices.contains(month - 1) else { return "" }
        // The first day of 2001 was a Monday.
        let day = Int((now.timeIntervalSinceReferenceDate / 86_400).rounded(.down)) % 7
        let weekday = Self.days[(day + 7) % 7]
        return "\(weekday), \(parts[2]) \(Self.months[month - 1]) \(parts[0]) \(parts[3]) +0000"
    }

    private static let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private func url(_ path: String, _ link: String) -> String { SignInAddress.url(of: path, link, at: publicURL) }

    /// The letter as plain text, with the server's name and one link at most.
    private func text(_ letter: Letter, _ account: AccountEntry?) throws -> (
        subject: String, body: String
    ) {
        let server = Server.host(of: publicURL) ?? publicURL
        switch (letter.kind, account) {
        case (.newPassword, let account?):
            let link = MailedLink(account, issued: letter.issued)
            let url = url(PasswordPages.newPath, try sealer.seal(encoding: link, for: .mail))
            return (
                "A new password for \(server)",
                """
                Somebody, perhaps you, wants a new password for your account at \(server).

                To set it, open this page within 30 minutes. It shows what is signed in to the account, and ends it:

                \(url)

                If it was not you, do nothing: the password stays as it is.
                """
            )
        case (.verifyAddress, let account?):
            let link = AddressLink(account: account.id, address: account.email, issued: letter.issued)
            let url = url(AddressPage.path, try sealer.seal(encoding: link, for: .mailAddress))
            return (
                "Is this your address at \(server)?",
                """
                Somebody, perhaps you, has an account at \(server) with this address.

                If it is yours, open this page within a day and say so. It asks for the account's password:

                \(url)

                If it is not, do nothing.
                """
            )
        case (.newSignIn, _):
            return notice("A new sign-in to your account at \(server)", "has signed in to your account at \(server), and stays signed in.")
        case (.newPasskey, _):
            return notice(
                "A new passkey for your account at \(server)",
                "has added a passkey to your account at \(server). It signs in without a password.")
        case (.passwordChanged, _):
            return notice("Another password for your account at \(server)", "has set another password for your account at \(server).")
        case (.newPassword, nil), (.verifyAddress, nil), (.addressChanged, _), (.phoneCode, _):
            return (
                "Your address at \(server) was changed",
                """
                The account at \(server) that had this address has another one from now on.

                If it was not you who changed it, tell the administrator of \(server) at once.
                """
            )
        }
    }

    /// A notification about a new way into an account, with a link for its user to end it.
    private func notice(_ subject: String, _ what: String) -> (subject: String, body: String) {
        let root = publicURL.hasSuffix("/") ? String(publicURL.dropLast()) : publicURL
        return (
            subject,
            """
            Somebody, perhaps you, \(what)

            If it was not you, set a new password here, which shows and ends what is signed in to the account:

            \(root)\(PasswordPages.forgottenPath)
            """
        )
    }
}
