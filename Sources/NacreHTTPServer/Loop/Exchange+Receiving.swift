import CNacreMicroHTTPD
import Glibc

extension Exchange {
    /// libmicrohttpd's call for this request: its head, a piece of its body, or its end.
    func advance(
        _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ data: UnsafePointer<CChar>?, _ size: UnsafeMutablePointer<Int>?
    ) -> MHD_Result {
        if loop.isStopping || isTaken { return .NO }
        if let data, let size, size.pointee > 0 {
            let piece = UnsafeRawBufferPointer(start: data, count: size.pointee)
            size.pointee = 0
            return receive(piece)
        }
        switch stage {
        case .head:
            loop.endHead(on: connection)
            return receiveHead(method, version)
        case .held: return continueHeld()
        case .gathering:
            stage = .answering
            connection.beginResponse()
            start(HTTPBody(gathered))
            gathered = []
            return answerOrSuspend()
        case .streaming:
            stage = .answering
            connection.beginResponse()
            handOver()
            channel?.finish()
            loop.runJobs { self.response != nil }
            return answerOrSuspend()
        case .discarding:
            stage = .answering
            connection.beginResponse()
            return answerOrSuspend()
        case .lingering: return .NO
        case .answering: return answerOrSuspend()
        }
    }

    private func receiveHead(_ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?) -> MHD_Result {
        var reader = HeadReader(target: target)
        target = []
        reader.read(raw, version: version)
        let head = reader.head(method: HTTPMethod(rawValue: method.map { String(cString: $0) } ?? ""))
        let match = loop.router.match(head)
        self.head = head
        self.match = match
        self.reader = reader
        isHead = head.method == .head
        bodyLength = reader.contentLength
        bodyBytesMax = match.route?.bodyBytesMax ?? loop.bodyBytesMax
        closesAfter = reader.problem != nil
        var refusal = reader.problem
        if refusal == nil, nacre_mhd_header_bytes(raw) > loop.headerBytesMax {
            refusal = HTTPError(.headersTooLarge, "The headers are too large.")
        }
        if refusal == nil, let bodyLength, bodyLength > bodyBytesMax { refusal = .bodyTooLarge }

        guard reader.isChunked || (bodyLength ?? 0) > 0 else {
            if let refusal { return hold(HTTPBody([]), refusal) }
            stage = .gathering
            return .YES
        }
        connection.beginBody()
        if let refusal { return hold(HTTPBody([]), refusal) }
        // Where strangers have too much there already, the handler finds out first who it is.
        if let bodyLength, bodyLength <= ServerLimits.gatheredBodyBytesMax, account.hasTakenBody(bodyLength) {
            stage = .gathering
            return .YES
        }
        let loop = loop
        let channel = ByteChannel(bufferedMax: ServerLimits.bufferedBodyBytesMax, startsPaused: true) { loop.perform { self.bodyWanted() } }
        self.channel = channel
        return hold(HTTPBody(channel, length: bodyLength, account), nil)
    }

    /// Answers in libmicrohttpd's place a head that it is about to refuse: its 0.9.75 writes the headers of such an answer twice, the second time as
    /// the beginning of the body.
    /// - Returns: whether this is the one; there is never another, as a head is read and handed over in one call.
    func refuseHead() -> Bool {
        guard stage == .head, nacre_mhd_header_bytes(raw) > 0 else { return false }
        var reader = HeadReader(target: target)
        reader.read(raw, version: MHD_HTTP_VERSION_1_1)
        guard let problem = reader.problem else { return false }
        refuse(reader, problem)
        return true
    }

    /// Answers a request line with more parameters than are read, before libmicrohttpd keeps each of them: where they do not fit, it closes the connection
    /// without an answer.
    func refuseParameters() {
        guard let query = target.firstIndex(of: UInt8(ascii: "?")),
            target[query...].count(where: { $0 == UInt8(ascii: "&") }) >= ServerLimits.parametersMax
        else { return }
        refuse(HeadReader(target: target), HTTPError(.uriTooLong, "The query has more than \(ServerLimits.parametersMax) parameters."))
    }

