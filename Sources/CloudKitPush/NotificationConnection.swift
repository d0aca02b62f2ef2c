#if canImport(NacreHTTPClient)
    import CloudKit
    import Foundation
    import NacreHTTPClient

    /// The container, the device and the clock that a connection needs.
    struct NotificationSource: Sendable {
        struct Time: Sendable {
            /// Waits for a number of seconds. Throws when the task is cancelled.
            var pause: @Sendable (Double) async throws -> Void
            /// A random number from 0 up to 1.
            var spread: @Sendable () -> Double

            static let system = Time(pause: { try await Task.sleep(for: .seconds($0)) }, spread: { Double.random(in: 0..<1) })
        }

        let container: CKContainer
        let clientID: String?
        let time: Time
        let onStateChange: (@Sendable (RemoteNotifications.State) -> Void)?

        /// The client that all connections share: one thread carries them.
        static let client = HTTPClient(
            .init(
                transfersPerHostMax: 256, authorityFile: ProcessInfo.processInfo.environment["CLOUDKIT_CA_FILE"].flatMap { $0.isEmpty ? nil : $0 }))
    }

    /// The stream of notifications, over as many connections as it takes. One task uses it.
    final class NotificationConnection {
        /// The longest silence of a live connection: the server sends a heartbeat every 15 seconds.
        private static let silence = Duration.seconds(45)
        private static let refusalBytes = 65_536

        private let source: NotificationSource
        private var bytes: HTTPClient.AnswerStream.AsyncIterator?
        private var reader = EventStreamReader()
        private var events: [EventStreamReader.Event] = []
        private var pause = ReconnectPause()
        /// The ID of the last event that was delivered or skipped: the next `Last-Event-ID`.
        private var lastID: String?
        private var isOver = false
        private let acknowledger: Acknowledger

        init(_ source: NotificationSource) {
            self.source = source
            acknowledger = Acknowledger(source)
        }

        deinit {
            acknowledger.cancel()
        }

        /// Returns the next notification; nil when the stream is over.
        func next(isolation actor: isolated (any Actor)?) async -> [AnyHashable: Any]? {
            while !isOver {
                if let told = nextTold() { return told }
                if Task.isCancelled {
                    end(nil)
                } else if bytes == nil {
                    await connect(isolation: actor)
                } else {
                    await read(isolation: actor)
                }
            }
            return nil
        }

        /// The next notification that has arrived. Events that are no notification of this version are skipped.
        private func nextTold() -> [AnyHashable: Any]? {
            while !events.isEmpty {
                let event = events.removeFirst()
                lastID = event.id ?? lastID
                guard event.name == "notification",
                    let object = try? JSONSerialization.jsonObject(with: Data(event.data)) as? [String: Any]
                else { continue }
                source.container.notifiedOfChange(by: object)
                return object
            }
            return nil
        }

        private func read(isolation actor: isolated (any Actor)?) async {
            // A caller that asks for the next notification has dealt with the earlier ones.
            if let id = lastID.flatMap({ Int64($0) }) { acknowledger.told(id) }
            do throws(HTTPClient.Failure) {
                guard let some = try await bytes?.next(isolation: actor) else { return await wait(because: nil, isolation: actor) }
                pause.hasHeard()
                events += reader.read(some)
                if let milliseconds = reader.retryMilliseconds { pause.setFirst(milliseconds: milliseconds) }
            } catch {
                await wait(because: error, isolation: actor)
            }
        }

        private func connect(isolation actor: isolated (any Actor)?) async {
            source.onStateChange?(.connecting)
            let request: HTTPClient.Request
            do throws(CKError) {
                request = try source.request(after: lastID, silence: Self.silence)
            } catch {
                // A missing setting or account would be missing at the next try too.
                return end(error)
            }
            do throws(HTTPClient.Failure) {
                let stream = try await NotificationSource.client.open(request)
                guard stream.head.status == 200, stream.head["content-type"]?.hasPrefix("text/event-stream") == true else {
                    return await refused(stream, isolation: actor)
                }
                source.onStateChange?(.connected)
                (reader, events) = (EventStreamReader(), [])
                bytes = stream.makeAsyncIterator()
            } catch {
                await wait(because: error, isolation: actor)
            }
        }

        /// Handles an answer that is no stream: waits if the status is temporary, ends otherwise.
        private func refused(_ stream: HTTPClient.AnswerStream, isolation actor: isolated (any Actor)?) async {
            var body: [UInt8] = []
            do throws(HTTPClient.Failure) {
                var iterator = stream.makeAsyncIterator()
                while body.count < Self.refusalBytes, let some = try await iterator.next(isolation: actor) { body += some }
            } catch {
                return await wait(because: error, isolation: actor)
            }
            let (status, retryAfter) = (stream.head.status, stream.head["retry-after"].flatMap { Double($0) } ?? 0)
            let error = source.container.eventStreamRefusal(status: status, body: body)
            switch status {
            case 408, 425, 429, 500..., 200..<300: await wait(atLeast: retryAfter, error, isolation: actor)
            default: end(error)
            }
        }

        private func wait(because failure: HTTPClient.Failure?, isolation actor: isolated (any Actor)?) async {
            if case .cancelled? = failure?.cause {
                bytes = nil
                return
            }
            await wait(atLeast: 0, failure.map { source.container.eventStreamFailure($0) }, isolation: actor)
        }

        private func wait(atLeast least: Double, _ error: CKError?, isolation actor: isolated (any Actor)?) async {
            bytes = nil
            let seconds = pause.next(atLeast: least.isFinite ? least : 0, spread: source.time.spread())
            source.onStateChange?(.waiting(seconds: seconds, because: error))
            // A task that is cancelled during the pause finds that out in `next(isolation:)`.
            try? await source.time.pause(seconds)
        }

        private func end(_ error: CKError?) {
            (isOver, bytes, events) = (true, nil, [])
            acknowledger.cancel()
            source.onStateChange?(.ended(error))
        }
    }

    extension NotificationSource {
        fileprivate func request(after lastID: String?, silence: Duration) throws(CKError) -> HTTPClient.Request {
            let request = try container.eventStreamRequest(clientID: clientID)
            var headers = request.headers.map { HTTPClient.Header($0.key, $0.value) }
            if let lastID { headers.append(HTTPClient.Header("Last-Event-ID", lastID)) }
            return HTTPClient.Request(
                request.method.rawValue, request.url.absoluteString, headers: headers, idleTimeout: silence, takesCompression: false)
        }
    }
#endif
