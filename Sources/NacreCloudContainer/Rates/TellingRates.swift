import NacreCloudWire
import NacreLocks

/// Counts the notifications that users' devices are told, and the subscriptions that others' saves are held against. A user of more than the rate hears to
/// fetch everything in their place: subscriptions cost the server as much as somebody likes, and never the one who saves. Thread-safe.
///
/// Each server counts for itself: with several a user has the rate of each.
final class TellingRates: Sendable {
    private static let rate = TokenBucket.Rate(
        perSecond: Double(Limits.notificationsPerSecond), most: Double(Limits.notificationsPerSecond) * Limits.requestBurstSeconds)
    /// On this server: 10 MB.
    private static let usersRemembered = 50_000

    private let buckets = Locked(TokenBuckets<AccountPlace>(most: usersRemembered))

    func isSpent(by user: AccountPlace, at now: Timestamp) -> Bool {
        buckets.withLock { $0.pause(of: user, Self.rate, at: now) != nil }
    }

    func take(_ count: Int, from user: AccountPlace, at now: Timestamp) {
        buckets.withLock { $0.take(count, from: user, at: now) { _ in Self.rate } }
    }
}
