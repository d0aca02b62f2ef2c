extension Migration {
    /// Record types may have indexes of two fields, which every save keeps. No table is another one; a version that does not know of them must not write
    /// into a file that has them.
    static let pairIndexes = Migration(version: 8, statements: [])
}
