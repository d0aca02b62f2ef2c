public import Foundation

/// An `NSError` of CloudKit's domain is a `CKError`, and the other way round: `as? CKError`, `catch let error as CKError`, and
/// `as? [CKRecord.ID: NSError]` of the errors of items work as on Apple's platforms, where the compiler knows the two to be one.
///
/// Swift's runtime asks this protocol for casts on every platform; nobody else calls its functions.
extension CKError: _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSError { _nsError }

    public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout CKError?) {
        _ = _conditionallyBridgeFromObjectiveC(source, result: &result)
    }

    /// False for an error of another domain.
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
