import Foundation

/// What formats and keys are not for: objects of this process. They ask servers; nothing here looks values up by their names.
enum LocalUse {
    /// Says so on standard error, the first time: `evaluate(with:)` and `compare(_:to:)` have no other way, and a silent answer would mislead.
    static func isNotSupported() {
        _ = told
    }

    private static let told: Void = FileHandle.standardError.write(
        Data(
            """
            CloudKit: a predicate from a format and a sort descriptor from a key are for queries. Applied to objects of this process the one \
            matches nothing and the other finds all equal; use a closure there.

            """.utf8))
}
