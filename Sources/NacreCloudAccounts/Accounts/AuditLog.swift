package import NacreCloudStorage
import NacreCloudWire

/// One request of an administrator, in the audit log.
package struct AuditEntry: RegistryEntry {
    package static let kind = EntryKind.audit

    /// The entry's number, from 1.
    package var number: Int64 = 0
    /// Seconds since 2001.
    package var time: Double = 0
    package var requestID: String
    /// Method and path of the endpoint.
    package var action: String
    /// The values that the request names, by field; nothing secret.
    package var subject: [String: String]
    /// The address that the request came from.
    package var address: String
    /// The ID and name of the management token or the console's session that authorized it; nil: an administrator's own
    /// token.
    package var author: String?
    /// HTTP status of the answer; nil: the server ended before it answered, and the request may be done or not.
    package var status: Int?

    package init(requestID: String, action: String, subject: [String: String] = [:], address: String, author: String? = nil) {
        self.requestID = requestID
        self.action = action
        self.subject = subject
        self.address = address
        self.author = author
    }
}

/// The log of administrators' requests. An entry is written before its request is executed, so no execution is missing.
extension Registry {
    /// Adds an entry and removes the one that is `kept` entries older. One transaction.
    /// - Parameters:
    ///   - entry: The entry, whose number and time are set here.
    ///   - kept: The number of entries to keep.
    /// - Returns: The entry's number.
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

    /// Sets the status of an entry's answer.
    package func end(auditEntry number: Int64, status: Int) async throws {
        try await write(.audit) { database, now, transaction in
            let key = String.newestFirst(number)
            guard var entry = try transaction.entry(AuditEntry.self, key, in: database, at: now) else { return .rollback(()) }
            entry.status = status
            try transaction.put([try entry.row(key, in: database)])
            return .commit(())
        }
    }

    /// A page of the log.
    /// - Parameter last: The number of the last entry of the page before.
    /// - Returns: The page, newest first, and the number after which the next one begins; nil after the last.
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
