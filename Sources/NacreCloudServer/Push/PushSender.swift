package import NacreCloudContainer

/// Hands messages to one service that knows the way to devices.
package protocol PushSender: Sendable {
    /// What the service knows a device by.
    associatedtype Address: Sendable

    /// Sends a message once. Never throws: what went wrong is an outcome, and so is a cancelled task (`retry`).
    func report(_ message: PushMessage, to address: Address) async -> PushReport
}

extension PushSender {
    package func send(_ message: PushMessage, to address: Address) async -> PushOutcome { await report(message, to: address).outcome }
}
