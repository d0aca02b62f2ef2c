public import Foundation
import NacreLocks

extension CKFetchRecordZoneChangesOperation {
    /// Top-level under another name, because `NSKeyedArchiver` on Linux aborts on nested classes.
    public typealias ZoneConfiguration = CKFetchRecordZoneChangesConfiguration
    /// Top-level under another name, because `NSKeyedArchiver` on Linux aborts on nested classes.
    public typealias ZoneOptions = CKFetchRecordZoneChangesOptions
}

/// The choice of a zone's changes to fetch.
private struct FeedChoice: Sendable {
    var previousServerChangeToken: CKServerChangeToken?
    var resultsLimit = 0
    var desiredKeys: [CKRecord.FieldKey]?

    init() {}

    init(_ coder: NSCoder) {
        if coder.containsValue(forKey: "previousServerChangeToken") {
            previousServerChangeToken = coder.decodeObject(of: CKServerChangeToken.self, forKey: "previousServerChangeToken")
        }
        resultsLimit = Int(coder.decodeInt64(forKey: "resultsLimit"))
        if coder.containsValue(forKey: "desiredKeys") {
            let keys = coder.decodeObject(of: [NSArray.self, NSString.self], forKey: "desiredKeys") as? NSArray
            desiredKeys = keys?.compactMap { $0 as? String }
        }
    }

    func encode(with coder: NSCoder) {
        if let previousServerChangeToken { coder.encode(previousServerChangeToken, forKey: "previousServerChangeToken") }
        coder.encode(Int64(resultsLimit), forKey: "resultsLimit")
        if let desiredKeys { coder.encode(NSArray(array: desiredKeys.map { NSString(string: $0) }), forKey: "desiredKeys") }
    }
}

/// The choice of a zone's changes to fetch. Written `CKFetchRecordZoneChangesOperation.ZoneConfiguration`. Apple: iOS
/// 12.
open class CKFetchRecordZoneChangesConfiguration: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: the only stored property is `Locked`.

    private let choice: Locked<FeedChoice>

    public override init() {
        choice = Locked(FeedChoice())
        super.init()
    }

    /// Makes a configuration; nil values stand for the properties' defaults.
    public convenience init(
        previousServerChangeToken: CKServerChangeToken? = nil, resultsLimit: Int? = nil, desiredKeys: [CKRecord.FieldKey]? = nil
    ) {
        self.init()
        self.previousServerChangeToken = previousServerChangeToken
        self.resultsLimit = resultsLimit ?? 0
        self.desiredKeys = desiredKeys
    }

    /// The token to start from; nil for the beginning.
    open var previousServerChangeToken: CKServerChangeToken? {
        get { choice.withLock { $0.previousServerChangeToken } }
        set { choice.withLock { $0.previousServerChangeToken = newValue } }
    }

    /// The most changes of a batch; 0 lets the server decide.
    open var resultsLimit: Int {
        get { choice.withLock { $0.resultsLimit } }
        set { choice.withLock { $0.resultsLimit = newValue } }
    }

    /// The fields to fetch; nil for all fields, empty for system fields alone.
    open var desiredKeys: [CKRecord.FieldKey]? {
        get { choice.withLock { $0.desiredKeys } }
        set { choice.withLock { $0.desiredKeys = newValue } }
    }

    open func copy(with zone: NSZone? = nil) -> Any {
        CKFetchRecordZoneChangesConfiguration(
            previousServerChangeToken: previousServerChangeToken, resultsLimit: resultsLimit, desiredKeys: desiredKeys)
    }

    /// Always true: archives are decoded by class.
    public static var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        choice = Locked(FeedChoice(coder))
        super.init()
    }

    open func encode(with coder: NSCoder) {
        choice.withLock { $0 }.encode(with: coder)
    }
}

/// The old form of `ZoneConfiguration`. Written `CKFetchRecordZoneChangesOperation.ZoneOptions`. Apple: iOS 10,
/// deprecated in iOS 12.
open class CKFetchRecordZoneChangesOptions: NSObject, NSSecureCoding, NSCopying {
    private var choice: FeedChoice

    public override init() {
        choice = FeedChoice()
        super.init()
    }

    /// The token to start from; nil for the beginning.
    open var previousServerChangeToken: CKServerChangeToken? {
        get { choice.previousServerChangeToken }
        set { choice.previousServerChangeToken = newValue }
    }

    /// The most changes of a batch; 0 lets the server decide.
    open var resultsLimit: Int {
        get { choice.resultsLimit }
        set { choice.resultsLimit = newValue }
    }

    /// The fields to fetch; nil for all, empty for none.
    open var desiredKeys: [String]? {
        get { choice.desiredKeys }
        set { choice.desiredKeys = newValue }
    }

    open func copy(with zone: NSZone? = nil) -> Any {
        let copy = CKFetchRecordZoneChangesOptions()
        copy.choice = choice
        return copy
    }

    /// Always true: archives are decoded by class.
    public static var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        choice = FeedChoice(coder)
        super.init()
    }

    open func encode(with coder: NSCoder) {
        choice.encode(with: coder)
    }
}
