import CNacreCurl
import Dispatch

/// Hands mails to one SMTP server (RFC 6409), one after the other, on a thread of its own.
package final class MailClient: Sendable {
    package struct Configuration: Sendable {
        /// `smtp://host:port` or `smtps://host:port`.
        package var url: String
        /// nil: the server asks for none.
        package var user: String?
        package var password: String?
        /// Nothing is said before the connection is encrypted. Off for servers of this machine alone.
        package var wantsTLS: Bool
        /// For the whole of a mail, from the host's name to the server's last word.
        package var seconds: Int

        package init(url: String, user: String?, password: String?, wantsTLS: Bool, seconds: Int) {
            (self.url, self.user, self.password) = (url, user, password)
            (self.wantsTLS, self.seconds) = (wantsTLS, seconds)
        }
    }

    /// Why a mail was not taken. It holds no text of the mail, and no address.
    package struct Failure: Error, Equatable, Sendable {
        /// libcurl's.
        package var code: Int
        /// The server's last reply; 0 where there was none.
        package var reply: Int
    }

    private let configuration: Configuration
    private let queue = DispatchQueue(label: "nacre.mail")

    package init(_ configuration: Configuration) {
        self.configuration = configuration
    }

    /// Returns when the server has taken the mail. A failure leaves open whether it did.
    /// - Parameters:
    ///   - from: an address, which bounces go to.
    ///   - to: an address.
    ///   - text: headers and body, with CRLF at the ends of lines.
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
