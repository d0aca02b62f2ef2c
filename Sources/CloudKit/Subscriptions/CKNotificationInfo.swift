public import Foundation
import NacreCloudWire
import NacreLocks

extension CKSubscription {
    /// Top-level under another name, because `NSKeyedArchiver` on Linux aborts on nested classes.
    public typealias NotificationInfo = CKNotificationInfo
}

/// What the notifications of a subscription show. With nothing of it they wake nobody; with `shouldSendContentAvailable` alone they wake the app
/// in the background; with anything else they are shown.
///
/// Written `CKSubscription.NotificationInfo`. Compares by identity. Apple: iOS 8.
open class CKNotificationInfo: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: everything is in `Locked`.

    private let values: Locked<NotificationInfo>

    /// As the server takes it.
    var wire: NotificationInfo { values.withLock { $0 } }

    init(wire: NotificationInfo) {
        values = Locked(wire)
        super.init()
    }

    public override init() {
        values = Locked(NotificationInfo())
        super.init()
    }

    /// What a notification shows; what is left out is not shown.
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

    /// The text that is shown.
    open var alertBody: String? {
        get { values.withLock { $0.alertBody } }
        set { values.withLock { $0.alertBody = newValue } }
    }

    /// Names a text of the app that is shown in place of `alertBody`.
    open var alertLocalizationKey: String? {
        get { values.withLock { $0.alertLocalizationKey } }
        set { values.withLock { $0.alertLocalizationKey = newValue } }
    }

    /// Fields of the record whose values go into that text.
    open var alertLocalizationArgs: [CKRecord.FieldKey]? {
        get { values.withLock { $0.alertLocalizationArgs } }
        set { values.withLock { $0.alertLocalizationArgs = newValue } }
    }

    /// The title of the alert.
    open var title: String? {
        get { values.withLock { $0.title } }
        set { values.withLock { $0.title = newValue } }
    }

    /// Names the app's text of the title, which goes first.
    open var titleLocalizationKey: String? {
        get { values.withLock { $0.titleLocalizationKey } }
        set { values.withLock { $0.titleLocalizationKey = newValue } }
    }

    /// Fields whose values go into the title.
    open var titleLocalizationArgs: [CKRecord.FieldKey]? {
        get { values.withLock { $0.titleLocalizationArgs } }
        set { values.withLock { $0.titleLocalizationArgs = newValue } }
    }

    /// The second line of the alert.
    open var subtitle: String? {
        get { values.withLock { $0.subtitle } }
        set { values.withLock { $0.subtitle = newValue } }
    }

    /// Names the app's text of the second line, which goes first.
    open var subtitleLocalizationKey: String? {
        get { values.withLock { $0.subtitleLocalizationKey } }
        set { values.withLock { $0.subtitleLocalizationKey = newValue } }
    }

    /// Fields whose values go into the second line.
    open var subtitleLocalizationArgs: [CKRecord.FieldKey]? {
        get { values.withLock { $0.subtitleLocalizationArgs } }
        set { values.withLock { $0.subtitleLocalizationArgs = newValue } }
    }

    /// Names a text of the app for the button that opens it.
    open var alertActionLocalizationKey: String? {
        get { values.withLock { $0.alertActionLocalizationKey } }
        set { values.withLock { $0.alertActionLocalizationKey = newValue } }
    }

    /// An image of the app that is shown while it starts.
    open var alertLaunchImage: String? {
        get { values.withLock { $0.alertLaunchImage } }
        set { values.withLock { $0.alertLaunchImage = newValue } }
    }

    /// Names the app's sound, or `default`.
    open var soundName: String? {
        get { values.withLock { $0.soundName } }
        set { values.withLock { $0.soundName = newValue } }
    }

    /// Up to three fields whose values the notification carries: strings, numbers, dates, locations and references.
    open var desiredKeys: [CKRecord.FieldKey]? {
        get { values.withLock { $0.additionalFields } }
        set { values.withLock { $0.additionalFields = newValue } }
    }

    /// Counts the app's badge up.
    open var shouldBadge: Bool {
        get { values.withLock { $0.shouldBadge } }
        set { values.withLock { $0.shouldBadge = newValue } }
    }

    /// Wakes the app in the background.
    open var shouldSendContentAvailable: Bool {
        get { values.withLock { $0.shouldSendContentAvailable } }
        set { values.withLock { $0.shouldSendContentAvailable = newValue } }
    }

    /// Lets the app change the notification before it is shown.
    open var shouldSendMutableContent: Bool {
        get { values.withLock { $0.shouldSendMutableContent } }
        set { values.withLock { $0.shouldSendMutableContent = newValue } }
    }

    /// Names the actions that the app offers.
    open var category: String? {
        get { values.withLock { $0.category } }
        set { values.withLock { $0.category = newValue } }
    }

    /// A field of the record: of notifications with one value of it, a device shows the last.
    open var collapseIDKey: String? {
        get { values.withLock { $0.collapseIDKey } }
        set { values.withLock { $0.collapseIDKey = newValue } }
    }

    // MARK: NSSecureCoding

    /// True: an archive is decoded by its class.
    public static var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        guard let text = coder.strings(forKeys: "info"), let wire = NotificationInfo(json: text[0]) else { return nil }
        values = Locked(wire)
        super.init()
    }

    /// As JSON of the wire, whose names do not change.
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
