extension Migration {
    /// Bodies of records may say by whom and when they were made and changed in a shorter form. No table is another one, and bodies that are there stay as they
    /// are; a version that does not know the form must not open a file that has it.
    static let compactStamps = Migration(version: 9, statements: [])
}
