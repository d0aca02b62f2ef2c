public import Foundation

/// Bridges `NSError`s of CloudKit's domain to `CKError` and back. `as? CKError`, `catch let error as CKError`, and `as?
/// [CKRecord.ID: NSError]` of item errors work as on Apple's platforms, where the compiler unites the two types.
///
/// Swift's runtime calls the functions of this protocol for casts on every platform; nothing else does.
extension CKError: _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSError { _nsError }

    public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout CKError?) {
        _ = _conditionallyBridgeFromObjectiveC(source, result: &result)
    }

    /// Makes a `CKError`; returns false for an error of another domain.
    @discardableResult
    public static func _conditionallyBridgeFromObjectiveC(_ source: NSError, result: inout CKError?) -> Bool {
        guard source.domain == CKErrorDomain else { return false }
        result = CKError(_nsError: source)
        return true
    }

    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> CKError {
        source.map(CKError.init(_nsError:)) ?? CKError(.internalError)
    }
}
