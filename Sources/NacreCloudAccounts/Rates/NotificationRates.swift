import NacreCloudStorage
package import NacreCloudWire
import NacreLocks

/// Limits the notifications to a user's devices, and the matching of the user's subscriptions with others' saves. Above
/// the rate, the devices are told to fetch everything instead. Subscriptions can be as costly as their user likes, and
/// the saving user must not pay for them. Thread-safe.
///
/// Each server counts separately: a user of several servers has the rate on each.
package final class NotificationRates: Sendable {
    private static let rate = TokenBucket.Rate(
        perSecond: Double(Limits.notificationsPerSecond), most: Double(Limits.notificationsPerSecond) * Limits.requestBurstSeconds)
    /// Users remembered. On this server: 10 MB.
    private static let usersRemembered = 50_000

    private let buckets = Locked(TokenBuckets<AppUser>(most: usersRemembered))

    package init() {}

    package func isSpent(by user: AppUser, at now: Timestamp) -> Bool {
        buckets.withLock { $0.pause(of: user, Self.rate, at: now) != nil }
    }

    package func take(_ count: Int, from user: AppUser, at now: Timestamp) {
        buckets.withLock { $0.take(count, from: user, at: now) { _ in Self.rate } }
    }
}
