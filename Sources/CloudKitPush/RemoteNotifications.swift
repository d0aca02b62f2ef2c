#if canImport(NacreHTTPClient)
    public import CloudKit

    /// The notifications of the user's subscriptions, delivered as the app asks for them:
    ///
    /// ```swift
    /// for await userInfo in RemoteNotifications(for: container) {
    ///     guard let notification = CKNotification(fromRemoteNotificationDictionary: userInfo) else { continue }
    ///     …
    /// }
    /// ```
    ///
    /// The sequence connects to the container's server, and reconnects with growing pauses whenever the connection
    /// ends. A notification counts as delivered once the next one is asked for. Notifications that were not delivered
    /// come again, with the same `notificationID`.
    ///
    /// A delivered notification is not also pushed to an address of the device. The server learns of the delivery
    /// within some seconds.
    ///
    /// The sequence ends when its task is cancelled, and when the server says that reconnecting is of no use.
    /// `onStateChange` gets the reason. The connection is closed when the iterator is released.
    public struct RemoteNotifications: AsyncSequence, Sendable {
        /// The dictionary that `CKNotification(fromRemoteNotificationDictionary:)` takes.
        public typealias Element = [AnyHashable: Any]
        public typealias Failure = Never

        public enum State: Sendable {
            case connecting
            case connected
            /// The connection ended or could not be made. The next try comes after that many seconds.
            case waiting(seconds: Double, because: CKError?)
            /// No more notifications come. The error is nil if the task was cancelled.
            case ended(CKError?)
        }

        private let source: NotificationSource

        /// Makes a sequence that connects when its first notification is asked for.
        ///
        /// - Parameters:
        ///   - clientID: the name of this device among those with the same account token; each name has notifications
        ///     of its own. nil if it is the only device.
        ///   - onStateChange: called in the task that asks for notifications.
        public init(
            for container: CKContainer, clientID: String? = nil, onStateChange: (@Sendable (RemoteNotifications.State) -> Void)? = nil
        ) {
            source = NotificationSource(container: container, clientID: clientID, time: .system, onStateChange: onStateChange)
        }

        /// Makes a sequence with the clock and the randomness of a test.
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
