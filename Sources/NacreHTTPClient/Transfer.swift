import CNacreCurl

/// One request under way, and the part of its answer that has come.
final class Transfer: @unchecked Sendable {
    // Sendable: `request`, `target` and `loop` are constants; `delivery` is set before the transfer is posted to the
    // loop. All other state is touched on the loop's thread alone.

    enum Delivery: Sendable {
        case whole(@Sendable (Result<HTTPClient.Answer, HTTPClient.Failure>) -> Void)
        case stream(BodyPipe)
    }

    let request: HTTPClient.Request
    /// The destination; nil if the URL is not valid, and the transfer will fail.
    let target: Target?
    let loop: TransferLoop
    var delivery: Delivery?

    var deadlines: TransferDeadlines
    /// Whether the task was cancelled, perhaps before the transfer started.
    var isCancelled = false
    /// Whether the request began to go over a connection, so that the server may have acted on it.
    var mayHaveArrived = false
    /// Whether the request was sent a second time, because its first connection had been closed.
    var wasRepeated = false
    /// The cause of a failure on this side. libcurl only reports that a callback aborted.
    private(set) var fault: HTTPClient.Failure.Cause?
    private(set) var underlying: (any Error)?
    private(set) var reader = AnswerHeadReader()

    /// The handle, non-nil while libcurl may call back.
    private(set) var handle: UnsafeMutableRawPointer?
    private var headerList: UnsafeMutablePointer<curl_slist>?
    private var body: [UInt8] = []
    private var received = 0
    private var progress = HTTPClient.Progress(sent: 0, toSend: nil, received: 0, toReceive: nil)
    private var upload = Upload()
    private var isReceivingPaused = false

    /// The state of a body that is pulled.
    private struct Upload {
        /// Counts how often the body began to be sent.
        var sending = 0
        var piece: ArraySlice<UInt8> = []
        var sent = 0
        var isOver = false
        /// Whether the next piece is being made.
        var isPulling = false
        var isPaused = false
        var task: Task<Void, Never>?
    }

    init(_ request: HTTPClient.Request, loop: TransferLoop) {
        self.request = request
        self.loop = loop
        target = Target(request.url)
        deadlines = TransferDeadlines(idle: request.idleTimeout, total: request.totalTimeout, now: loop.clock.now())
        loop.born()
    }

    deinit {
        loop.died()
    }

    // MARK: - The handle

    /// Returns a libcurl handle with all options; nil if there is no memory for one.
    func prepare(_ configuration: HTTPClient.Configuration) -> UnsafeMutableRawPointer? {
        guard let handle = curl_easy_init() else { return nil }
        self.handle = handle
        // Each callback gets `self` without a retain: the loop holds every transfer that has a handle, and frees the
        // handle first.
        var callbacks = TransferCallbacks.table
        callbacks.context = Unmanaged.passUnretained(self).toOpaque()
        nacre_curl_set_callbacks(handle, &callbacks)
        headerList = setOptions(of: handle, configuration)
        return handle
    }

    /// Resets the state of the first attempt for another one over a new connection.
    func prepareAgain() {
        wasRepeated = true
        reader = AnswerHeadReader()
        rewind()
        if let handle { nacre_curl_set_number(handle, CURLOPT_FRESH_CONNECT, 1) }
    }

    /// Frees the handle, which libcurl no longer carries.
    func tearDown() {
        upload.task?.cancel()
        if let handle { curl_easy_cleanup(handle) }
        handle = nil
        curl_slist_free_all(headerList)
        headerList = nil
    }

    /// Whether the server had closed a reused connection when the request came. libcurl has not sent the request again
    /// by itself, and it may be sent again.
    func isStale(_ code: CURLcode) -> Bool {
        guard let handle, !wasRepeated, !reader.hasBegun, fault == nil, request.body.isRepeatable else { return false }
        // For an HTTP/2 connection that ended before an answer began, libcurl reports a partial file.
        let lost = [CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_HTTP2, CURLE_HTTP2_STREAM]
        return lost.contains(code) && nacre_curl_number(handle, CURLINFO_NUM_CONNECTS) == 0
    }

    // MARK: - The end

    func failure(_ code: CURLcode) -> HTTPClient.Failure {
        let verification = handle.map { nacre_curl_number($0, CURLINFO_SSL_VERIFYRESULT) } ?? 0
        return failure(fault ?? HTTPClient.Failure.Cause(code, verification: verification), code: Int(code.rawValue))
    }

    func failure(_ cause: HTTPClient.Failure.Cause, code: Int = 0) -> HTTPClient.Failure {
        HTTPClient.Failure(cause, mayHaveArrived: mayHaveArrived, code: code, underlying: underlying)
    }

    /// Delivers the result to the waiting caller, once, after the handle is gone.
    func deliver(_ failure: HTTPClient.Failure?) {
        guard let delivery else { return }
        self.delivery = nil
        switch delivery {
        case .whole(let completion):
            if let failure {
                completion(.failure(failure))
            } else if reader.isComplete, let head = reader.head {
                completion(.success(HTTPClient.Answer(head: head, body: body)))
            } else {
                completion(.failure(self.failure(.badAnswer(reader.head == nil ? .notHTTP : .truncated))))
            }
        case .stream(let pipe):
            pipe.end(failure.map { .failure($0) } ?? .success(()))
        }
    }

    // MARK: - Called back by libcurl

    func takeHeader(_ line: UnsafeRawBufferPointer) -> Bool {
        touch()
        let wasComplete = reader.isComplete
        guard reader.take(line) else {
            fault = .badAnswer(.headersTooLarge)
            return false
        }
        if reader.isComplete, !wasComplete, let head = reader.head { begin(head) }
        return true
    }

