public import Foundation
import NacreCloudWire
import NacreLocks

extension CKSubscription {
    /// Top-level under another name, because `NSKeyedArchiver` on Linux aborts on nested classes.
    public typealias NotificationInfo = CKNotificationInfo
}

/// The visible parts of a subscription's notifications. With no value set, notifications wake no app. With only
/// `shouldSendContentAvailable` they wake the app in the background. With any other value they are shown.
///
/// Written `CKSubscription.NotificationInfo`. Compares by identity. Apple: iOS 8.
open class CKNotificationInfo: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: all state is in `Locked`.

    private let values: Locked<NotificationInfo>

    /// The values in their wire form.
    var wire: NotificationInfo { values.withLock { $0 } }

    init(wire: NotificationInfo) {
        values = Locked(wire)
        super.init()
    }

    public override init() {
        values = Locked(NotificationInfo())
        super.init()
    }

    /// Makes an object from the values to show.
    public convenience init(
        alertBody: String? = nil, alertLocalizationKey: String? = nil, alertLocalizationArgs: [CKRecord.FieldKey] = [], title: String? = nil,
        titleLocalizationKey: String? = nil, titleLocalizationArgs: [CKRecord.FieldKey] = [], subtitle: String? = nil,
        subtitleLocalizationKey: String? = nil, subtitleLocalizationArgs: [CKRecord.FieldKey] = [], alertActionLocalizationKey: String? = nil,
        alertLaunchImage: String? = nil, soundName: String? = nil, desiredKeys: [CKRecord.FieldKey] = [], shouldBadge: Bool = false,
        shouldSendContentAvailable: Bool = false, shouldSendMutableContent: Bool = false, category: String? = nil, collapseIDKey: String? = nil
    ) {
        var wire = NotificationInfo()
        wire.alertBody = alertBody
        wire.alertLocalizationKey = alertLocalizationKey
        wire.alertLocalizationArgs = alertLocalizationArgs
        wire.title = title
        wire.titleLocalizationKey = titleLocalizationKey
        wire.titleLocalizationArgs = titleLocalizationArgs
        wire.subtitle = subtitle
        wire.subtitleLocalizationKey = subtitleLocalizationKey
        wire.subtitleLocalizationArgs = subtitleLocalizationArgs
        wire.alertActionLocalizationKey = alertActionLocalizationKey
        wire.alertLaunchImage = alertLaunchImage
        wire.soundName = soundName
        wire.additionalFields = desiredKeys
        wire.shouldBadge = shouldBadge
        wire.shouldSendContentAvailable = shouldSendContentAvailable
        wire.shouldSendMutableContent = shouldSendMutableContent
        wire.category = category
        wire.collapseIDKey = collapseIDKey
        self.init(wire: wire)
    }

    open func copy(with zone: NSZone? = nil) -> Any { CKNotificationInfo(wire: wire) }

    /// The text of the alert.
    open var alertBody: String? {
        get { values.withLock { $0.alertBody } }
        set { values.withLock { $0.alertBody = newValue } }
    }

    /// The key of a localized text of the app, shown instead of `alertBody`.
    open var alertLocalizationKey: String? {
        get { values.withLock { $0.alertLocalizationKey } }
        set { values.withLock { $0.alertLocalizationKey = newValue } }
    }

    /// The record's fields whose values are the arguments of the localized text.
    open var alertLocalizationArgs: [CKRecord.FieldKey]? {
        get { values.withLock { $0.alertLocalizationArgs } }
        set { values.withLock { $0.alertLocalizationArgs = newValue } }
    }

    /// The title of the alert.
    open var title: String? {
        get { values.withLock { $0.title } }
        set { values.withLock { $0.title = newValue } }
    }

    /// The key of the app's localized title, shown instead of `title`.
    open var titleLocalizationKey: String? {
        get { values.withLock { $0.titleLocalizationKey } }
        set { values.withLock { $0.titleLocalizationKey = newValue } }
    }

    /// The fields whose values are the arguments of the localized title.
    open var titleLocalizationArgs: [CKRecord.FieldKey]? {
        get { values.withLock { $0.titleLocalizationArgs } }
        set { values.withLock { $0.titleLocalizationArgs = newValue } }
    }

    /// The second line of the alert.
    open var subtitle: String? {
        get { values.withLock { $0.subtitle } }
        set { values.withLock { $0.subtitle = newValue } }
    }

    /// The key of the app's localized second line, shown instead of `subtitle`.
    open var subtitleLocalizationKey: String? {
        get { values.withLock { $0.subtitleLocalizationKey } }
        set { values.withLock { $0.subtitleLocalizationKey = newValue } }
    }

    /// The fields whose values are the arguments of the localized second line.
    open var subtitleLocalizationArgs: [CKRecord.FieldKey]? {
        get { values.withLock { $0.subtitleLocalizationArgs } }
        set { values.withLock { $0.subtitleLocalizationArgs = newValue } }
    }

    /// The key of a localized text of the app for the button that opens it.
    open var alertActionLocalizationKey: String? {
        get { values.withLock { $0.alertActionLocalizationKey } }
        set { values.withLock { $0.alertActionLocalizationKey = newValue } }
    }

    /// An image of the app that is shown while it starts.
    open var alertLaunchImage: String? {
        get { values.withLock { $0.alertLaunchImage } }
        set { values.withLock { $0.alertLaunchImage = newValue } }
    }

    /// The name of the app's sound, or `default`.
    open var soundName: String? {
        get { values.withLock { $0.soundName } }
        set { values.withLock { $0.soundName = newValue } }
    }

    /// The fields whose values the notification carries, three at most: strings, numbers, dates, locations and
    /// references.
    open var desiredKeys: [CKRecord.FieldKey]? {
        get { values.withLock { $0.additionalFields } }
        set { values.withLock { $0.additionalFields = newValue } }
    }

    /// Whether notifications increment the app's badge.
    open var shouldBadge: Bool {
        get { values.withLock { $0.shouldBadge } }
        set { values.withLock { $0.shouldBadge = newValue } }
    }

    /// Whether notifications wake the app in the background.
    open var shouldSendContentAvailable: Bool {
        get { values.withLock { $0.shouldSendContentAvailable } }
        set { values.withLock { $0.shouldSendContentAvailable = newValue } }
    }

    /// Whether the app can change a notification before it is shown.
    open var shouldSendMutableContent: Bool {
        get { values.withLock { $0.shouldSendMutableContent } }
        set { values.withLock { $0.shouldSendMutableContent = newValue } }
    }

    /// The name of the app's set of actions.
    open var category: String? {
        get { values.withLock { $0.category } }
        set { values.withLock { $0.category = newValue } }
    }

    /// A field of the record. Of the notifications with the same value of it, a device shows the last.
    open var collapseIDKey: String? {
        get { values.withLock { $0.collapseIDKey } }
        set { values.withLock { $0.collapseIDKey = newValue } }
    }

    // MARK: NSSecureCoding

    /// Always true: archives are decoded by class.
    public static var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        guard let text = coder.strings(forKeys: "info"), let wire = NotificationInfo(json: text[0]) else { return nil }
        values = Locked(wire)
        super.init()
    }

    /// Encodes the values as JSON in the wire format, whose names do not change.
    open func encode(with coder: NSCoder) {
        coder.encode(NSString(string: wire.json), forKey: "info")
    }
}

extension NotificationInfo {
    fileprivate var json: String {
        var writer = JSONWriter(capacity: 256)
        write(to: &writer)
        return String(decoding: writer.finish(), as: UTF8.self)
    }

    fileprivate init?(json: String) {
        let info = Array(json.utf8).withUnsafeBytes { bytes -> NotificationInfo? in
            var reader = JSONReader(bytes)
            return try? NotificationInfo(from: &reader)
        }
        guard let info else { return nil }
        self = info
    }
}
