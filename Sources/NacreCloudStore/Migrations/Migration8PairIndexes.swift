extension Migration {
    /// Marks files that may have indexes of two fields, which every save keeps. No table changes, but an older version
    /// must not write into them.
    static let pairIndexes = Migration(version: 8, statements: [])
}
