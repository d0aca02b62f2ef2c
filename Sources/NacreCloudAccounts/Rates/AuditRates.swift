import NacreCloudStorage
package import NacreCloudWire
import NacreLocks

/// Limits the entries that one author adds to the audit log, so that none pushes the others' entries out of it: in the
/// twelve hours of a session of the console they are less than half of the log. The token of `admin.json` is not
/// limited: its holder can remove the whole log. Thread-safe.
package final class AuditRates: Sendable {
    /// An author by an ID that this server made.
    package enum Author: Hashable, Sendable {
        case managementToken(String)
        case consoleSession(String)
    }

    private static let rate = TokenBucket.Rate(perSecond: Double(Limits.auditEntriesPerHour) / 3600, most: Double(Limits.auditEntriesPerHour))
    /// Authors remembered. On this server: more than act within an hour.
    private static let authorsRemembered = 1000

    private let buckets = Locked(TokenBuckets<Author>(most: authorsRemembered))

    package init() {}

    /// Counts an entry.
    /// - Throws: `THROTTLED` if the author has added as many as they may for now.
    package func take(from author: Author, at now: Timestamp) throws(ServerError) {
        let pause = buckets.withLock { buckets in
            let pause = buckets.pause(of: author, Self.rate, at: now)
            if pause == nil { buckets.take(1, from: author, at: now) { _ in Self.rate } }
            return pause
        }
        guard let pause else { return }
        throw ServerError(
            .throttled, "as many changes and looks as the audit log notes of one author in an hour",
            remedy: "Wait for as many seconds as retryAfter says, or use nacre on the server's machine.", retryAfter: pause)
    }
}
