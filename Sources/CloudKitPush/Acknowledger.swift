#if canImport(NacreHTTPClient)
    public import CloudKit
    import NacreHTTPClient
    import NacreLocks

    /// Tells the server which notifications a device has received while its stream goes on. One request covers all that
    /// came within some seconds. A failed request is tried again, and the next connection's `Last-Event-ID` repeats it.
    final class Acknowledger: Sendable {
        /// Seconds between two requests: far less than the thirty seconds that the server waits before it pushes.
        private static let restSeconds = 3.0
        /// The longest pause in seconds, after failures.
        private static let longestRestSeconds = 60.0

        private struct State {
            var told: Int64 = 0
            var acknowledged: Int64 = 0
            var work: Task<Void, Never>?
            var isOver = false
        }

        private let source: NotificationSource
        private let state = Locked(State())

        init(_ source: NotificationSource) {
            self.source = source
        }

        /// Schedules an acknowledgement and returns at once.
        ///
        /// - Parameter id: the ID of the last notification that was delivered.
        func told(_ id: Int64) {
            state.withLock { state in
                // A lower ID comes from a queue that began anew.
                guard id != state.told, !state.isOver else { return }
                state.told = id
                if state.work == nil { state.work = Task { await self.run() } }
            }
        }

        func cancel() {
            state.withLock { state in
                state.isOver = true
                state.work?.cancel()
            }
        }

        private func run() async {
            var rest = Self.restSeconds
            while hasMore() {
                do {
                    try await source.time.pause(rest)
                } catch {
                    return cancel()
                }
                let last = state.withLock { $0.told }
                if await isHeard(last) {
                    rest = Self.restSeconds
                    state.withLock { $0.acknowledged = last }
                } else {
                    rest = min(2 * rest, Self.longestRestSeconds)
                }
            }
        }

        /// Returns true if the server has taken the acknowledgement, or never will; false if it is worth another try.
        private func isHeard(_ last: Int64) async -> Bool {
            do throws(CKError) {
                let answer = try await source.send(source.container.deviceNoteRequest(heard: last, clientID: source.clientID))
                return answer.status < 500 && answer.status != 429
            } catch {
                return false
            }
        }

        /// Returns whether an acknowledgement is left to send. If none is, this task ends.
        private func hasMore() -> Bool {
            state.withLock { state in
                if state.told != state.acknowledged, !state.isOver { return true }
                state.work = nil
                return false
            }
        }
    }

    extension NotificationSource {
        private static let noteSeconds = Duration.seconds(30)

        /// Sends a request whose answer is short, with a timeout of 30 seconds.
        func send(_ request: TransportRequest) async throws(CKError) -> HTTPClient.Answer {
            let headers = request.headers.map { HTTPClient.Header($0.key, $0.value) }
            do throws(HTTPClient.Failure) {
                return try await Self.client.send(
                    HTTPClient.Request(
                        request.method.rawValue, request.url.absoluteString, headers: headers, body: .bytes(request.body),
                        totalTimeout: Self.noteSeconds))
            } catch {
                throw container.eventStreamFailure(error)
            }
        }
    }

    extension CKContainer {
        /// Tells the server what the badge of this device shows; 0 clears it. Its further notifications count from this
        /// number. Notifications that are queued already keep their numbers.
        ///
        /// CloudKit: `CKModifyBadgeOperation`, which Apple has made obsolete; an app on Apple's systems sets its badge
        /// by itself.
        /// - Parameter clientID: the same as for `RemoteNotifications`.
        /// - Throws: `unknownItem` if the device has not received notifications yet; `invalidArguments` for a number
        ///   that no badge shows.
        public func setBadgeCount(_ count: Int, clientID: String? = nil) async throws(CKError) {
            let source = NotificationSource(container: self, clientID: clientID, time: .system, onStateChange: nil)
            let answer = try await source.send(deviceNoteRequest(badge: Int64(count), clientID: clientID))
            guard answer.status == 200 else { throw eventStreamRefusal(status: answer.status, body: answer.body) }
        }
    }
#endif
