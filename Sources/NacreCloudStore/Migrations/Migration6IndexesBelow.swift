extension Migration {
    /// Notes in each zone which indexes of its container's schema have their rows in it.
    static let indexesBelow = Migration(
        version: 6, statements: [Statement("ALTER TABLE zones ADD COLUMN indexes_below INTEGER NOT NULL DEFAULT 0")])
}
