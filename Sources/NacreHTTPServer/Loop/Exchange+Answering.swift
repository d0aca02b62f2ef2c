import NacreTelemetry

extension Exchange {
    /// Sends as much of the response as the socket takes.
    func answer() -> Step {
        if sender == nil {
            guard let response else { return .waits }
            beginSending(response)
        }
        guard let before = sender?.sentBytes, let progress = sender?.send(to: connection.socket) else { return .waits }
        loop.metrics.sent.add(UInt64((sender?.sentBytes ?? before) - before))
        isStarved = false
        if countsAnswer { ledger.countAnswer(sender?.waitingBytes ?? 0) }
        switch progress {
        case .done: return finish()
        case .pausing:
            connection.beginResponse()
            return .pauses
        case .full:
            if let sender { connection.awaitReader(sender.sentBytes, hasPieces: sender.hasPieces) }
            return .waits
        case .starved:
            isStarved = true
            connection.beginResponse()
            return .waits
        case .failed:
            loop.close(connection)
            return .waits
        }
    }

    private func beginSending(_ prepared: PreparedResponse) {
        var framing = ResponseHead.Framing.none
        var body = AnswerSender.Body.none
        /// The body that goes out with the head.
        var short: [UInt8] = []
        switch prepared.body {
        case .none: if prepared.status.mayHaveBody { framing = .length(0) }
        case .bytes(let bytes):
            framing = .length(UInt64(bytes.count))
            if bytes.count > ServerLimits.answerPieceBytes { body = .bytes(UnsentAnswer(bytes)) } else { short = bytes }
        case .file(let file, let offset, let length):
            framing = .length(length)
            if length > 0 { body = .file(file, offset: offset, left: length) }
        case .content(_, let range):
            framing = .length(UInt64(range.count))
            if let writer, !range.isEmpty { body = .stream(writer, framing) }
        case .stream:
            // Without chunks the end of the connection ends the body.
            if reader.isNewest, !isHead { framing = .chunked } else { response?.closes = true }
            if let writer { body = .stream(writer, framing) }
        }
        // Release this copy of the body: a slow client should not make the server keep two.
        response?.body = .none
        let persistence: ResponseHead.Persistence = response?.closes == true ? .closes : reader.isNewest ? .usual : .isKept
        guard var text = ResponseHead.bytes(of: prepared, framing, persistence, date: loop.date()) else { return beginSendingFailure() }
        guard !isHead, prepared.status.mayHaveBody else {
            sender = AnswerSender(text, .none)
            return
        }
        text.append(contentsOf: short)
        if case .bytes = body { countsAnswer = true }
        sender = AnswerSender(text, body)
    }

    /// Begins to send a 500 in place of a response whose head cannot be written.
    private func beginSendingFailure() {
        loop.logger.log(.error, "response header refused", [.method: .string(head.method.rawValue)])
        writer?.abandon()
        let failure = PreparedResponse(status: .internalServerError, headers: [:], body: .none, closes: true)
        response = failure
        sender = AnswerSender(ResponseHead.bytes(of: failure, .length(0), .closes, date: loop.date()) ?? [], .none)
    }
}
