import CNacreCurl

extension HTTPClient {
    /// Why a transfer has no answer.
    ///
    /// It holds no text of the request, whose URL and headers may be secret.
    package struct Failure: Error, Equatable, Sendable {
        package enum Cause: Equatable, Sendable {
            case badRequest(RequestFault)
            /// The host's name, or the proxy's, is not known.
            case cannotResolve
            case cannotConnect
            case tls(TLSFault)
            case timedOut(Timeout)
            /// By the task, or because the client is gone.
            case cancelled
            /// The connection ended before the answer was whole.
            case connectionLost
            case badAnswer(AnswerFault)
            /// The stream or the file of the request's body failed; `underlying` says how.
            case bodyFailed
            /// The file that the answer goes into cannot be written; `underlying` says why.
            case fileFailed
            /// No thread, no memory.
            case noResources
        }

        package enum RequestFault: Equatable, Sendable {
            case url
            case method
            case header
            /// The stream of the body had more or fewer bytes than it was said to have.
            case bodyLength
        }

        package enum TLSFault: Equatable, Sendable {
            case unknownAuthority
            /// The certificate is for another host.
            case wrongName
            case expired
            /// The file of trusted authorities cannot be read.
            case authorityFile
            /// No common version, a broken record, a server that does not speak TLS, a certificate that is wrong in another way.
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
            /// Other bytes of the file than those that were asked for.
            case range
            /// Ends before its announced length or its last chunk.
            case truncated
            /// Compressed in a way that does not read.
            case encoding
        }

        package var cause: Cause
        /// The request, or a part of it, may have reached the server; false: for certain not.
        package var mayHaveArrived: Bool
        /// What libcurl says: a `CURLcode`, or 0.
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

/// Any two are equal: what a failure is, its cause says.
private struct EqualError: Equatable, Sendable {
    let error: any Error

    static func == (left: EqualError, right: EqualError) -> Bool { true }
}

extension HTTPClient.Failure.Cause {
    /// - Parameter verification: what OpenSSL says of the certificate, an `X509_V_ERR`, or 0.
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
            // libcurl compares the name itself before it has taken OpenSSL's word (1: not known yet); from 62 on OpenSSL did (host, mail, address).
            case 0, 1, 62, 63, 64: .wrongName
            // Not yet valid, expired.
            case 9, 10: .expired
            // No issuer's certificate, self-signed, not to be verified at the first one.
            case 2, 18, 19, 20, 21: .unknownAuthority
            default: .handshake
            }
    }
}
