import NacreCloudServer
import NacreCloudWire

/// Something that goes wrong with a request.
///
/// What a server would say is said by the server of the cloud, as it writes errors, so an app meets the `CKError` that it would meet; what a network
/// does happens
/// between the framework and the server.
public struct TestFault: Sendable, CustomStringConvertible {
    /// Why a single record of a batch is refused. What two devices do to each other, such as a conflict, needs no fault: let another device save.
    public struct RecordFailure: Hashable, Sendable {
        fileprivate let refusal: EmulatedRefusal

        public static let quotaExceeded = RecordFailure(refusal: .quotaExceeded)
        public static let permissionFailure = RecordFailure(refusal: .permissionFailure)
        public static let serverRejectedRequest = RecordFailure(refusal: .serverRejectedRequest)
        /// - Parameter retryAfter: seconds.
        public static func requestRateLimited(retryAfter: Int) -> RecordFailure {
            RecordFailure(refusal: .requestRateLimited(retryAfter: retryAfter))
        }
        /// - Parameter retryAfter: seconds.
        public static func serviceUnavailable(retryAfter: Int) -> RecordFailure {
            RecordFailure(refusal: .serviceUnavailable(retryAfter: retryAfter))
        }
        /// - Parameter retryAfter: seconds.
        public static func zoneBusy(retryAfter: Int) -> RecordFailure { RecordFailure(refusal: .zoneBusy(retryAfter: retryAfter)) }
    }

    let fault: EmulatedFault

    public var description: String { fault.description }

    private init(_ kind: EmulatedFault.Kind, _ description: String) {
        fault = EmulatedFault(kind, description)
    }

    // MARK: The server refuses

    /// `CKError.requestRateLimited`, with the seconds after which the app may ask again.
    public static func requestRateLimited(retryAfter: Int) -> TestFault { refused(.requestRateLimited(retryAfter: retryAfter)) }

    /// `CKError.serviceUnavailable`.
    public static func serviceUnavailable(retryAfter: Int) -> TestFault { refused(.serviceUnavailable(retryAfter: retryAfter)) }

    /// `CKError.zoneBusy`.
    public static func zoneBusy(retryAfter: Int) -> TestFault { refused(.zoneBusy(retryAfter: retryAfter)) }

    /// The next records that are saved find the quota full, each with `CKError.quotaExceeded`; deletions do not. For a quota that really fills,
    /// `TestCloud.setQuota`.
    public static let quotaExceeded = TestFault(.recordsRefused(nil, EmulatedRefusal.quotaExceeded.error), "quotaExceeded")

    /// These records are refused: the app gets `partialFailure`. In a zone whose batches are atomic nothing of the batch is kept, and the others fail
    /// with
    /// `batchRequestFailed`; elsewhere the others are kept.
    ///
    /// Is for `modifyRecords`, and waits for a request that changes one of them.
    public static func records(_ names: String..., failWith failure: RecordFailure) -> TestFault {
        TestFault(.recordsRefused(Set(names), failure.refusal.error), "records \(names.joined(separator: ", ")) fail: \(failure.refusal)")
    }

    /// `CKError.changeTokenExpired`. Is for `fetchZoneChanges` and `fetchDatabaseChanges`, and waits for a request that has a token.
    public static let changeTokenExpired = TestFault(.tokenExpired, "changeTokenExpired")

    // MARK: The network fails

    /// Nothing reaches the server: `CKError.networkUnavailable`.
    public static let networkUnavailable = TestFault(.notSent, "networkUnavailable")

    /// The connection breaks while the request is under way, and the server has done nothing. The framework cannot know that, and asks again.
    public static let connectionLostBeforeCommit = TestFault(.lost(afterCommit: false), "connectionLostBeforeCommit")

    /// The server has done it, and its answer is lost. The framework asks again, and the server answers as it did: nothing is done twice.
    public static let connectionLostAfterCommit = TestFault(.lost(afterCommit: true), "connectionLostAfterCommit")

    /// The answer takes so many seconds of the cloud's clock. Longer than the operation's timeouts, it does not arrive.
    public static func latency(_ seconds: Double) -> TestFault { TestFault(.slow(seconds), "latency \(seconds)") }

    private static func refused(_ refusal: EmulatedRefusal) -> TestFault { TestFault(.refused(refusal.error), "\(refusal)") }
}
