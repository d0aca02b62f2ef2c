public import Foundation

/// A position in the history of a database or of a zone, made by the server. Only the server can read it.
///
/// Archive one for each database and one for each zone; they are not interchangeable. Compares by value. Apple: iOS 8.
open class CKServerChangeToken: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    // Sendable: its one property is a `let` of a value type.

    /// The token in its wire form.
    let wire: String

    init(wire: String) {
        self.wire = wire
        super.init()
    }

    open func copy(with zone: NSZone? = nil) -> Any { self }

    open override func isEqual(_ object: Any?) -> Bool { (object as? CKServerChangeToken)?.wire == wire }
    open override var hash: Int { wire.hashValue }
    open override var description: String { "<CKServerChangeToken: data=\(wire)>" }

    // MARK: NSSecureCoding

    /// Always true: archives are decoded by class.
    public static var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        guard let strings = coder.strings(forKeys: "token") else { return nil }
        wire = strings[0]
        super.init()
    }

    open func encode(with coder: NSCoder) {
        coder.encode(NSString(string: wire), forKey: "token")
    }
}