    /// What the client still sends finds the socket shut.
    private func refuse(_ reader: HeadReader, _ problem: HTTPError) {
        stage = .lingering
        closesAfter = true
        // libmicrohttpd does not tell the method here.
        let head = reader.head(method: HTTPMethod(rawValue: ""))
        self.head = head
        match = loop.router.match(head)
        start(HTTPBody([]), refusal: problem)
        guard let response, let text = EarlyAnswer.text(response, isHead: false) else { return }
        _ = text.withUnsafeBytes { send(connection.socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        shutdown(connection.socket, Int32(SHUT_WR))
    }

    /// A body in chunks is under way that may be read on.
    var awaitsChunks: Bool {
        switch stage {
        case .streaming, .discarding, .held, .lingering: reader?.isChunked == true && !isSuspended
        case .head, .gathering, .answering: false
        }
    }

    private func hold(_ body: HTTPBody, _ refusal: HTTPError?) -> MHD_Result {
        stage = .held
        start(body, refusal: refusal)
        return continueHeld()
    }

    /// The headers are here, the handler runs: answer now, let the body come, or wait.
    private func continueHeld() -> MHD_Result {
        guard let response else {
            if isBodyWanted { stage = .streaming } else { suspend() }
            return .YES
        }
        // A client that waits for "100 Continue" gets its answer instead; a request that is not framed has no end to wait for.
        if reader?.expectsContinue == true || closesAfter || reader?.isChunked != true && (bodyLength ?? 0) == 0 {
            if reader?.isChunked == true || (bodyLength ?? 0) > 0 { self.response?.closes = true }
            return queue(self.response ?? response)
        }
        answerEarly()
        return .YES
    }

    private func receive(_ piece: UnsafeRawBufferPointer) -> MHD_Result {
        receivedBytes += piece.count
        switch stage {
        case .gathering:
            if gathered.isEmpty { gathered.reserveCapacity(bodyLength ?? piece.count) }
            gathered.append(contentsOf: piece)
        case .streaming where receivedBytes > bodyBytesMax:
            channel?.fail(HTTPError.bodyTooLarge)
            arrived = []
            return discard(piece.count)
        case .streaming:
            beginBodyPiece(before: receivedBytes - piece.count)
            if gather(piece) { suspend() }
        case .discarding, .lingering:
            return discard(piece.count)
        case .head, .held, .answering:
            return .NO
        }
        return .YES
    }

    /// libmicrohttpd brings half of its connection's memory at a time: the handler's task is woken for several of those.
    /// - Returns: whether the task has enough for now.
    private func gather(_ piece: UnsafeRawBufferPointer) -> Bool {
        var isEnough = false
        if arrived.count + piece.count > ServerLimits.handedBodyBytes { isEnough = handOver() }
        if arrived.isEmpty {
            let rest = bodyLength.map { $0 - receivedBytes + piece.count } ?? piece.count
            arrived.reserveCapacity(min(rest, ServerLimits.handedBodyBytes))
            loop.handOverSoon(self)
        }
        arrived.append(contentsOf: piece)
        return isEnough
    }

    /// Gives the handler's task what has come of the body.
    /// - Returns: whether it has enough for now.
    @discardableResult func handOver() -> Bool {
        guard !arrived.isEmpty, let channel else { return false }
        defer { arrived = [] }
        return channel.put(arrived)
    }

    /// A body that is longer than others may be is never in memory whole, and has its time for each piece.
    private func beginBodyPiece(before: Int) {
        guard bodyBytesMax > loop.bodyBytesMax, before / ServerLimits.bodyPieceBytes < receivedBytes / ServerLimits.bodyPieceBytes else { return }
        connection.beginBody()
    }

    private func discard(_ count: Int) -> MHD_Result {
        discardedBytes += count
        return discardedBytes > ServerLimits.lingeringBytesMax ? .NO : .YES
    }

    private func answerOrSuspend() -> MHD_Result {
        guard let response else {
            suspend()
            return .YES
        }
        return queue(response)
    }

    /// There is an answer, and the body has not come to its end.
    ///
    /// libmicrohttpd takes no response in the middle of a body. A short rest is thrown away and the connection goes on; before a long one the answer
    /// is written past libmicrohttpd, which has nothing else to send at this point, and the connection closes after reading on for a moment.
    func answerEarly() {
        guard var response, stage == .held || stage == .streaming else { return }
        channel?.fail(HTTPError.bodyTooLarge)
        arrived = []
        let rest = bodyLength.map { $0 - receivedBytes }
        stage = .discarding
        if let rest, rest <= ServerLimits.discardedBodyBytesMax { return }
        response.closes = true
        self.response = response
        guard let text = EarlyAnswer.text(response, isHead: isHead) else { return }
        let sent = text.withUnsafeBytes { send(connection.socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        stage = .lingering
        connection.beginLingering()
        if sent == text.count { shutdown(connection.socket, Int32(SHUT_WR)) } else { connection.hangUp() }
    }
}
