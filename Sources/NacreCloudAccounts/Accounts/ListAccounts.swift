package import NacreCloudStorage
import NacreCloudWire

extension Registry {
    /// A page of the accounts of this server, including those that are being deleted.
    /// - Parameter last: The position where the page before ended.
    /// - Returns: The page, in no meaningful order, and the position of the next one; nil after the last. Only `nil`
    ///   marks the last page: any page may be empty.
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
