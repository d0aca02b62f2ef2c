#if !canImport(NacreHTTPClient)
    import Foundation
    import NacreLocks

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    /// HTTP through URLSession, for platforms without Debian's libcurl. Knows no time limit for the whole, and whole seconds only on Linux.
    ///
    /// Redirections are not followed: the API has none, and a request carries tokens that are for one server.
    ///
    /// A call that is cancelled ends at once; its request goes on unheard until it has its answer or its timeout. URLSession on Linux stops the
    /// process when a task is cancelled in the moment in which it fails ("behaviour for a task that in not in the registry"), so none ever is.
    final class URLSessionTransport: Transport {
        private let session: URLSession
        private let exchanges = Exchanges()

        init() {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpMaximumConnectionsPerHost = NetworkTransport.requestsPerHost
            configuration.httpCookieStorage = nil
            configuration.httpShouldSetCookies = false
            configuration.urlCache = nil
            session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: nil)
        }

        func send(_ request: TransportRequest) async throws(TransportFailure) -> TransportAnswer {
            let timeout = min(request.timeout, request.totalTimeout ?? .infinity)
            var urlRequest = URLRequest(url: request.url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: timeout)
            urlRequest.httpMethod = request.method.rawValue
            for (name, value) in request.headers { urlRequest.setValue(value, forHTTPHeaderField: name) }
            if request.method == .post { urlRequest.httpBody = Data(request.body) }
            if Task.isCancelled { throw .cancelled }
            let task = session.dataTask(with: urlRequest)
            let result: Result<TransportAnswer, TransportFailure> = await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    exchanges.begin(task) { continuation.resume(returning: $0) }
                    task.resume()
                    // What was cancelled before it began found nothing to end.
                    if Task.isCancelled { exchanges.end(task, .failure(.cancelled)) }
                }
            } onCancel: {
                exchanges.end(task, .failure(.cancelled))
            }
            return try result.get()
        }
    }

    /// What has come so far for each running task.
    private final class Exchanges: NSObject, URLSessionDataDelegate, Sendable {
        typealias Completion = @Sendable (Result<TransportAnswer, TransportFailure>) -> Void

        private struct Exchange {
            var completion: Completion
            var body: [UInt8] = []
        }

        private let running = Locked<[Int: Exchange]>([:])

        func begin(_ task: URLSessionTask, completion: @escaping Completion) {
            running.withLock { $0[task.taskIdentifier] = Exchange(completion: completion) }
        }

        /// Nobody hears of the task any more; does nothing for one that has ended.
        func end(_ task: URLSessionTask, _ result: Result<TransportAnswer, TransportFailure>) {
            running.withLock { $0.removeValue(forKey: task.taskIdentifier) }?.completion(result)
        }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            let count = running.withLock { running in
                running[dataTask.taskIdentifier]?.body.append(contentsOf: data)
                return running[dataTask.taskIdentifier]?.body.count ?? 0
            }
            if count > NetworkTransport.answerBytesMax { end(dataTask, .failure(.answerLost(Self.error(.dataLengthExceedsMaximum)))) }
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            guard let exchange = running.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
            if let error {
                exchange.completion(.failure(TransportFailure(error)))
            } else if let response = task.response as? HTTPURLResponse {
                var headers: [String: String] = [:]
                for (name, value) in response.allHeaderFields { headers["\(name)".lowercased()] = "\(value)" }
                exchange.completion(.success(TransportAnswer(status: response.statusCode, headers: headers, body: exchange.body)))
            } else {
                exchange.completion(.failure(.answerLost(Self.error(.badServerResponse))))
            }
        }

        private static func error(_ code: URLError.Code) -> NSError {
            NSError(domain: NSURLErrorDomain, code: code.rawValue, userInfo: [:])
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
            completionHandler: @escaping (URLRequest?) -> Void
        ) {
            completionHandler(nil)
        }
    }

    extension TransportFailure {
        /// Errors with which URLSession says that there was no connection to send anything over.
        private static let unsent: Set<URLError.Code> = [
            .badURL, .unsupportedURL, .cannotFindHost, .cannotConnectToHost, .dnsLookupFailed, .notConnectedToInternet, .secureConnectionFailed,
            .serverCertificateUntrusted, .serverCertificateHasBadDate, .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid,
            .clientCertificateRejected, .clientCertificateRequired, .internationalRoamingOff, .callIsActive, .dataNotAllowed,
            .appTransportSecurityRequiresSecureConnection,
        ]

        fileprivate init(_ error: any Error) {
            // Without the text, which repeats the URL and with it the tokens.
            let code = (error as? URLError)?.errorCode ?? (error as NSError).code
            let cause = NSError(domain: NSURLErrorDomain, code: code, userInfo: [:])
            if code == URLError.cancelled.rawValue {
                self = .cancelled
            } else if Self.unsent.contains(where: { $0.rawValue == code }) {
                self = .notSent(cause)
            } else {
                self = .answerLost(cause)
            }
        }
    }
#endif
