import CNacreCurl
import Dispatch

/// Sends mails through one SMTP server (RFC 6409), one after the other, on a thread of its own.
package final class MailClient: Sendable {
    package struct Configuration: Sendable {
        /// The server: `smtp://host:port` or `smtps://host:port`.
        package var url: String
        /// The user name; nil if the server asks for none.
        package var user: String?
        package var password: String?
        /// Whether the connection must be encrypted before anything is sent. Off only for servers on this machine.
        package var wantsTLS: Bool
        /// Seconds for a whole mail, from the lookup of the host to the server's last reply.
        package var seconds: Int

        package init(url: String, user: String?, password: String?, wantsTLS: Bool, seconds: Int) {
            (self.url, self.user, self.password) = (url, user, password)
            (self.wantsTLS, self.seconds) = (wantsTLS, seconds)
        }
    }

    /// The reason why a mail was not taken. It holds no text of the mail, and no address.
    package struct Failure: Error, Equatable, Sendable {
        /// libcurl's error code; -1 if libcurl could not be set up.
        package var code: Int
        /// The server's last reply; 0 if there was none.
        package var reply: Int
    }

    private let configuration: Configuration
    private let queue = DispatchQueue(label: "nacre.mail")

    package init(_ configuration: Configuration) {
        self.configuration = configuration
    }

    /// Sends a mail. Returns when the server has taken it. After a failure it may have been taken or not.
    /// - Parameters:
    ///   - from: The sender's address, which bounces go to.
    ///   - to: The recipient's address.
    ///   - text: Headers and body, with CRLF at the ends of lines.
    package func send(from: String, to: String, text: String) async throws(Failure) {
        let failure: Failure? = await withCheckedContinuation { continuation in
            queue.async { [configuration] in
                continuation.resume(
                    returning: Self.perform(configuration, "<\(from)>", "<\(to)>", text))
            }
        }
        if let failure { throw failure }
    }

    private static func perform(
        _ configuration: Configuration, _ from: String, _ to: String, _ text: String
    ) -> Failure? {
        guard TransferLoop.isSetUp else { return Failure(code: -1, reply: 0) }
        var reply = 0
        let code = nacre_curl_send_mail(
            configuration.url, configuration.user, configuration.password, from, to, text,
            text.utf8.count,
            configuration.wantsTLS ? 1 : 0, configuration.seconds, &reply)
        return code == CURLE_OK ? nil : Failure(code: Int(code.rawValue), reply: reply)
    }
}
