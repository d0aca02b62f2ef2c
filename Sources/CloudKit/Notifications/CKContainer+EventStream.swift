import Foundation
import NacreCloudWire

#if canImport(NacreHTTPClient)
    package import NacreHTTPClient
#endif

// The requests and errors of a container that `CloudKitPush` uses.

extension CKContainer {
    /// Makes a request for the stream of this user's notifications:
    /// `{server}/device/1/{container}/{environment}/notifications`, an addition of this server; see "Notifications" in
    /// `docs/wire.md`.
    ///
    /// - Parameter clientID: the name of this device, if a sign-in has several; nil if it has one.
    /// - Throws: `badContainer` or `notAuthenticated` if a setting or the account is missing.
    package func eventStreamRequest(clientID: String?) throws(CKError) -> TransportRequest {
        try line.address().eventStreamRequest(clientID: clientID)
    }

    /// Makes a request that tells the server which notifications the device has, or what its badge shows.
    ///
    /// - Parameters:
    ///   - heard: the number of the last event; nil to omit it.
    ///   - badge: the number of the badge; nil to omit it.
    ///   - clientID: the same as for the stream.
    /// - Throws: the same as `eventStreamRequest`.
    package func deviceNoteRequest(heard: Int64? = nil, badge: Int64? = nil, clientID: String?) throws(CKError) -> TransportRequest {
        try line.address().deviceNoteRequest(DeviceNoteRequest(heard: heard, badge: badge, clientID: clientID).json())
    }

    /// Returns the error for an answer that is not a stream.
    package func eventStreamRefusal(status: Int, body: [UInt8]) -> CKError {
        guard let error = (try? ErrorResponse(json: body))?.error else { return .unreadable(status: status, retryAfter: nil) }
        let ckError = CKError(error)
        if let settings = try? line.settings() { line.accountWatch.heard(ckError, with: settings) }
        return ckError
    }

    #if canImport(NacreHTTPClient)
        /// Returns the error for a stream that ended or did not begin.
        package func eventStreamFailure(_ failure: HTTPClient.Failure) -> CKError {
            CKError(TransportFailure(failure))
        }
    #endif
}
