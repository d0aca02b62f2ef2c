public import Foundation
import NacreCloudWire

extension CKQueryOperation {
    /// Top-level under another name, because `NSKeyedArchiver` on Linux aborts on nested classes.
    public typealias Cursor = CKQueryCursor
}

/// The position behind a query's page, where a new operation can continue.
///
/// A cursor contains the query and the zone, so an operation with a cursor needs neither. A record that matches
/// throughout and keeps its sort keys comes exactly once, whatever changes between the pages. Written
/// `CKQueryOperation.Cursor`. Apple: iOS 8.
open class CKQueryCursor: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    // Sendable: its one property is a `let` of a value type.

    /// The query, its zone and the server's marker, without limit and keys.
    let request: RecordsQueryRequest

    init(request: RecordsQueryRequest) {
        self.request = request
        super.init()
    }

    open func copy(with zone: NSZone? = nil) -> Any { self }

    open override func isEqual(_ object: Any?) -> Bool { (object as? CKQueryCursor)?.request == request }
    open override var hash: Int { request.continuationMarker.hashValue }
    open override var description: String { "<CKQueryCursor: recordType=\(request.query.recordType)>" }

    // MARK: NSSecureCoding

    /// Always true: archives are decoded by class.
    public static var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        guard let text = coder.strings(forKeys: "request"), let request = try? RecordsQueryRequest(json: Array(text[0].utf8)) else { return nil }
        self.request = request
        super.init()
    }

    open func encode(with coder: NSCoder) {
        coder.encode(NSString(string: String(decoding: request.json(), as: UTF8.self)), forKey: "request")
    }
}
