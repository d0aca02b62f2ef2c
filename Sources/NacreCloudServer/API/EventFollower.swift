import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTasks
import NacreCloudWire
import NacreHTTPServer

/// The event stream of one device. It keeps only what it needs of its request, in its own properties. Its task's frames
/// stay small, because thousands of streams hold their deepest frames while they wait.
final class EventFollower: Sendable {
    private let address: DeviceAddress
    /// Number of the last event that the device has.
    private let start: Int64
    private let cloud: Cloud
    private let hub: ChangeHub
    /// The name of the user whose stream it is.
    private let holder: String
    private let ledger: RequestLedger
    private let requireCaller: @Sendable () async throws -> Void

    /// Milliseconds after which a client connects again.
    private static let retryMilliseconds = 1000
    /// Events that are read and sent together. On this server: 80 KB.
    private static let eventsAtATime = 20

    init(_ address: DeviceAddress, after start: Int64, _ cloud: Cloud, _ hub: ChangeHub, _ call: API.Call) {
        (self.address, self.start, self.cloud, self.hub) = (address, start, cloud, hub)
        (holder, ledger, requireCaller) = (call.holder.name, call.request.ledger, call.requireCaller)
    }

    @Sendable func run(_ writer: HTTPStreamWriter) async throws {
        let pen = EventPen(writer, after: start)
        let stream = cloud.listening.beginStream(of: address, pen.hear)
        defer { cloud.listening.end(stream, of: address) }
        // The stream that this one replaces is waiting, and has to wake up to end.
        hub.signal(address.database)
        try await Turn.$current.withValue(Turn(asker: holder)) { try await follow(pen, stream, writer) }
    }

    /// Sends events until the stream has to end: it is too old, another stream follows the device, its user is signed
    /// out, or the server ends.
    private func follow(_ pen: EventPen, _ stream: UInt64, _ writer: HTTPStreamWriter) async throws {
        try await writer.write(Array("retry: \(Self.retryMilliseconds)\n\n".utf8))
        let end = cloud.now + Limits.eventStreamSeconds
        // The first read looks at the whole queue, because some events may have waited too long.
        var isFirst = true
        while cloud.now < end, !Task.isCancelled, !hub.isClosed {
            let found = try await hub.read(address.database, waiting: Limits.eventHeartbeatSeconds, by: holder, ledger: ledger) {
                (found: [QueuedNotification]) in
                !found.isEmpty || !isCurrent(stream)
            } _: {
                defer { isFirst = false }
                return try await read(pen, isFirst: isFirst)
            }
            guard isCurrent(stream), await isStillSignedIn() else { return }
            if found.isEmpty { try await writer.write(Array(": heartbeat\n\n".utf8)) } else { try await pen.write(found) }
        }
    }

    private func read(_ pen: EventPen, isFirst: Bool) async throws -> [QueuedNotification] {
        let last = pen.beginReading()
        let found =
            isFirst
            ? try await cloud.notifications(for: address, after: last, limit: Self.eventsAtATime)
            : try await cloud.newNotifications(for: address, after: last, limit: Self.eventsAtATime)
        if found.isEmpty { pen.endReading() }
        return found
    }

    private func isCurrent(_ stream: UInt64) -> Bool { cloud.listening.isCurrent(stream, of: address) }

    private func isStillSignedIn() async -> Bool {
        do {
            try await requireCaller()
            return true
        } catch {
            return false
        }
    }
}
