/// Counts the notifications of a guest's device about a zone that is shared with them at times, by a database
/// subscription. They do not say what changed, and one may stand for several changes, so only their number is
/// checked.
///
/// Each has an ID that recognizes a repetition. Work begun again may notify again under another ID.
package struct GuestLog: Sendable {
    /// Notifications that one death of the server may add: of the zone, of its share and of the user.
    package static let perDeath = 3

    private var ids: Set<String> = []
    private var most = 0

    package init() {}

    /// Allows `count` more notifications.
    package mutating func expect(_ count: Int = 1) { most += count }

    /// Returns the most notifications allowed.
    /// - Parameter deaths: Of the server so far.
    package func most(deaths: Int) -> Int { most + deaths * Self.perDeath }

    package mutating func heard(_ id: String) { ids.insert(id) }

    package var count: Int { ids.count }

    package func violation(_ guest: String, deaths: Int) -> Violation? {
        guard count > most(deaths: deaths) else { return nil }
        return Violation(
            .leaked,
            "\(guest) was told \(count) times that what is shared with them changed, which was true \(most) times, with \(deaths) deaths of the server"
        )
    }
}
