import NacreCloudServer
import NacreCloudWire

/// A failure that a request meets.
///
/// The cloud's own server writes the errors of a server, so an app gets the same `CKError` as in production. Network
/// failures happen between the framework and the server.
public struct TestFault: Sendable, CustomStringConvertible {
    /// The reason why a single record of a batch is refused. A conflict between two devices needs no fault: save from
    /// another device.
    public struct RecordFailure: Hashable, Sendable {
        fileprivate let refusal: EmulatedRefusal

        public static let quotaExceeded = RecordFailure(refusal: .quotaExceeded)
        public static let permissionFailure = RecordFailure(refusal: .permissionFailure)
        public static let serverRejectedRequest = RecordFailure(refusal: .serverRejectedRequest)
        /// Refuses the record with `CKError.requestRateLimited`.
        ///
        /// - Parameter retryAfter: seconds.
        public static func requestRateLimited(retryAfter: Int) -> RecordFailure {
            RecordFailure(refusal: .requestRateLimited(retryAfter: retryAfter))
        }
        /// Refuses the record with `CKError.serviceUnavailable`.
        ///
        /// - Parameter retryAfter: seconds.
        public static func serviceUnavailable(retryAfter: Int) -> RecordFailure {
            RecordFailure(refusal: .serviceUnavailable(retryAfter: retryAfter))
        }
        /// Refuses the record with `CKError.zoneBusy`.
        ///
        /// - Parameter retryAfter: seconds.
        public static func zoneBusy(retryAfter: Int) -> RecordFailure { RecordFailure(refusal: .zoneBusy(retryAfter: retryAfter)) }
    }

    let fault: EmulatedFault

    public var description: String { fault.description }

    private init(_ kind: EmulatedFault.Kind, _ description: String) {
        fault = EmulatedFault(kind, description)
    }

    // MARK: The server refuses

    /// Refuses the request with `CKError.requestRateLimited`. The app may ask again after `retryAfter` seconds.
    public static func requestRateLimited(retryAfter: Int) -> TestFault { refused(.requestRateLimited(retryAfter: retryAfter)) }

    /// Refuses the request with `CKError.serviceUnavailable`. The app may ask again after `retryAfter` seconds.
    public static func serviceUnavailable(retryAfter: Int) -> TestFault { refused(.serviceUnavailable(retryAfter: retryAfter)) }

    /// Refuses the request with `CKError.zoneBusy`. The app may ask again after `retryAfter` seconds.
    public static func zoneBusy(retryAfter: Int) -> TestFault { refused(.zoneBusy(retryAfter: retryAfter)) }

    /// Refuses each saved record of the request with `CKError.quotaExceeded`; deletions are not affected. For a quota
    /// that really fills, use `TestCloud.setQuota`.
    public static let quotaExceeded = TestFault(.recordsRefused(nil, EmulatedRefusal.quotaExceeded.error), "quotaExceeded")

    /// Refuses the records of these names: the app gets `partialFailure`. In a zone with atomic batches the whole batch
    /// is dropped, and its other records fail with `batchRequestFailed`. In other zones the other records are kept.
    ///
    /// The fault is for `modifyRecords`, and waits for a request that changes one of the records.
    public static func records(_ names: String..., failWith failure: RecordFailure) -> TestFault {
        TestFault(.recordsRefused(Set(names), failure.refusal.error), "records \(names.joined(separator: ", ")) fail: \(failure.refusal)")
    }

    /// Fails with `CKError.changeTokenExpired`. The fault is for `fetchZoneChanges` and `fetchDatabaseChanges`, and
    /// waits for a request that has a token.
    public static let changeTokenExpired = TestFault(.tokenExpired, "changeTokenExpired")

    // MARK: The network fails

    /// Fails with `CKError.networkUnavailable`: nothing reaches the server.
    public static let networkUnavailable = TestFault(.notSent, "networkUnavailable")

    /// Breaks the connection before the server has done anything. The framework cannot know that, and asks again.
    public static let connectionLostBeforeCommit = TestFault(.lost(afterCommit: false), "connectionLostBeforeCommit")

    /// Loses the answer after the server has done the request. The framework asks again, and the server repeats its
    /// answer: nothing is done twice.
    public static let connectionLostAfterCommit = TestFault(.lost(afterCommit: true), "connectionLostAfterCommit")

    /// Delays the answer by that many seconds of the cloud's clock. An answer that takes longer than the operation's
    /// timeouts does not arrive.
    public static func latency(_ seconds: Double) -> TestFault { TestFault(.slow(seconds), "latency \(seconds)") }

    private static func refused(_ refusal: EmulatedRefusal) -> TestFault { TestFault(.refused(refusal.error), "\(refusal)") }
}