    private func begin(_ head: HTTPClient.Head) {
        switch delivery {
        case .stream(let pipe): pipe.deliver(head)
        case .whole:
            // One allocation for most answers, with a bound on the length that a server claims.
            if let length = head["content-length"].flatMap({ Int($0) }) { body.reserveCapacity(min(max(length, 0), Self.reservedMax)) }
        case nil: break
        }
    }

    private static let reservedMax = 8 << 20

    enum Taking {
        case taken
        case paused
        case refused
    }

    func takeBody(_ bytes: UnsafeRawBufferPointer) -> Taking {
        touch()
        switch delivery {
        case .whole:
            received += bytes.count
            guard received <= request.answerBytesMax else {
                fault = .badAnswer(.bodyTooLarge)
                return .refused
            }
            body.append(contentsOf: bytes)
        case .stream(let pipe):
            guard pipe.offer(bytes) else {
                isReceivingPaused = true
                deadlines.hold()
                return .paused
            }
        case nil: return .refused
        }
        return .taken
    }

    enum Piece {
        case bytes(Int)
        case paused
        case refused
    }

    /// Fills libcurl's buffer with the next bytes of the request's body.
    func pull(into buffer: UnsafeMutableRawBufferPointer) -> Piece {
        touch()
        if !upload.piece.isEmpty {
            let some = upload.piece.prefix(buffer.count)
            buffer.copyBytes(from: some)
            upload.piece = upload.piece.dropFirst(some.count)
            upload.sent += some.count
            return .bytes(some.count)
        }
        if upload.isOver {
            if let length = request.body.length, upload.sent != length {
                fault = .badRequest(.bodyLength)
                return .refused
            }
            return .bytes(0)
        }
        if !upload.isPulling {
            upload.isPulling = true
            upload.task = Task { [self, sending = upload.sending, sent = upload.sent] in
                let result: Result<[UInt8]?, any Error>
                do { result = .success(try await request.body.piece(after: sent)) } catch { result = .failure(error) }
                loop.post(.piece(self, sending: sending, result))
            }
        }
        upload.isPaused = true
        deadlines.hold()
        return .paused
    }

    /// Begins the body again from its start, for another connection.
    /// - Returns: false if the body cannot be sent again.
    @discardableResult
    func rewind() -> Bool {
        guard request.body.isRepeatable else { return false }
        upload.task?.cancel()
        upload = Upload(sending: upload.sending + 1)
        return true
    }

    func noteProgress(sent: Int, toSend: Int, received: Int, toReceive: Int) {
        guard progress.sent != sent || progress.received != received else { return }
        progress = HTTPClient.Progress(
            sent: sent, toSend: toSend > 0 ? toSend : nil, received: received, toReceive: toReceive > 0 ? toReceive : nil)
        touch()
        request.progress?(progress)
    }

    /// Notes that the request begins to go over a connection. This is the second time if libcurl itself replaces a
    /// stale one.
    /// - Returns: false if the body was sent before and cannot be sent again.
    func noteConnected() -> Bool {
        touch()
        guard !mayHaveArrived || request.body.isRepeatable else {
            fault = .connectionLost
            return false
        }
        mayHaveArrived = true
        return true
    }

    private func touch() {
        if !isReceivingPaused && !upload.isPaused { deadlines.touch(loop.now) }
    }

    // MARK: - Called by the loop

    /// Takes the next piece of the body. Returns the failure that ends the transfer, or nil.
    func take(_ piece: Result<[UInt8]?, any Error>, sending: Int) -> HTTPClient.Failure? {
        // Ignore a piece of an earlier attempt.
        guard sending == upload.sending else { return nil }
        upload.isPulling = false
        upload.task = nil
        switch piece {
        case .failure(let error):
            underlying = error
            return failure(.bodyFailed)
        case .success(nil): upload.isOver = true
        case .success(let bytes?):
            upload.piece = bytes[...]
            if let length = request.body.length, upload.sent + bytes.count > length { return failure(.badRequest(.bodyLength)) }
        }
        upload.isPaused = false
        return goOn()
    }

    /// Goes on because the reader has made room. Returns the failure that ends the transfer, or nil.
    func drained() -> HTTPClient.Failure? {
        isReceivingPaused = false
        return goOn()
    }

    /// Lets libcurl go on in the directions that are not paused. It may call back before this returns.
    private func goOn() -> HTTPClient.Failure? {
        touch()
        guard let handle else { return nil }
        let directions = (isReceivingPaused ? CURLPAUSE_RECV : 0) | (upload.isPaused ? CURLPAUSE_SEND : 0)
        let code = curl_easy_pause(handle, directions)
        return code == CURLE_OK ? nil : failure(code)
    }
}

extension HTTPClient.Request.Body {
    var isRepeatable: Bool {
        switch self {
        case .none, .bytes: true
        case .stream: false
        case .file(let part): part.isRepeatable
        }
    }

    /// The length of a body that is pulled; nil if it is not known.
    fileprivate var length: Int? {
        switch self {
        case .stream(let length, _): length
        case .file(let part): part.length
        case .none, .bytes: nil
        }
    }

    /// Returns the bytes after `sent` bytes of a pulled body; nil at its end.
    fileprivate func piece(after sent: Int) async throws -> [UInt8]? {
        switch self {
        case .stream(_, let next): try await next()
        case .file(let part): try await part.piece(after: sent)
        case .none, .bytes: nil
        }
    }
}
