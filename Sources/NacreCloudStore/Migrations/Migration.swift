/// A step from one version of the schema to the next. Steps go forward only, and a released one is never edited.
package struct Migration: Sendable {
    /// The version that the database has after it.
    package let version: Int32
    /// The statements that are run in this order, in one transaction.
    let statements: [Statement]

    package init(version: Int32, statements: [Statement]) {
        self.version = version
        self.statements = statements
    }

    /// Every step, in order.
    package static let all: [Migration] = [.firstTables]

    /// The version that this build reads and writes.
    package static let current: Int32 = all.last?.version ?? 0
}
