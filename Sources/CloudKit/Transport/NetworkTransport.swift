/// How this platform reaches a server: the client on libcurl where Debian's is at hand, and else URLSession.
enum NetworkTransport {
    #if canImport(NacreHTTPClient)
        static let shared: any Transport = ClientTransport.ambient
        static var authorityFile: String? { ClientTransport.ambientAuthorities }

        /// - Parameter authorityFile: as the app that an operation is taken over from has it.
        static func trusting(_ authorityFile: String?) -> any Transport {
            authorityFile == self.authorityFile ? shared : ClientTransport(authorityFile: authorityFile)
        }
        /// For questions that the server holds open: connections of their own, so that no other request waits for an answer that may take its time.
        static let waiting: any Transport = ClientTransport(authorityFile: ClientTransport.ambientAuthorities, transfersPerHostMax: waitsPerHost)
    #else
        static let shared: any Transport = URLSessionTransport()
        static let authorityFile: String? = nil
        static func trusting(_ authorityFile: String?) -> any Transport { shared }
        static let waiting: any Transport = URLSessionTransport(connectionsPerHostMax: waitsPerHost)
    #endif

    /// Requests to one server at a time; more wait for their turn. Ours: one app may run many operations.
    static let requestsPerHost = 16

    /// Questions to one server that are open at a time; more wait for their turn. Ours: a process has few engines, but for tests.
    static let waitsPerHost = 256

    /// An answer of ours has at most 8 MB and a page of changes a few more; nothing honest comes near.
    static let answerBytesMax = 256 << 20
}
