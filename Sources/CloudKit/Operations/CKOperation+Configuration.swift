public import Foundation
import NacreLocks

extension CKOperation {
    /// Top-level under another name, as on Apple's platforms in Objective-C.
    public typealias Configuration = CKOperationConfiguration
}

/// The network and timeout settings of an operation. Written `CKOperation.Configuration`. Apple: iOS 11.
///
/// A property that was set is explicit, even if it was set to its default. An operation's explicit value takes
/// precedence over its group's, which takes precedence over the default.
open class CKOperationConfiguration: NSObject, @unchecked Sendable {
    // Sendable: the only stored property is `Locked`.

    /// The explicit values; nil if not set.
    struct Values: Sendable {
        var container: CKContainer?
        var qualityOfService: QualityOfService?
        var allowsCellularAccess: Bool?
        var isLongLived: Bool?
        var timeoutIntervalForRequest: TimeInterval?
        var timeoutIntervalForResource: TimeInterval?

        /// Returns these values, with those of `other` where nil.
        func over(_ other: Values?) -> Values {
            guard let other else { return self }
            return Values(
                container: container ?? other.container, qualityOfService: qualityOfService ?? other.qualityOfService,
                allowsCellularAccess: allowsCellularAccess ?? other.allowsCellularAccess, isLongLived: isLongLived ?? other.isLongLived,
                timeoutIntervalForRequest: timeoutIntervalForRequest ?? other.timeoutIntervalForRequest,
                timeoutIntervalForResource: timeoutIntervalForResource ?? other.timeoutIntervalForResource)
        }
    }

    private let values: Locked<Values>

    init(values: Values) {
        self.values = Locked(values)
        super.init()
    }

    public override init() {
        values = Locked(Values())
        super.init()
    }

    var snapshot: Values { values.withLock { $0 } }

    func copied() -> CKOperationConfiguration { CKOperationConfiguration(values: snapshot) }

    /// The container; nil for the default container.
    open var container: CKContainer? {
        get { snapshot.container }
        set { values.withLock { $0.container = newValue } }
    }

    /// The quality of service; `.default` by default. userInitiated and userInteractive never time out as a whole.
    /// utility and background retry network errors. background waits while other requests of the container are under
    /// way, each time for a minute at most. On this server: no app is in the background.
    open var qualityOfService: QualityOfService {
        get { snapshot.qualityOfService ?? .default }
        set { values.withLock { $0.qualityOfService = newValue } }
    }

    /// Whether cellular networks may be used; true by default. On this server: without effect, since Linux does not
    /// distinguish cellular networks.
    open var allowsCellularAccess: Bool {
        get { snapshot.allowsCellularAccess ?? true }
        set { values.withLock { $0.allowsCellularAccess = newValue } }
    }

    /// Whether the operation is finished even if the process ends before; false by default. See
    /// `longLivedOperationWasPersistedBlock`. On this server it needs `nacre agent`. Without one, and for operations of
    /// sharing and discovery, the operation ends with the process, and the log says so.
    open var isLongLived: Bool {
        get { snapshot.isLongLived ?? false }
        set { values.withLock { $0.isLongLived = newValue } }
    }

    /// Seconds without data after which a request fails; 60 by default.
    open var timeoutIntervalForRequest: TimeInterval {
        get { snapshot.timeoutIntervalForRequest ?? Self.defaultRequestTimeout }
        set { values.withLock { $0.timeoutIntervalForRequest = newValue } }
    }

    /// Seconds for the whole operation, retries included; 7 days by default, or -1 (none) for userInitiated and
    /// userInteractive.
    open var timeoutIntervalForResource: TimeInterval {
        get { snapshot.timeoutIntervalForResource ?? Self.defaultResourceTimeout(for: qualityOfService) ?? -1 }
        set { values.withLock { $0.timeoutIntervalForResource = newValue } }
    }
}

extension CKOperationConfiguration {
    /// Seconds of the request timeout. Source: CloudKit, `timeoutIntervalForRequest`.
    static let defaultRequestTimeout: TimeInterval = 60
    /// Seconds of the timeout of the whole. Source: CloudKit, `timeoutIntervalForResource`: 7 days.
    static let defaultResourceTimeout: TimeInterval = 7 * 24 * 60 * 60

    /// The default for a quality of service; nil for no limit.
    static func defaultResourceTimeout(for quality: QualityOfService) -> TimeInterval? {
        quality == .userInitiated || quality == .userInteractive ? nil : defaultResourceTimeout
    }
}

extension Patience {
    /// - Parameter quality: the quality of service if the values set none.
    init(_ values: CKOperationConfiguration.Values, quality: QualityOfService) {
        let quality = values.qualityOfService ?? quality
        let request = values.timeoutIntervalForRequest ?? CKOperationConfiguration.defaultRequestTimeout
        let resource = values.timeoutIntervalForResource ?? CKOperationConfiguration.defaultResourceTimeout(for: quality)
        self.init(
            requestTimeout: request > 0 ? request : CKOperationConfiguration.defaultRequestTimeout,
            resourceTimeout: resource.flatMap { $0 > 0 ? $0 : nil }, retriesNetworkErrors: quality == .utility || quality == .background,
            isDiscretionary: quality == .background)
    }
}
