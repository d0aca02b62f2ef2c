import Foundation

/// What the framework tells a developer whom no block of the app would tell: a line of its log.
///
/// See docs/decisions/a-result-block-says-nothing-of-items.md.
extension CKDatabaseOperation {
    /// One line where items failed whose errors no block heard.
    ///
    /// - Parameter what: "CKModifyRecordsOperation: records to save".
    final func noteUnheard(_ errors: [any Error], _ what: String) {
        guard let first = errors.first else { return }
        effectiveDatabase.line.log(
            "notice: CloudKit: \(what) that failed: \(errors.count), and the app set no block that hears of it; the first error: \(first)")
    }
}
