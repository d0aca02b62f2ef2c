package import NacreCloudContainer

/// Sends messages through one push service.
package protocol PushSender: Sendable {
    /// The service's address of a device.
    associatedtype Address: Sendable

    /// Sends a message once. Never throws: failures are outcomes, and a cancelled task yields `retry`.
    func report(_ message: PushMessage, to address: Address) async -> PushReport
}

extension PushSender {
    package func send(_ message: PushMessage, to address: Address) async -> PushOutcome { await report(message, to: address).outcome }
}
