import CNacreCurl

extension HTTPClient {
    /// The reason why a transfer has no answer. It holds no text of the request, whose URL and headers may be secret.
    package struct Failure: Error, Equatable, Sendable {
        package enum Cause: Equatable, Sendable {
            case badRequest(RequestFault)
            /// The name of the host or of the proxy is not known.
            case cannotResolve
            case cannotConnect
            case tls(TLSFault)
            case timedOut(Timeout)
            /// The task was cancelled, or the client was released.
            case cancelled
            /// The connection ended before the answer was complete.
            case connectionLost
            case badAnswer(AnswerFault)
            /// The stream or the file of the request's body failed; `underlying` says why.
            case bodyFailed
            /// The file that the answer goes into cannot be written; `underlying` says why.
            case fileFailed
            /// No thread could be started, or no memory allocated.
            case noResources
        }

        package enum RequestFault: Equatable, Sendable {
            case url
            case method
            case header
            /// The stream of the body had more or fewer bytes than announced.
            case bodyLength
        }

        package enum TLSFault: Equatable, Sendable {
            case unknownAuthority
            /// The certificate is for another host.
            case wrongName
            case expired
            /// The file of trusted authorities cannot be read.
            case authorityFile
            /// No common version, a broken record, a server that does not speak TLS, or another fault of the
            /// certificate.
            case handshake
        }

        package enum Timeout: Equatable, Sendable {
            case idle
            case total
        }

        package enum AnswerFault: Equatable, Sendable {
            case notHTTP
            case headersTooLarge
            case bodyTooLarge
            /// The bytes of the file are not those of the requested range.
            case range
            /// The body ends before its announced length or its last chunk.
            case truncated
            /// The compressed body cannot be decoded.
            case encoding
        }

        package var cause: Cause
        /// Whether the request, or a part of it, may have reached the server. false: it certainly has not.
        package var mayHaveArrived: Bool
        /// libcurl's `CURLcode`, or 0.
        package var code: Int
        private var underlyingError: EqualError?

        package var underlying: (any Error)? { underlyingError?.error }

        init(_ cause: Cause, mayHaveArrived: Bool, code: Int = 0, underlying: (any Error)? = nil) {
            self.cause = cause
            self.mayHaveArrived = mayHaveArrived
            self.code = code
            underlyingError = underlying.map(EqualError.init)
        }
    }
}

/// Wraps an error so that any two are equal: the cause alone tells failures apart.
private struct EqualError: Equatable, Sendable {
    let error: any Error

    static func == (left: EqualError, right: EqualError) -> Bool { true }
}

extension HTTPClient.Failure.Cause {
    /// - Parameter verification: OpenSSL's verdict on the certificate, an `X509_V_ERR`, or 0.
    init(_ code: CURLcode, verification: Int) {
        self =
            switch code {
            case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .cannotResolve
            case CURLE_COULDNT_CONNECT, CURLE_PROXY, CURLE_INTERFACE_FAILED: .cannotConnect
            case CURLE_PEER_FAILED_VERIFICATION: .tls(.init(verification: verification))
            case CURLE_SSL_CACERT_BADFILE: .tls(.authorityFile)
            case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_ENGINE_INITFAILED,
                CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_CRL_BADFILE, CURLE_SSL_CLIENTCERT, CURLE_USE_SSL_FAILED:
                .tls(.handshake)
            case CURLE_OPERATION_TIMEDOUT: .timedOut(.idle)
            case CURLE_PARTIAL_FILE: .badAnswer(.truncated)
            case CURLE_BAD_CONTENT_ENCODING: .badAnswer(.encoding)
            case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_HTTP2, CURLE_HTTP2_STREAM: .badAnswer(.notHTTP)
            case CURLE_URL_MALFORMAT: .badRequest(.url)
            case CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT: .noResources
            default: .connectionLost
            }
    }
}

extension HTTPClient.Failure.TLSFault {
    fileprivate init(verification: Int) {
        self =
            switch verification {
            // libcurl compares the name itself before it takes OpenSSL's verdict (1: not known yet). From 62 on OpenSSL
            // did (host, mail, address).
            case 0, 1, 62, 63, 64: .wrongName
            // Not yet valid, and expired.
            case 9, 10: .expired
            // The issuer's certificate is missing, self-signed, or the first certificate cannot be verified.
            case 2, 18, 19, 20, 21: .unknownAuthority
            default: .handshake
            }
    }
}
