import Foundation
import NacreCloudWire

#if canImport(NacreHTTPClient)
    package import NacreHTTPClient
#endif

// What `CloudKitPush` needs of a container.

extension CKContainer {
    /// A request for the stream of this user's notifications: `{server}/device/1/{container}/{environment}/notifications`, which is ours; see
    /// "Notifications" in `docs/wire.md`.
    ///
    /// - Parameter clientID: divides a sign-in into devices; nil: it is one.
    /// - Throws: `badContainer` or `notAuthenticated` where a setting or the account is missing.
    package func eventStreamRequest(clientID: String?) throws(CKError) -> TransportRequest {
        try line.address().eventStreamRequest(clientID: clientID)
    }

    /// A request that says which notifications the device has, or what its badge shows.
    ///
    /// - Parameters:
    ///   - heard: the number of the last event; nil: nothing is said of it.
    ///   - badge: likewise.
    ///   - clientID: as of the stream.
    /// - Throws: as `eventStreamRequest`.
    package func deviceNoteRequest(heard: Int64? = nil, badge: Int64? = nil, clientID: String?) throws(CKError) -> TransportRequest {
        try line.address().deviceNoteRequest(DeviceNoteRequest(heard: heard, badge: badge, clientID: clientID).json())
    }

    /// The error for an answer that is no stream.
    package func eventStreamRefusal(status: Int, body: [UInt8]) -> CKError {
        guard let error = (try? ErrorResponse(json: body))?.error else { return .unreadable(status: status, retryAfter: nil) }
        let ckError = CKError(error)
        if let settings = try? line.settings() { line.accountWatch.heard(ckError, with: settings) }
        return ckError
    }

    #if canImport(NacreHTTPClient)
        /// The error for a stream that ended, or did not begin.
        package func eventStreamFailure(_ failure: HTTPClient.Failure) -> CKError {
            CKError(TransportFailure(failure))
        }
    #endif
}
