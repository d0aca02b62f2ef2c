#if canImport(NacreHTTPClient)
    import Foundation
    import NacreHTTPClient

    /// Sends requests through `NacreHTTPClient`.
    ///
    /// Redirections are not followed: the API has none, and a request carries tokens that are for one server.
    final class ClientTransport: Transport {
        /// A transport that trusts the authorities of `CLOUDKIT_CA_FILE` beside the system's.
        static let ambient = ClientTransport(authorityFile: ambientAuthorities)

        static var ambientAuthorities: String? { ProcessInfo.processInfo.environment["CLOUDKIT_CA_FILE"].flatMap { $0.isEmpty ? nil : $0 } }

        private let client: HTTPClient

        /// - Parameter authorityFile: authorities that are trusted beside the system's.
        init(authorityFile: String? = nil, transfersPerHostMax: Int = NetworkTransport.requestsPerHost) {
            client = HTTPClient(.init(transfersPerHostMax: transfersPerHostMax, authorityFile: authorityFile))
        }

        func send(_ request: TransportRequest) async throws(TransportFailure) -> TransportAnswer {
            do throws(HTTPClient.Failure) {
                return TransportAnswer(try await client.send(HTTPClient.Request(request, request.method == .post ? .bytes(request.body) : .none)))
            } catch {
                throw TransportFailure(error)
            }
        }

        var sendsParts: Bool { true }

        func upload(
            _ request: TransportRequest, from path: String, length: Int, progress: @escaping @Sendable (Int) -> Void
        ) async throws(TransportFailure) -> TransportAnswer {
            try await send(request, bytes: 0..<length, of: path, progress: progress)
        }

        func send(
            _ request: TransportRequest, bytes: Range<Int>, of path: String, progress: @escaping @Sendable (Int) -> Void
        ) async throws(TransportFailure) -> TransportAnswer {
            let part: HTTPClient.FilePart
            do throws(HTTPClient.FileError) {
                part = try await FileWork.run { () throws(HTTPClient.FileError) in
                    try HTTPClient.FilePart(path: path, offset: bytes.lowerBound, length: bytes.count, isRepeatable: false)
                }
            } catch {
                throw .fileFailed(error.asNSError)
            }
            do throws(HTTPClient.Failure) {
                var request = HTTPClient.Request(request, .file(part))
                request.progress = { progress($0.sent) }
                return TransportAnswer(try await client.send(request))
            } catch {
                throw TransportFailure(error)
            }
        }

        func download(to path: String, keptAs: String?, bytesMax: Int) async throws(TransportFailure) -> any TransportDownload {
            do throws(HTTPClient.FileError) {
                return try await FileWork.run { [client] () throws(HTTPClient.FileError) in
                    Download(client: client, file: try HTTPClient.FileDownload(path: path, keptAs: keptAs, bytesMax: bytesMax))
                }
            } catch {
                throw .fileFailed(error.asNSError)
            }
        }

        func download(to path: String, bytesMax: Int) async throws(TransportFailure) -> any TransportDownload {
            try await download(to: path, keptAs: nil, bytesMax: bytesMax)
        }

        private struct Download: TransportDownload {
            let client: HTTPClient
            let file: HTTPClient.FileDownload

            var received: Int { file.received }

            func attempt(_ request: TransportRequest, progress: @escaping @Sendable (Int) -> Void) async throws(TransportFailure) -> TransportAnswer {
                do throws(HTTPClient.Failure) {
                    var request = HTTPClient.Request(request, .none)
                    request.progress = { _ in progress(file.received) }
                    return TransportAnswer(try await client.fetch(request, into: file))
                } catch {
                    throw TransportFailure(error)
                }
            }

            func finish() async throws(TransportFailure) {
                do throws(HTTPClient.FileError) {
                    try await file.finish()
                } catch {
                    throw .fileFailed(error.asNSError)
                }
            }
        }
    }

    extension HTTPClient.Request {
        fileprivate init(_ request: TransportRequest, _ body: Body) {
            self.init(
                request.method.rawValue, request.url.absoluteString, headers: request.headers.map { HTTPClient.Header($0.key, $0.value) }, body: body,
                idleTimeout: Self.limit(request.timeout), totalTimeout: request.totalTimeout.flatMap(Self.limit),
                answerBytesMax: NetworkTransport.answerBytesMax)
        }

        /// Returns the limit as a duration; nil if the app's number, which may be infinite, is too large to matter.
        private static func limit(_ seconds: Double) -> Duration? {
            seconds < 1e9 ? .seconds(max(seconds, 0)) : nil
        }
    }

    extension TransportAnswer {
        fileprivate init(_ answer: HTTPClient.Answer) {
            let headers = Dictionary(answer.head.headers.map { ($0.name, $0.value) }) { first, second in "\(first), \(second)" }
            self.init(status: answer.status, headers: headers, body: answer.body)
        }
    }

    extension HTTPClient.FileError {
        fileprivate var asNSError: NSError { NSError(domain: NSPOSIXErrorDomain, code: Int(code), userInfo: [:]) }
    }

    extension TransportFailure {
        /// Makes a failure with an error of URLSession's domain, like the underlying errors of Apple's framework. Its
        /// text contains nothing of the request.
        init(_ failure: HTTPClient.Failure) {
            if let file = failure.underlying as? HTTPClient.FileError {
                self = .fileFailed(file.asNSError)
                return
            }
            let (code, text, remedy) = Self.words(failure.cause)
            guard code != .cancelled else {
                self = .cancelled
                return
            }
            var userInfo: [String: Any] = [NSLocalizedDescriptionKey: text]
            userInfo[NSLocalizedRecoverySuggestionErrorKey] = remedy
            let cause = NSError(domain: NSURLErrorDomain, code: code.rawValue, userInfo: userInfo)
            self = failure.mayHaveArrived ? .answerLost(cause) : .notSent(cause)
        }

        private static func words(_ cause: HTTPClient.Failure.Cause) -> (code: URLError.Code, text: String, remedy: String?) {
            switch cause {
            case .badRequest(.url), .badRequest(.method): (.badURL, "The URL is not an HTTP URL", ServerSetting.url.remedy)
            case .badRequest, .bodyFailed: (.badURL, "The request cannot be sent", nil)
            case .cannotResolve: (.cannotFindHost, "The server's name is not known", ServerSetting.url.remedy)
            case .cannotConnect: (.cannotConnectToHost, "Nobody answers at the server's address", nil)
            case .tls(.unknownAuthority): (.serverCertificateHasUnknownRoot, "The server's certificate is of an unknown authority", authorityRemedy)
            case .tls(.wrongName): (.serverCertificateUntrusted, "The server's certificate is for another host", ServerSetting.url.remedy)
            case .tls(.expired): (.serverCertificateHasBadDate, "The server's certificate has expired, or is not valid yet", nil)
            case .tls(.authorityFile): (.secureConnectionFailed, "The file of trusted authorities cannot be read", authorityRemedy)
            case .tls(.handshake): (.secureConnectionFailed, "No secure connection came about", plainRemedy)
            case .timedOut: (.timedOut, "The server did not answer in time", nil)
            case .cancelled: (.cancelled, "Cancelled", nil)
            case .connectionLost: (.networkConnectionLost, "The connection was lost", nil)
            case .badAnswer(.bodyTooLarge), .badAnswer(.headersTooLarge): (.dataLengthExceedsMaximum, "The answer is too large", nil)
            case .badAnswer(.truncated): (.networkConnectionLost, "The answer ended too early", nil)
            case .badAnswer(.encoding): (.cannotDecodeContentData, "The answer's compression does not read", nil)
            case .badAnswer(.range): (.badServerResponse, "The answer has other bytes than those that were asked for", nil)
            case .fileFailed: (.cannotWriteToFile, "The answer's bytes cannot be kept in a file", nil)
            case .badAnswer(.notHTTP): (.badServerResponse, "What answers does not speak HTTP", ServerSetting.url.remedy)
            case .noResources: (.unknown, "There is no memory or thread for a connection", nil)
            }
        }

        private static let plainRemedy = "If the server speaks plain HTTP, let CLOUDKIT_SERVER_URL begin with http:// instead of https://"
        private static let authorityRemedy = "Set CLOUDKIT_CA_FILE to a PEM file with the certificate of the server's authority"
    }
#endif
