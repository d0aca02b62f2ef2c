public import Foundation

extension CKNotification {
    /// Top-level under another name, because `NSKeyedArchiver` on Linux aborts on nested classes.
    public typealias ID = CKNotificationID
}

/// The name of the change that notifications report. Compares by value; immutable.
///
/// Written `CKNotification.ID`. Apple: iOS 8.
open class CKNotificationID: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: its one property is a `let` of a value type.

    let name: String

    init(name: String) {
        self.name = name
        super.init()
    }

    open func copy(with zone: NSZone? = nil) -> Any { self }

    open override func isEqual(_ object: Any?) -> Bool { (object as? CKNotificationID)?.name == name }
    open override var hash: Int { name.hashValue }
    open override var description: String { "<CKNotificationID: \(name)>" }

    // MARK: NSSecureCoding

    /// Always true: archives are decoded by class.
    public static var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        guard let names = coder.strings(forKeys: "Name") else { return nil }
        name = names[0]
        super.init()
    }

    open func encode(with coder: NSCoder) {
        coder.encode(NSString(string: name), forKey: "Name")
    }
}
