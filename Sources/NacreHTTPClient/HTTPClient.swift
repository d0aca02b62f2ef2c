/// HTTP/1.1 and HTTP/2 on libcurl. One thread carries all transfers, and starts with the first.
///
/// A transfer ends exactly once: with an answer, or with a `Failure` that says why there is none and whether the
/// request may have arrived. Redirections are answers like any other: the caller follows them, and decides which server
/// gets the request's secrets. Compressed answers are delivered decompressed. A proxy of the environment (`http_proxy`,
/// `https_proxy`, `no_proxy`) is used as curl uses it, and never for loopback.
///
/// The server may close an idle connection just when the next request is sent. If no byte of the answer has come, the
/// request is sent again over a new connection, once, if its body can be sent again.
package final class HTTPClient: Sendable {
    package struct Configuration: Sendable {
        /// The most transfers to one host and port at a time; further ones wait. Over HTTP/1.1 each has a connection of
        /// its own.
        package var transfersPerHostMax: Int
        /// The most connections kept open for the next request.
        package var idleConnectionsMax: Int
        /// A PEM file of authorities that are trusted beside the system's.
        package var authorityFile: String?
        /// The proxy, `http://host:port`; nil: the environment's. Loopback is reached without any proxy.
        package var proxy: String?
        package var clock: TransferClock

        package init(
            transfersPerHostMax: Int = 16, idleConnectionsMax: Int = 16, authorityFile: String? = nil, proxy: String? = nil,
            clock: TransferClock = .monotonic
        ) {
            self.transfersPerHostMax = transfersPerHostMax
            self.idleConnectionsMax = idleConnectionsMax
            self.authorityFile = authorityFile
            self.proxy = proxy
            self.clock = clock
        }
    }

    private let loop: TransferLoop

    package init(_ configuration: Configuration = Configuration()) {
        loop = TransferLoop(configuration)
    }

    /// Ends running transfers with `cancelled`.
    deinit {
        loop.close()
    }

    /// Sends a request and returns its whole answer, whatever its status. Cancelling the task ends the transfer at
    /// once, with `cancelled`.
    package func send(_ request: Request) async throws(Failure) -> Answer {
        let transfer = Transfer(request, loop: loop)
        let result: Result<Answer, Failure> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                transfer.delivery = .whole { continuation.resume(returning: $0) }
                loop.post(.start(transfer))
            }
        } onCancel: {
            loop.post(.cancel(transfer))
        }
        return try result.get()
    }

    /// Sends a request and returns once the head of its answer has come. The body is read from the stream. A stream
    /// that is released before its end ends the transfer.
    package func open(_ request: Request) async throws(Failure) -> AnswerStream {
        let transfer = Transfer(request, loop: loop)
        let pipe = BodyPipe()
        transfer.delivery = .stream(pipe)
        let result: Result<Head, Failure> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                pipe.awaitHead { continuation.resume(returning: $0) }
                loop.post(.start(transfer))
            }
        } onCancel: {
            loop.post(.cancel(transfer))
        }
        return AnswerStream(head: try result.get(), pipe: pipe, transfer: transfer)
    }

    // MARK: - For tests

    /// Returns the transfers and handles that the client holds now, as its thread counts them.
    package func census() async -> Census {
        await withCheckedContinuation { continuation in loop.post(.count { continuation.resume(returning: $0) }) }
    }

    /// Wakes the loop to read the clock, after a test has set it.
    package func lookAtClock() {
        loop.post(.lookAtClock)
    }
}

/// The numbers of transfers and handles that a client holds.
package struct Census: Equatable, Sendable {
    /// Transfers that libcurl carries.
    package var running: Int
    /// Transfers that wait for their turn.
    package var queued: Int
    /// Handles of libcurl that were made and not freed.
    package var handles: Int
    /// Transfers in memory.
    package var transfers: Int
}
