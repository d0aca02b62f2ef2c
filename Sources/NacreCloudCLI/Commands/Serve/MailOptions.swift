import NacreCloudServer

/// The SMTP server that takes mails, as options of `nacre serve`.
enum MailOptions {
    private static let smtp = Option.value(
        "smtp", "url",
        "Send mail by this server, such as smtp://user@host:587 or smtps://user@host: encrypted, but for this machine's. Goes with --mail-from and --public-url."
    )
    private static let passwordFile = Option.value(
        "smtp-password-file", "file", "The file with the password of that user.")
    private static let from = Option.value(
        "mail-from", "address", "The address that mails come from.")

    static let all = [smtp, passwordFile, from]

    /// Returns the mail configuration; nil where no SMTP server is given.
    static func configuration(_ call: Call, publicURL: String?) throws -> MailConfiguration? {
        guard let url = call.value(smtp) else {
            if let option = all.first(where: call.isSet) {
                throw UsageError(
                    .invalid("--\(option.name)", "give --\(smtp.name) with it"), path: call.path)
            }
            return nil
        }
        guard let sender = call.value(from), publicURL != nil else {
            throw UsageError(
                .invalid(
                    "--\(smtp.name)",
                    "give --\(from.name) and --public-url with it, which links begin with"),
                path: call.path)
        }
        let password = try call.value(passwordFile).map(TextFile.secret)
        guard let configuration = MailConfiguration(url: url, password: password, from: sender)
        else {
            throw UsageError(
                .invalid(
                    "--\(smtp.name)",
                    "give smtp://user@host:port without a password, and a plain address for --\(from.name)"
                ), path: call.path)
        }
        return configuration
    }
}
