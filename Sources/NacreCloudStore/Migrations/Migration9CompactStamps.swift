extension Migration {
    /// Marks files whose bodies may have the shorter form of the stamps: who made and changed a record, and when. No
    /// table and no existing body changes, but an older version must not open them.
    static let compactStamps = Migration(version: 9, statements: [])
}
