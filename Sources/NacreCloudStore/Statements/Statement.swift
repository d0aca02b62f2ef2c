/// One text of the catalogue, in SQLite's dialect. Texts are never made at run time, so a connection prepares each once
/// and finds it by its address.
///
/// Most WHERE clauses begin with `db_id`, because a database's rows are one range of each table. Exceptions find due or
/// expired rows of all databases, the databases of a container, or a record by its number.
package struct Statement: Sendable {
    let text: StaticString

    package init(_ text: StaticString) {
        self.text = text
    }
}

/// Statements for transactions.
extension Statement {
    /// Takes the write lock at once: a transaction that begins with a read may not get it later.
    static let beginWrite = Statement("BEGIN IMMEDIATE")
    static let beginRead = Statement("BEGIN DEFERRED")
    static let commit = Statement("COMMIT")
    static let rollback = Statement("ROLLBACK")
    static let savepoint = Statement("SAVEPOINT request")
    static let release = Statement("RELEASE request")
    static let rollbackToSavepoint = Statement("ROLLBACK TO request")
}
