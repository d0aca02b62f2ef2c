#if canImport(NacreHTTPClient)
    import Foundation
    import NacreHTTPClient

    /// HTTP through `NacreHTTPClient`.
    ///
    /// Redirections are not followed: the API has none, and a request carries tokens that are for one server.
    final class ClientTransport: Transport {
        /// Trusts what `CLOUDKIT_CA_FILE` names, beside the system's authorities.
        static let ambient = ClientTransport(authorityFile: ProcessInfo.processInfo.environment["CLOUDKIT_CA_FILE"].flatMap { $0.isEmpty ? nil : $0 })

        private let client: HTTPClient

        /// - Parameter authorityFile: authorities that are trusted beside the system's.
        init(authorityFile: String? = nil) {
            client = HTTPClient(.init(transfersPerHostMax: NetworkTransport.requestsPerHost, authorityFile: authorityFile))
        }

        func send(_ request: TransportRequest) async throws(TransportFailure) -> TransportAnswer {
            let answer: HTTPClient.Answer
            do throws(HTTPClient.Failure) {
                answer = try await client.send(
                    HTTPClient.Request(
                        request.method.rawValue, request.url.absoluteString, headers: request.headers.map { HTTPClient.Header($0.key, $0.value) },
                        body: request.method == .post ? .bytes(request.body) : .none, idleTimeout: Self.limit(request.timeout),
                        totalTimeout: request.totalTimeout.flatMap(Self.limit), answerBytesMax: NetworkTransport.answerBytesMax))
            } catch {
                throw TransportFailure(error)
            }
            let headers = Dictionary(answer.head.headers.map { ($0.name, $0.value) }) { first, second in "\(first), \(second)" }
            return TransportAnswer(status: answer.status, headers: headers, body: answer.body)
        }

        /// nil where the app's number, which may be infinite, is too large to be a limit in practice.
        private static func limit(_ seconds: Double) -> Duration? {
            seconds < 1e9 ? .seconds(max(seconds, 0)) : nil
        }
    }

    extension TransportFailure {
        /// An error of URLSession's domain, as Apple's is underneath, with a text that has nothing of the request in it.
        init(_ failure: HTTPClient.Failure) {
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
            case .tls(.handshake): (.secureConnectionFailed, "No secure connection came about", nil)
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

        private static let authorityRemedy = "Set CLOUDKIT_CA_FILE to a PEM file with the certificate of the server's authority"
    }
#endif
