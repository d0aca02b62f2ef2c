import NacreCloudWire

/// What an administrator asked the server to do.
package struct AuditEntry: RegistryEntry {
    package static let kind = EntryKind.audit

    /// Counts from 1.
    package var number: Int64 = 0
    /// Seconds since 2001.
    package var time: Double = 0
    package var requestID: String
    /// Method and path of the endpoint.
    package var action: String
    /// Whom and what the request names, by field; nothing secret.
    package var subject: [String: String]
    /// From where it came.
    package var address: String
    /// The management token that it came with, as its ID and name; nil: an administrator's own token.
    package var author: String?
    /// HTTP status of the answer; nil: the server ended before there was one, so it may be done or not.
    package var status: Int?

    package init(requestID: String, action: String, subject: [String: String] = [:], address: String, author: String? = nil) {
        self.requestID = requestID
        self.action = action
        self.subject = subject
        self.address = address
        self.author = author
    }
}

/// The log of what administrators did: written before it is done, so that nothing is done that is not in it.
extension Registry {
    /// Adds an entry, in place of the oldest one where there are too many. One transaction.
    /// - Parameters:
    ///   - entry: its number and time are given here.
    ///   - kept: entries.
    /// - Returns: the number.
    package func add(_ entry: AuditEntry, keeping kept: Int = Limits.auditEntriesKept) async throws -> Int64 {
        try await write(.audit) { database, now, transaction in
            var entry = entry
            entry.time = now.secondsSince2001
            let newest = try transaction.entries(in: database, .audit, after: nil, limit: 1).first
            entry.number = try newest.map { try AuditEntry($0).number + 1 } ?? 1
            var plan = WritePlan()
            plan.entries = [try entry.row(.newestFirst(entry.number), in: database)]
            let oldest = entry.number - Int64(kept)
            if oldest > 0 { plan.entriesRemoved = [EntryKey(database, .audit, .newestFirst(oldest))] }
            try transaction.apply(plan)
            return .commit(entry.number)
        }
    }

    /// Notes how it ended.
    package func end(auditEntry number: Int64, status: Int) async throws {
        try await write(.audit) { database, now, transaction in
            let key = String.newestFirst(number)
            guard var entry = try transaction.entry(AuditEntry.self, key, in: database, at: now) else { return .rollback(()) }
            entry.status = status
            try transaction.put([try entry.row(key, in: database)])
            return .commit(())
        }
    }

    /// - Parameter last: the number of the last entry of the page before.
    /// - Returns: a page, newest first, and the number behind which the next one begins; nil when there is none.
    package func auditLog(after last: Int64?) async throws -> (page: [AuditEntry], next: Int64?) {
        let database = try await databaseID(Part.audit.key)
        let rows = try await stored {
            try await self.store.read {
                try $0.entries(in: database, .audit, after: last.map { .newestFirst($0) }, limit: Limits.resultsPerPage)
            }
        }
        let page = try rows.map { try AuditEntry($0) }
        return (page, rows.count < Limits.resultsPerPage ? nil : page.last?.number)
    }
}
