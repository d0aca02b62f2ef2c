/// What a guest's device heard of a zone that is shared with them now and again, by a subscription to their shared database. Such notifications do not say what
/// changed, and several changes may be told by one: so they are counted.
///
/// Each has an ID, by which it is known when it comes again. Work that died in the middle is begun again, and may tell a change by another one.
package struct GuestLog: Sendable {
    /// Notifications that one death of the server may add: of the zone, of its share and of the user.
    package static let perDeath = 3

    private var ids: Set<String> = []
    private var most = 0

    package init() {}

    /// So many notifications may come that could not before.
    package mutating func expect(_ count: Int = 1) { most += count }

    /// - Parameter deaths: of the server so far.
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
