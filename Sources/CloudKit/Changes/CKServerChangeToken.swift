public import Foundation

/// A position in the history of a database or of a zone, made by the server. Only the server can read it.
///
/// Archive one for each database and one for each zone; they are not interchangeable. Compares by value. Apple: iOS 8.
///
/// On this server: a token that was archived on Apple's platforms is decoded, and has expired when it is used.
open class CKServerChangeToken: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    // Sendable: its one property is a `let` of a value type.

    /// The token in its wire form; empty if another service made it.
    let wire: String

    private static let key = "token"

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
        guard coder.containsValue(forKey: Self.key) else {
            // An archive of Apple's systems.
            wire = ""
            super.init()
            return
        }
        guard let strings = coder.strings(forKeys: Self.key) else { return nil }
        wire = strings[0]
        super.init()
    }

    open func encode(with coder: NSCoder) {
        coder.encode(NSString(string: wire), forKey: Self.key)
    }

    /// The token as a request sends it. A token of another service has expired, so that the app begins anew.
    var sent: String {
        get throws(CKError) {
            guard !wire.isEmpty else { throw .tokenOfAnotherService }
            return wire
        }
    }
}
