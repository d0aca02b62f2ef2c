import FoundationEssentials
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPClient

/// The configuration of the web service that sends this server's text messages.
package struct TextConfiguration: Sendable {
    /// The URL that gets a `POST` for each message.
    var url: String
    /// The token for `Authorization: Bearer …`; nil: the header is not sent.
    var token: String?

    /// - Parameter url: `https`, or `http` if the service is on this machine.
    /// - Returns: nil for any other URL.
    package init?(url: String, token: String?) {
        guard let host = Server.host(of: url), url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else { return nil }
        let isHere = ["localhost", "127.0.0.1", "[::1]"].contains(host)
        guard url.hasPrefix("https://") || (isHere && url.hasPrefix("http://")) else { return nil }
        (self.url, self.token) = (url, token)
    }
}

extension ServerConfiguration {
    /// The sender of text messages; nil if none are sent.
    func textService() -> TextService? {
        texts.map { TextService($0, publicURL: publicURL) }
    }
}

/// Hands text messages to the service as a JSON object with `to`, a number in the form `+49301234567`, and `text`. A
/// status from 200 to 299 means that the service has the message.
struct TextService: Mailing {
    private let configuration: TextConfiguration
    /// The server's name in the messages.
    private let name: String
    private let client = HTTPClient()

    private static let answerBytes = 16_384

    private struct Message: Encodable {
        var to: String
        var text: String
    }

    init(_ configuration: TextConfiguration, publicURL: String?) {
        self.configuration = configuration
        name = publicURL.flatMap(Server.host) ?? "nacre"
    }

    func send(_ letter: Letter, for account: AccountEntry?) async throws {
        guard let code = account?.phoneDigits else { return }
        let message = Message(to: letter.address, text: "\(code) is your code for \(name). If you did not ask for one, do nothing.")
        var headers = [HTTPClient.Header("Content-Type", "application/json")]
        if let token = configuration.token { headers.append(.init("Authorization", "Bearer \(token)")) }
        let request = HTTPClient.Request(
            "POST", configuration.url, headers: headers, body: .bytes([UInt8](try JSONEncoder().encode(message))),
            totalTimeout: .seconds(Limits.textSeconds), answerBytesMax: Self.answerBytes)
        let answer = try await client.send(request)
        guard (200..<300).contains(answer.status) else { throw Refusal(status: answer.status) }
    }

    /// An answer of the service that refuses a message.
    struct Refusal: Error {
        var status: Int
    }
}
