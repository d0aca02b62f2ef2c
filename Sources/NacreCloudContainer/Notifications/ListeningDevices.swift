import NacreLocks

/// The devices that hear of notifications by themselves, from this process: by an event stream, of which a device has one and a second one ends the first, or
/// by a poll of the web courier.
package final class ListeningDevices: Sendable {
    private struct State {
        var last: UInt64 = 0
        var streams: [DeviceAddress: UInt64] = [:]
        var polls: [DeviceAddress: Int] = [:]
    }

    private let state = Locked(State())

    /// - Returns: the stream's number.
    package func beginStream(of device: DeviceAddress) -> UInt64 {
        state.withLock { state in
            state.last += 1
            state.streams[device] = state.last
            return state.last
        }
    }

    package func isCurrent(_ stream: UInt64, of device: DeviceAddress) -> Bool {
        state.withLock { $0.streams[device] == stream }
    }

    package func end(_ stream: UInt64, of device: DeviceAddress) {
        state.withLock { state in
            if state.streams[device] == stream { state.streams[device] = nil }
        }
    }

    package func hasStream(of device: DeviceAddress) -> Bool {
        state.withLock { $0.streams[device] != nil }
    }

    package func beginPoll(of device: DeviceAddress) {
        state.withLock { $0.polls[device, default: 0] += 1 }
    }

    package func endPoll(of device: DeviceAddress) {
        state.withLock { state in
            let left = state.polls[device, default: 1] - 1
            state.polls[device] = left > 0 ? left : nil
        }
    }

    func contains(_ device: DeviceAddress) -> Bool {
        state.withLock { $0.streams[device] != nil || $0.polls[device] != nil }
    }
}
