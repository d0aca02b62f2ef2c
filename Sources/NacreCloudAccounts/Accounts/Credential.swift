/// The sign-in of the client that was given a URL. The URL holds it, because a request to it carries no other.
package enum Credential: Hashable, Sendable {
    case apiToken(String)
    case session(id: String, account: String, apiToken: String)
    case device(id: String, account: String)
    case serverKey(String)
}
