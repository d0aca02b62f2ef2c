extension Exchange {
    /// Starts the handler after the head has come, unless a small body is collected first.
    func begin() {
        var refusal = reader.problem
        let length = reader.contentLength
        guard refusal == nil, reader.isChunked || (length ?? 0) > 0 else { return start(HTTPBody([]), refusal: refusal) }
        connection.beginBody()
        framing = length.map { .length($0) } ?? .chunks(ChunkReader())
        if let length, length > bodyBytesMax { refusal = .bodyTooLarge }
        // If the share of strangers has no room for the body, start the handler: it finds out who the caller is.
        if refusal == nil, let length, length <= ServerLimits.gatheredBodyBytesMax, ledger.hasTakenBody(length) {
            stage = .gathering
            return inviteBody()
        }
        stage = .held
        guard refusal == nil else { return start(HTTPBody([]), refusal: refusal) }
        let loop = loop
        let channel = ByteChannel(bufferedMax: ServerLimits.bufferedBodyBytesMax, startsPaused: true) { loop.perform { self.bodyWanted() } }
        self.channel = channel
        start(HTTPBody(channel, length: length, ledger))
    }

    /// Answers now, begins to read the body, or waits for the handler.
    func continueHeld() -> Step {
        if response != nil {
            // A client that waits for "100 Continue" gets its answer instead.
            if awaitsContinue { answerAndClose() } else { answerEarly() }
            return .goesOn
        }
        guard isBodyWanted else {
            connection.pauseClock()
            return .waits
        }
        stage = .streaming
        inviteBody()
        return .goesOn
    }

    /// Sends "100 Continue" to a client that waits for it.
    private func inviteBody() {
        connection.continueClock()
        guard awaitsContinue else { return }
        awaitsContinue = false
        connection.sendInterim("HTTP/1.1 100 Continue\r\n\r\n")
    }

    func receive() -> Step {
        if stage == .streaming {
            // The handler has enough bytes for now.
            guard isBodyWanted else {
                connection.pauseClock()
                return .waits
            }
            connection.continueClock()
        }
        var count = 0
        let input = connection.withInput { bytes in
            count = bytes.count
            return take(bytes)
        }
        switch input {
        case .taken: return count < ServerLimits.handedBodyBytes ? .goesOn : .pauses
        case .nothing: return .waits
        case .ended:
            loop.close(connection)
            return .waits
        }
    }

    /// Takes the bytes that belong to the body.
    /// - Returns: The number of those bytes.
    private func take(_ bytes: UnsafeRawBufferPointer) -> Int {
        switch framing {
        case .length(let missing):
            let count = min(missing, bytes.count)
            framing = .length(missing - count)
            keep(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
            if missing == count { endBody() }
            return count
        case .chunks(var chunks):
            var body: [UInt8] = []
            body.reserveCapacity(bytes.count)
            let (count, outcome) = chunks.read(bytes, into: &body)
            framing = .chunks(chunks)
            if !body.isEmpty { body.withUnsafeBytes(keep) }
            switch outcome {
            case .unfinished: break
            case .finished: endBody()
            case .malformed: breakBody()
            }
            return count
        }
    }

    private func keep(_ piece: UnsafeRawBufferPointer) {
        let before = receivedBytes
        receivedBytes += piece.count
        if before / ServerLimits.paceBytes < receivedBytes / ServerLimits.paceBytes { connection.clientGoesOn() }
        switch stage {
        case .gathering:
            if gathered.isEmpty { gathered.reserveCapacity(reader.contentLength ?? piece.count) }
            gathered.append(contentsOf: piece)
        case .streaming where receivedBytes > bodyBytesMax:
            // Nothing more is read before the handler answers.
            channel?.fail(HTTPError.bodyTooLarge)
            isBodyWanted = false
        case .streaming:
            beginBodyPiece(before: before)
            if channel?.put(Array(piece)) == true { isBodyWanted = false }
        case .discarding:
            discardedBytes += piece.count
            if discardedBytes > ServerLimits.lingeringBytesMax { loop.close(connection) }
        case .held, .answering: break
        }
    }

    /// Restarts the clock for each piece of a body above the usual limit. That body is never in memory whole.
    private func beginBodyPiece(before: Int) {
        guard bodyBytesMax > loop.bodyBytesMax, before / ServerLimits.bodyPieceBytes < receivedBytes / ServerLimits.bodyPieceBytes else { return }
        connection.beginBody()
    }

    private func endBody() {
        let ended = stage
        stage = .answering
        connection.beginResponse()
        switch ended {
        case .gathering:
            let body = gathered
            gathered = []
            start(HTTPBody(body))
        case .streaming:
            channel?.finish()
            loop.runJobs { self.response != nil }
        case .held, .discarding, .answering: break
        }
    }

    /// Answers and closes, because neither the end of the body nor the next request can be found.
    private func breakBody() {
        closesAfter = true
        answerAndClose()
        channel?.fail(HTTPError(.badRequest, "A chunk is malformed."))
        loop.runJobs { self.response != nil }
    }

    /// Handles an answer that came before the end of the body. A short rest of the body is thrown away and the
    /// connection stays open. With a long rest the answer goes out first; then the connection lingers for a moment and
    /// closes.
    func answerEarly() {
        guard response != nil, stage == .held || stage == .streaming else { return }
        channel?.fail(HTTPError.bodyTooLarge)
        if let length = reader.contentLength, length - receivedBytes <= ServerLimits.discardedBodyBytesMax {
            stage = .discarding
            connection.continueClock()
        } else {
            answerAndClose()
        }
    }

    private func answerAndClose() {
        leavesBody = true
        response?.closes = true
        stage = .answering
        connection.beginResponse()
    }
}
