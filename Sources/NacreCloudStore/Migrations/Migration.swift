/// A step from one version of the schema to the next. Forward only; a released one is never edited.
struct Migration: Sendable {
    /// The version that the database has after it.
    let version: Int32
    /// Run in this order, in one transaction.
    let statements: [Statement]

    /// Every step, in order.
    static let all: [Migration] = [
        .firstTables, .referencesAndIndexes, .recordIDs, .runs, .damage, .indexesBelow, .bytes, .pairIndexes, .compactStamps,
        .packedIndexes,
    ]

    /// The version that this build reads and writes.
    static let current: Int32 = all.last?.version ?? 0
}
