public import Foundation
import NacreLocks

extension CKOperation {
    /// Top-level under another name, as on Apple's platforms in Objective-C.
    public typealias Configuration = CKOperationConfiguration
}

/// How an operation treats network and time. Written `CKOperation.Configuration`. Apple: iOS 11.
///
/// Each property that was set counts as explicit, also when it was set to its default: an operation's explicit value wins over its group's,
/// and that over the default.
open class CKOperationConfiguration: NSObject, @unchecked Sendable {
    // Sendable: the only stored property is `Locked`.

    /// What was set; nil is not.
    struct Values: Sendable {
        var container: CKContainer?
        var qualityOfService: QualityOfService?
        var allowsCellularAccess: Bool?
        var isLongLived: Bool?
        var timeoutIntervalForRequest: TimeInterval?
        var timeoutIntervalForResource: TimeInterval?

        /// These values, and `other`'s where there are none.
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

    /// nil: the default container.
    open var container: CKContainer? {
        get { snapshot.container }
        set { values.withLock { $0.container = newValue } }
    }

    /// `.default`. userInitiated and userInteractive never time out as a whole; utility and background ride out network errors, and
    /// background stands back while other requests of the container are under way, for a minute at most each time. On this server: no app is in the background.
    open var qualityOfService: QualityOfService {
        get { snapshot.qualityOfService ?? .default }
        set { values.withLock { $0.qualityOfService = newValue } }
    }

    /// True. On this server: kept, and without effect, since Linux does not tell cellular networks apart.
    open var allowsCellularAccess: Bool {
        get { snapshot.allowsCellularAccess ?? true }
        set { values.withLock { $0.allowsCellularAccess = newValue } }
    }

    /// False. Whether the operation is done to its end when the process ends before: see `longLivedOperationWasPersistedBlock`. On this server it takes
    /// `nacre agent`; without one, and for operations of sharing and discovery, the operation ends with the process, and the log says so.
    open var isLongLived: Bool {
        get { snapshot.isLongLived ?? false }
        set { values.withLock { $0.isLongLived = newValue } }
    }

    /// Seconds without data after which a request is given up: 60.
    open var timeoutIntervalForRequest: TimeInterval {
        get { snapshot.timeoutIntervalForRequest ?? Self.defaultRequestTimeout }
        set { values.withLock { $0.timeoutIntervalForRequest = newValue } }
    }

    /// Seconds for the whole, repetitions included: 7 days, or -1 (none) for userInitiated and userInteractive.
    open var timeoutIntervalForResource: TimeInterval {
        get { snapshot.timeoutIntervalForResource ?? Self.defaultResourceTimeout(for: qualityOfService) ?? -1 }
        set { values.withLock { $0.timeoutIntervalForResource = newValue } }
    }
}

extension CKOperationConfiguration {
    /// Source: CloudKit, `timeoutIntervalForRequest`.
    static let defaultRequestTimeout: TimeInterval = 60
    /// Source: CloudKit, `timeoutIntervalForResource`: 7 days.
    static let defaultResourceTimeout: TimeInterval = 7 * 24 * 60 * 60

    /// nil: none.
    static func defaultResourceTimeout(for quality: QualityOfService) -> TimeInterval? {
        quality == .userInitiated || quality == .userInteractive ? nil : defaultResourceTimeout
    }
}

extension Patience {
    /// - Parameter quality: where the values set none.
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
