#if canImport(NacreHTTPClient)
    public import CloudKit

    /// The notifications of the user's subscriptions, as long as somebody asks for them:
    ///
    ///     for await userInfo in RemoteNotifications(for: container) {
    ///         guard let notification = CKNotification(fromRemoteNotificationDictionary: userInfo) else { continue }
    ///         …
    ///     }
    ///
    /// A notification that it has told is not pushed to the device too, where the device has registered an address for that: the server is told within some
    /// seconds what it has.
    ///
    /// Connects to the container's server, and again, with growing pauses, whenever the connection ends. A notification counts as told once the next one
    /// is asked for: what was not told comes again, with the same `notificationID`. It ends when its task is cancelled, and when the server says that
    /// coming again is of no use: `onStateChange` hears why. The connection is closed when the iterator goes.
    public struct RemoteNotifications: AsyncSequence, Sendable {
        /// What `CKNotification(fromRemoteNotificationDictionary:)` takes.
        public typealias Element = [AnyHashable: Any]
        public typealias Failure = Never

        public enum State: Sendable {
            case connecting
            case connected
            /// The connection ended, or none came about; it is tried again after so many seconds.
            case waiting(seconds: Double, because: CKError?)
            /// No more notifications come: nil, because the task was cancelled.
            case ended(CKError?)
        }

        private let source: NotificationSource

        /// - Parameters:
        ///   - clientID: names this device among those with the same account token, so that each is told. nil: it is the only one.
        ///   - onStateChange: is called in the task that asks for notifications.
        public init(
            for container: CKContainer, clientID: String? = nil, onStateChange: (@Sendable (RemoteNotifications.State) -> Void)? = nil
        ) {
            source = NotificationSource(container: container, clientID: clientID, time: .system, onStateChange: onStateChange)
        }

        /// For tests: with a clock and dice of their own.
        package init(
            for container: CKContainer, clientID: String? = nil, pause: @escaping @Sendable (Double) async throws -> Void,
            spread: @escaping @Sendable () -> Double, onStateChange: (@Sendable (RemoteNotifications.State) -> Void)? = nil
        ) {
            source = NotificationSource(
                container: container, clientID: clientID, time: NotificationSource.Time(pause: pause, spread: spread),
                onStateChange: onStateChange)
        }

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(connection: NotificationConnection(source)) }

        public struct AsyncIterator: AsyncIteratorProtocol {
            private let connection: NotificationConnection

            init(connection: NotificationConnection) {
                self.connection = connection
            }

            public mutating func next() async -> [AnyHashable: Any]? {
                await next(isolation: nil)
            }

            public mutating func next(isolation actor: isolated (any Actor)?) async -> [AnyHashable: Any]? {
                await connection.next(isolation: actor)
            }
        }
    }
#endif
