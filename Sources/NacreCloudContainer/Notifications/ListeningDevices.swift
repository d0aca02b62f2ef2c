package import NacreCloudStorage
import NacreLocks

/// The devices that get notifications from this process by an event stream, or by a poll of the web courier. A device
/// has one stream: a second one ends the first.
package final class ListeningDevices: Sendable {
    /// Takes what came into a device's queue after a number. False: the device is not notified, and the queue must be
    /// read.
    package typealias Ear = @Sendable (_ events: [QueuedNotification], _ before: Int64) -> Bool

    private struct State {
        var last: UInt64 = 0
        var streams: [DeviceAddress: (number: UInt64, ear: Ear)] = [:]
        var polls: [DeviceAddress: Int] = [:]
        /// The number of streams and polls of each user's devices.
        var users: [DatabaseID: Int] = [:]

        mutating func count(_ device: DeviceAddress, _ change: Int) {
            let count = users[device.database, default: 0] + change
            users[device.database] = count > 0 ? count : nil
        }
    }

    private let state = Locked(State())

    /// - Parameter ear: the stream's callback. It is called on any thread, and must return at once.
    /// - Returns: the stream's number.
    package func beginStream(of device: DeviceAddress, _ ear: @escaping Ear = { _, _ in false }) -> UInt64 {
        state.withLock { state in
            state.last += 1
            if state.streams.updateValue((state.last, ear), forKey: device) == nil { state.count(device, 1) }
            return state.last
        }
    }

    package func isCurrent(_ stream: UInt64, of device: DeviceAddress) -> Bool {
        state.withLock { $0.streams[device]?.number == stream }
    }

    package func end(_ stream: UInt64, of device: DeviceAddress) {
        state.withLock { state in
            guard state.streams[device]?.number == stream else { return }
            state.streams[device] = nil
            state.count(device, -1)
        }
    }

    /// Publishes to a device's stream the notifications that were put into its queue after a number. Call it after the
    /// commit.
    /// - Returns: false: the device has no stream, or the queue must be read.
    package func publish(_ events: [QueuedNotification], after before: Int64, to device: DeviceAddress) -> Bool {
        let ear = state.withLock { $0.streams[device]?.ear }
        return ear?(events, before) ?? false
    }

    package func hasStream(of device: DeviceAddress) -> Bool {
        state.withLock { $0.streams[device] != nil }
    }

    package func beginPoll(of device: DeviceAddress) {
        state.withLock { state in
            state.polls[device, default: 0] += 1
            state.count(device, 1)
        }
    }

    package func endPoll(of device: DeviceAddress) {
        state.withLock { state in
            let left = state.polls[device, default: 1] - 1
            state.polls[device] = left > 0 ? left : nil
            state.count(device, -1)
        }
    }

    /// Whether any device of a user listens.
    /// - Parameter devices: the database of the user's devices.
    package func contains(anyIn devices: DatabaseID) -> Bool {
        state.withLock { $0.users[devices] != nil }
    }

    package func contains(_ device: DeviceAddress) -> Bool {
        state.withLock { $0.streams[device] != nil || $0.polls[device] != nil }
    }
}

/// The address of a device's queue.
package struct DeviceAddress: Hashable, Sendable {
    /// The database of the user's devices.
    package var database: DatabaseID
    package var key: String

    package init(database: DatabaseID, key: String) {
        self.database = database
        self.key = key
    }
}
