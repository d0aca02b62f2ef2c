package import NacreCloudWire

/// The one-time links to the console that are not used yet, and the sessions that began with used ones.
///
/// A value without secrets: the caller names links and sessions by the digests of their tokens.
package struct ConsoleSignIns: Sendable {
    /// Seconds for which a link is good. On this server: as long as it takes to walk to another machine.
    package static let linkSeconds: Double = 30 * 60
    /// Seconds after which a session ends. On this server: a working day.
    package static let sessionSeconds: Double = 12 * 3600
    /// Seconds without a request after which a session ends. On this server: a long meeting.
    package static let idleSeconds: Double = 2 * 3600
    /// Unused links; the oldest goes when another comes. On this server: more than people wait for at once.
    package static let linksMax = 32
    /// Sessions; the one that was used least recently goes when another comes. On this server: more than a team has.
    package static let sessionsMax = 64
    /// Members of the team. On this server: as many as sessions.
    package static let membersMax = sessionsMax
    /// Passkeys of a member. On this server: as many devices as a person has.
    package static let passkeysMax = 8
    /// Characters of a session's name; a longer one is cut. On this server: as long as a person's name.
    package static let nameCharacters = 64

    private struct Link: Sendable {
        var name: String
        var role: ConsoleRole
        var ends: Double
    }

    private var links: [String: Link] = [:]
    private var sessions: [String: ConsoleSession] = [:]

    package init() {}

    /// Adds a link.
    /// - Parameter digest: Of the link's token.
    /// - Returns: The link's end.
    package mutating func addLink(_ digest: String, name: String, role: ConsoleRole, at now: Timestamp) -> Timestamp {
        forget(at: now)
        if links.count >= Self.linksMax, let oldest = links.min(by: { $0.value.ends < $1.value.ends }) { links[oldest.key] = nil }
        let ends = now.secondsSince2001 + Self.linkSeconds
        links[digest] = Link(name: String(name.onOneLine.prefix(Self.nameCharacters)), role: role, ends: ends)
        return Timestamp(secondsSince2001: ends)
    }

    /// Uses up a link and begins a session of its role; nil if there is no such link, or it has ended.
    /// - Parameters:
    ///   - id: The session's name in the audit log.
    ///   - session: The digest of the session's token.
    package mutating func use(_ link: String, toBegin session: String, id: String, at now: Timestamp) -> ConsoleSession? {
        forget(at: now)
        guard let used = links.removeValue(forKey: link) else { return nil }
        return begin(session, id: id, name: used.name, role: used.role, at: now)
    }

    /// Begins the session of a team's member.
    /// - Parameters:
    ///   - session: The digest of the session's token.
    ///   - id: The session's name in the audit log.
    ///   - passkey: The ID of the member's passkey that has answered.
    package mutating func begin(
        _ session: String, id: String, for member: TeamMember, by passkey: String, at now: Timestamp
    ) -> ConsoleSession {
        forget(at: now)
        return begin(session, id: id, name: member.name, role: member.role, member: (member.id, passkey), at: now)
    }

    private mutating func begin(
        _ session: String, id: String, name: String, role: ConsoleRole, member: (id: String, passkey: String)? = nil, at now: Timestamp
    ) -> ConsoleSession {
        if sessions.count >= Self.sessionsMax, let idlest = sessions.min(by: { $0.value.used < $1.value.used }) { sessions[idlest.key] = nil }
        let begun = ConsoleSession(
            id: id, name: name, role: role, member: member?.id, passkey: member?.passkey, begun: now.secondsSince2001, used: now.secondsSince2001)
        sessions[session] = begun
        return begun
    }

    /// Returns a session, which is used with that; nil if there is none, or it has ended.
    package mutating func session(_ digest: String, at now: Timestamp) -> ConsoleSession? {
        forget(at: now)
        sessions[digest]?.used = now.secondsSince2001
        return sessions[digest]
    }

    package mutating func endSession(_ digest: String) { sessions[digest] = nil }

    /// Ends all sessions and unused links.
    /// - Returns: The number of sessions.
    package mutating func endAll(at now: Timestamp) -> Int {
        forget(at: now)
        defer { (links, sessions) = ([:], [:]) }
        return sessions.count
    }

    private mutating func forget(at now: Timestamp) {
        links = links.filter { now.secondsSince2001 < $0.value.ends }
        sessions = sessions.filter { now.secondsSince2001 < $0.value.ends }
    }
}

/// A browser that is signed in to the console.
package struct ConsoleSession: Hashable, Sendable {
    package let id: String
    package let name: String
    package let role: ConsoleRole
    /// The ID of the team's member whose session it is; nil: a link began it.
    package let member: String?
    /// The ID of the passkey that began it; nil without a member.
    package let passkey: String?
    /// Seconds since 2001.
    let begun: Double
    fileprivate(set) var used: Double

    /// The end of the session if it is not used again, in seconds since 2001.
    fileprivate var ends: Double { min(begun + ConsoleSignIns.sessionSeconds, used + ConsoleSignIns.idleSeconds) }
    package var expires: Timestamp { Timestamp(secondsSince2001: ends) }

    /// The session in the audit log and the history of schemas.
    package var author: String { "console \(id) \(name)" }
}
