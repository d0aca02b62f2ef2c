import NacreCloudWire

extension Registry {
    /// The accounts of this server, those that are being deleted among them.
    /// - Parameter last: where the page before ended.
    /// - Returns: a page in no order that means anything, and where the next one begins; nil when there is none. A page may be empty and not the last.
    package func accounts(after last: DatabaseID?) async throws -> (page: [AccountEntry], next: DatabaseID?) {
        let server = Part.server.key
        let now = clock()
        return try await stored {
            try await self.store.read { transaction in
                let rows = try transaction.databases(of: server.container, server.environment, after: last, limit: Limits.resultsPerPage)
                let page = try rows.compactMap { row in
                    try Part.accountID(of: row.key).flatMap { try transaction.entry(AccountEntry.self, $0, in: row.id, at: now) }
                }
                return (page, rows.count < Limits.resultsPerPage ? nil : rows.last?.id)
            }
        }
    }
}
