import CNacreCurl

extension Transfer {
    /// Bytes that libcurl reads at once: our choice against its 16 KB, because a page of changes has hundreds of
    /// kilobytes.
    private static let readBytes = 64 << 10
    /// Seconds without traffic after which the system probes the other side.
    private static let keepAliveSeconds = 60

    /// The fault of a request that cannot be sent, or nil.
    var requestFault: HTTPClient.Failure.RequestFault? {
        if target == nil { return .url }
        if request.method.isEmpty || !request.method.utf8.allSatisfy(HTTPClient.Header.isOfToken) { return .method }
        if !request.headers.allSatisfy(\.isWellFormed) { return .header }
        if case .stream(let length?, _) = request.body, length < 0 { return .bodyLength }
        return nil
    }

    /// - Returns: The list of headers, which must live as long as the handle.
    func setOptions(of handle: UnsafeMutableRawPointer, _ configuration: HTTPClient.Configuration) -> UnsafeMutablePointer<curl_slist>? {
        nacre_curl_set_text(handle, CURLOPT_URL, request.url)
        nacre_curl_only_http(handle)
        nacre_curl_leave_lookups(handle)
        // The callback only tests whether there is a pointer.
        if !request.reachesPrivateAddresses { nacre_curl_set_pointer(handle, CURLOPT_OPENSOCKETDATA, handle) }
        nacre_curl_set_number(handle, CURLOPT_PATH_AS_IS, 1)
        // No signals, because the process has other threads.
        nacre_curl_set_number(handle, CURLOPT_NOSIGNAL, 1)
        nacre_curl_set_number(handle, CURLOPT_TCP_KEEPALIVE, 1)
        nacre_curl_set_number(handle, CURLOPT_TCP_KEEPIDLE, Self.keepAliveSeconds)
        nacre_curl_set_number(handle, CURLOPT_BUFFERSIZE, Self.readBytes)
        nacre_curl_set_number(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        nacre_curl_set_number(handle, CURLOPT_HTTP_VERSION, version)
        if request.takesCompression { nacre_curl_set_text(handle, CURLOPT_ACCEPT_ENCODING, "gzip, deflate") }
        // libcurl was built with the system's folder of authorities, and still looks there, too.
        if let file = configuration.authorityFile { nacre_curl_set_text(handle, CURLOPT_CAINFO, file) }
        if target?.isLoopback == true {
            nacre_curl_set_text(handle, CURLOPT_NOPROXY, "*")
        } else if let proxy = configuration.proxy {
            nacre_curl_set_text(handle, CURLOPT_PROXY, proxy)
        }
        setBody(of: handle)
        let list = headerList()
        nacre_curl_set_pointer(handle, CURLOPT_HTTPHEADER, list)
        return list
    }

    private var version: Int {
        switch request.version {
        case .automatic: Int(CURL_HTTP_VERSION_2TLS)
        case .http1: Int(CURL_HTTP_VERSION_1_1)
        case .http2: Int(CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE)
        }
    }

    private func setBody(of handle: UnsafeMutableRawPointer) {
        switch request.body {
        case .none:
            if request.method == "HEAD" {
                nacre_curl_set_number(handle, CURLOPT_NOBODY, 1)
            } else {
                nacre_curl_set_number(handle, CURLOPT_HTTPGET, 1)
                // A POST or PUT without a body sends `Content-Length: 0`.
                if request.method == "POST" || request.method == "PUT" { setBytes([], of: handle) }
            }
        case .bytes(let bytes): setBytes(bytes, of: handle)
        case .stream(let length, _):
            nacre_curl_set_number(handle, CURLOPT_UPLOAD, 1)
            nacre_curl_set_size(handle, CURLOPT_INFILESIZE_LARGE, curl_off_t(length ?? -1))
        case .file(let part):
            nacre_curl_set_number(handle, CURLOPT_UPLOAD, 1)
            nacre_curl_set_size(handle, CURLOPT_INFILESIZE_LARGE, curl_off_t(part.length))
        }
        if request.method != "HEAD" { nacre_curl_set_text(handle, CURLOPT_CUSTOMREQUEST, request.method) }
    }

    /// Sets the bytes of the body. libcurl keeps a copy, and sends it again by itself if necessary.
    private func setBytes(_ bytes: [UInt8], of handle: UnsafeMutableRawPointer) {
        nacre_curl_set_number(handle, CURLOPT_POST, 1)
        nacre_curl_set_size(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(bytes.count))
        guard !bytes.isEmpty else {
            nacre_curl_set_text(handle, CURLOPT_COPYPOSTFIELDS, "")
            return
        }
        _ = bytes.withUnsafeBytes { nacre_curl_set_pointer(handle, CURLOPT_COPYPOSTFIELDS, $0.baseAddress) }
    }

    private func headerList() -> UnsafeMutablePointer<curl_slist>? {
        // A name without a value removes libcurl's default: it would wait for a "100 Continue", and declare the bytes a
        // form.
        var lines = ["Expect:"]
        if !request.headers.contains(where: { $0.name.lowercased() == "content-type" }) { lines.append("Content-Type:") }
        lines += request.headers.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
        var list: UnsafeMutablePointer<curl_slist>?
        for line in lines { list = curl_slist_append(list, line) ?? list }
        return list
    }
}
