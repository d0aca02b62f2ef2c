import NacreCloudContainer
import NacreLocks

/// The event streams of this process: a device has one, and a second one ends the first.
final class EventStreams: Sendable {
    private struct State {
        var last: UInt64 = 0
        var current: [DeviceAddress: UInt64] = [:]
    }

    private let state = Locked(State())

    /// - Returns: the stream's number.
    func begin(_ device: DeviceAddress) -> UInt64 {
        state.withLock { state in
            state.last += 1
            state.current[device] = state.last
            return state.last
        }
    }

    func isCurrent(_ stream: UInt64, of device: DeviceAddress) -> Bool {
        state.withLock { $0.current[device] == stream }
    }

    func end(_ stream: UInt64, of device: DeviceAddress) {
        state.withLock { state in
            if state.current[device] == stream { state.current[device] = nil }
        }
    }
}
