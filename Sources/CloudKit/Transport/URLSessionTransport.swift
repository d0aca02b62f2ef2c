#if !canImport(NacreHTTPClient)
    import Foundation
    import NacreLocks

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    /// Sends requests through URLSession, on platforms without Debian's libcurl. It has no time limit for the whole,
    /// and only whole seconds on Linux.
    ///
    /// Redirections are not followed: the API has none, and a request carries tokens that are for one server.
    ///
    /// A cancelled call ends at once, but its request continues unheard until its answer or its timeout. URLSession on
    /// Linux stops the process when a task is cancelled at the moment when it fails ("behaviour for a task that in not
    /// in the registry"). Tasks are therefore never cancelled.
    final class URLSessionTransport: Transport {
        private let session: URLSession
        private let exchanges = Exchanges()

        init(connectionsPerHostMax: Int = NetworkTransport.requestsPerHost) {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpMaximumConnectionsPerHost = connectionsPerHostMax
            configuration.httpCookieStorage = nil
            configuration.httpShouldSetCookies = false
            configuration.urlCache = nil
            session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: nil)
        }

        func send(_ request: TransportRequest) async throws(TransportFailure) -> TransportAnswer {
            var urlRequest = Self.urlRequest(request)
            if request.method == .post { urlRequest.httpBody = Data(request.body) }
            return try await answer(to: session.dataTask(with: urlRequest))
        }

        /// Sends the whole file, whatever its length is by then: the caller compares lengths.
        func upload(
            _ request: TransportRequest, from path: String, length: Int, progress: @escaping @Sendable (Int) -> Void
        ) async throws(TransportFailure) -> TransportAnswer {
            guard FileManager.default.isReadableFile(atPath: path) else {
                throw .fileFailed(NSError(domain: NSPOSIXErrorDomain, code: Int(POSIXErrorCode.ENOENT.rawValue), userInfo: [:]))
            }
            let task = session.uploadTask(with: Self.urlRequest(request), fromFile: URL(fileURLWithPath: path))
            return try await answer(to: task, Exchanges.Watch(sent: progress))
        }

        func download(to path: String, bytesMax: Int) async throws(TransportFailure) -> any TransportDownload {
            guard let download = URLSessionDownload(path, bytesMax, self) else {
                throw .fileFailed(NSError(domain: NSPOSIXErrorDomain, code: Int(POSIXErrorCode.EIO.rawValue), userInfo: [:]))
            }
            return download
        }

        fileprivate static func urlRequest(_ request: TransportRequest) -> URLRequest {
            let timeout = min(request.timeout, request.totalTimeout ?? .infinity)
            var urlRequest = URLRequest(url: request.url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: timeout)
            urlRequest.httpMethod = request.method.rawValue
            for (name, value) in request.headers { urlRequest.setValue(value, forHTTPHeaderField: name) }
            return urlRequest
        }

        fileprivate func fetch(_ request: TransportRequest, _ watch: Exchanges.Watch) async throws(TransportFailure) -> TransportAnswer {
            try await answer(to: session.dataTask(with: Self.urlRequest(request)), watch)
        }

        private func answer(to task: URLSessionTask, _ watch: Exchanges.Watch = .init()) async throws(TransportFailure) -> TransportAnswer {
            if Task.isCancelled { throw .cancelled }
            let result: Result<TransportAnswer, TransportFailure> = await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    exchanges.begin(task, watch) { continuation.resume(returning: $0) }
                    task.resume()
                    // A cancellation before `begin` had nothing to end.
                    if Task.isCancelled { exchanges.end(task, .failure(.cancelled)) }
                }
            } onCancel: {
                exchanges.end(task, .failure(.cancelled))
            }
            return try result.get()
        }
    }

    /// A file that is downloaded through URLSession. Each attempt starts anew.
    private final class URLSessionDownload: TransportDownload {
        private let path: String
        private let bytesMax: Int
        private let transport: URLSessionTransport
        private let file: Locked<FileHandle>
        private let bytes = Locked(0)
        private let isFinished = Locked(false)

        init?(_ path: String, _ bytesMax: Int, _ transport: URLSessionTransport) {
            guard !FileManager.default.fileExists(atPath: path + ".part"),
                FileManager.default.createFile(atPath: path + ".part", contents: nil, attributes: [.posixPermissions: 0o600]),
                let handle = FileHandle(forWritingAtPath: path + ".part")
            else { return nil }
            (self.path, self.bytesMax, self.transport) = (path, bytesMax, transport)
            file = Locked(handle)
        }

        deinit {
            if !isFinished.withLock({ $0 }) { try? FileManager.default.removeItem(atPath: path + ".part") }
        }

        var received: Int { bytes.withLock { $0 } }

        func attempt(_ request: TransportRequest, progress: @escaping @Sendable (Int) -> Void) async throws(TransportFailure) -> TransportAnswer {
            do {
                try file.withLock { try $0.truncate(atOffset: 0) }
            } catch {
                throw .fileFailed(error as NSError)
            }
            bytes.withLock { $0 = 0 }
            return try await transport.fetch(
                request,
                Exchanges.Watch(received: { [self] data in
                    let count = bytes.withLock { bytes in
                        bytes += data.count
                        return bytes
                    }
                    guard count <= bytesMax else {
                        return .answerLost(Exchanges.error(.dataLengthExceedsMaximum))
                    }
                    do {
                        try file.withLock { try $0.write(contentsOf: data) }
                    } catch {
                        return .fileFailed(error as NSError)
                    }
                    progress(count)
                    return nil
                }))
        }

        func finish() async throws(TransportFailure) {
            do {
                try FileManager.default.moveItem(atPath: path + ".part", toPath: path)
                isFinished.withLock { $0 = true }
            } catch {
                throw .fileFailed(error as NSError)
            }
        }
    }

    /// The answers so far of running tasks.
    private final class Exchanges: NSObject, URLSessionDataDelegate, Sendable {
        typealias Completion = @Sendable (Result<TransportAnswer, TransportFailure>) -> Void

        /// The observers of a running task.
        struct Watch: Sendable {
            /// Called with the number of body bytes sent.
            var sent: (@Sendable (Int) -> Void)?
            /// Takes the bytes of an answer with status 200 instead of collecting them; returns a failure to end the
            /// task.
            var received: (@Sendable (Data) -> TransportFailure?)?
        }

        private struct Exchange {
            var watch: Watch
            var completion: Completion
            var body: [UInt8] = []
        }

        private let running = Locked<[Int: Exchange]>([:])

        func begin(_ task: URLSessionTask, _ watch: Watch, completion: @escaping Completion) {
            running.withLock { $0[task.taskIdentifier] = Exchange(watch: watch, completion: completion) }
        }

        private func watch(_ task: URLSessionTask) -> Watch? {
            running.withLock { $0[task.taskIdentifier]?.watch }
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64, totalBytesExpectedToSend: Int64
        ) {
            watch(task)?.sent?(Int(totalBytesSent))
        }

        /// Ends a task for its caller; does nothing if it has ended.
        func end(_ task: URLSessionTask, _ result: Result<TransportAnswer, TransportFailure>) {
            running.withLock { $0.removeValue(forKey: task.taskIdentifier) }?.completion(result)
        }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            if let take = watch(dataTask)?.received, (dataTask.response as? HTTPURLResponse)?.statusCode == 200 {
                if let failure = take(data) { end(dataTask, .failure(failure)) }
                return
            }
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

        static func error(_ code: URLError.Code) -> NSError {
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
        /// URLSession's errors that mean that there was no connection to send over.
        private static let unsent: Set<URLError.Code> = [
            .badURL, .unsupportedURL, .cannotFindHost, .cannotConnectToHost, .dnsLookupFailed, .notConnectedToInternet, .secureConnectionFailed,
            .serverCertificateUntrusted, .serverCertificateHasBadDate, .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid,
            .clientCertificateRejected, .clientCertificateRequired, .internationalRoamingOff, .callIsActive, .dataNotAllowed,
            .appTransportSecurityRequiresSecureConnection,
        ]

        fileprivate init(_ error: any Error) {
            // The text is left out because it repeats the URL, which contains tokens.
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
