extension AdminMessages {
    /// `GET /admin/1/mail`
    package struct Mail: Codable, Hashable, Sendable {
        /// The sender of the server's mails; absent if it sends none.
        package var from: String?
        /// The URL of the SMTP server that takes them; absent as `from` is.
        package var server: String?
    }

    /// `POST /admin/1/mail/test`
    package struct NewMailTest: Codable, Hashable, Sendable {
        /// The address that the mail goes to.
        package var to: String

        package init(to: String) {
            self.to = to
        }
    }

    package struct MailTest: Codable, Hashable, Sendable {
        package var to: String
        /// Whether the SMTP server has taken the mail.
        package var isTaken: Bool
        /// Words for people about the mail server's answer.
        package var said: String
    }
}
