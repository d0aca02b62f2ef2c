/// The transport of this platform: the client on libcurl if Debian's is available, otherwise URLSession.
enum NetworkTransport {
    #if canImport(NacreHTTPClient)
        static let shared: any Transport = ClientTransport.ambient
        static var authorityFile: String? { ClientTransport.ambientAuthorities }

        /// - Parameter authorityFile: the setting of the app whose operation is taken over.
        static func trusting(_ authorityFile: String?) -> any Transport {
            authorityFile == self.authorityFile ? shared : ClientTransport(authorityFile: authorityFile)
        }
        /// The transport for requests that the server holds open. It has connections of its own, so that other requests
        /// do not wait for them.
        static let waiting: any Transport = ClientTransport(authorityFile: ClientTransport.ambientAuthorities, transfersPerHostMax: waitsPerHost)
    #else
        static let shared: any Transport = URLSessionTransport()
        static let authorityFile: String? = nil
        static func trusting(_ authorityFile: String?) -> any Transport { shared }
        static let waiting: any Transport = URLSessionTransport(connectionsPerHostMax: waitsPerHost)
    #endif

    /// Requests to one server at a time; more are queued. Own choice: one app may run many operations.
    static let requestsPerHost = 16

    /// Open requests that one server holds at a time; more are queued. Own choice: outside tests, a process has few
    /// engines.
    static let waitsPerHost = 256

    /// The most bytes of an answer. Own choice: this server's answers end at 16 MB.
    static let answerBytesMax = 256 << 20
}
