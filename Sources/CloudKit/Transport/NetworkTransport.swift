/// How this platform reaches a server: the client on libcurl where Debian's is at hand, and else URLSession.
enum NetworkTransport {
    #if canImport(NacreHTTPClient)
        static let shared: any Transport = ClientTransport.ambient
    #else
        static let shared: any Transport = URLSessionTransport()
    #endif

    /// Requests to one server at a time; more wait for their turn. Ours: one app may run many operations.
    static let requestsPerHost = 16

    /// An answer of ours has at most 8 MB and a page of changes a few more; nothing honest comes near.
    static let answerBytesMax = 256 << 20
}
