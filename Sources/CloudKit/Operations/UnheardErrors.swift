import Foundation

/// Logs errors that no block of the app receives, for the developer.
///
/// See docs/decisions/operations.md.
extension CKDatabaseOperation {
    /// Logs one line if items failed whose errors no block received.
    ///
    /// - Parameter what: the operation and its items, such as "CKModifyRecordsOperation: records to save".
    final func noteUnheard(_ errors: [any Error], _ what: String) {
        guard let first = errors.first else { return }
        effectiveDatabase.line.log(
            "notice: CloudKit: \(what) that failed: \(errors.count), and the app set no block that hears of it; the first error: \(first)")
    }
}
