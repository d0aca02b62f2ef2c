package import NacreCloudStorage
package import NacreCloudWire

/// A person of the team who signs in to the console, with a passkey alone.
package struct TeamMember: RegistryEntry {
    package static let kind = EntryKind.teamMember
    package var id: String
    /// The name, which no other member has.
    package var name: String
    package var role: ConsoleRole
    package var created: Double
    /// The passkeys, the oldest first: none before an invitation is used.
    package var passkeys: [PasskeyEntry] = []
    /// The invitation; nil once it is used.
    package var invitation: TeamInvitation?
    /// Challenges that are used up and cannot begin another session.
    var usedChallenges: [UsedConsent] = []
}

/// A link that makes a member's passkey, once.
package struct TeamInvitation: Codable, Hashable, Sendable {
    /// The digest of the link's token.
    package var digest: String
    package var expires: Double

    init(digest: String, at now: Timestamp) {
        (self.digest, expires) = (digest, now.secondsSince2001 + ConsoleSignIns.linkSeconds)
    }

    /// Whether a link's token with this digest makes a passkey now.
    package func isOpened(by digest: String, at now: Timestamp) -> Bool { digest == self.digest && now.secondsSince2001 < expires }
}

/// The team's members: `ConsoleSignIns.membersMax` at most. Each call is one transaction over a database of their own.
extension Registry {
    /// The members in the order of their names.
    package func team() async throws -> [TeamMember] {
        let database = try await databaseID(Part.team.key)
        let now = clock()
        let found = try await stored { try await self.store.read { try $0.all(TeamMember.self, in: database, at: now) } }
        return found.sorted { $0.name < $1.name }
    }

    /// A member; nil if there is none, or it was removed.
    package func teamMember(_ id: String) async throws -> TeamMember? { try await lookUp(TeamMember.self, id, in: .team) }

    /// Adds a member, who makes a passkey by the link of a token.
    /// - Parameter invitation: The digest of the token.
    /// - Throws: `EXISTS` for a name that another member has, `QUOTA_EXCEEDED` for a full team, `BAD_REQUEST` for no
    ///   name.
    package func addTeamMember(_ name: String, role: ConsoleRole, invitation: String) async throws -> TeamMember {
        let name = String(name.onOneLine.prefix(ConsoleSignIns.nameCharacters))
        guard !name.allSatisfy({ $0 == " " }) else { throw ServerError.namelessMember }
        let id = hex(2)
        return try await write(.team) { database, now, transaction in
            let team = try transaction.all(TeamMember.self, in: database, at: now)
            guard !team.contains(where: { $0.name == name }) else { throw ServerError.memberExists }
            guard team.count < ConsoleSignIns.membersMax else { throw ServerError.teamFull }
            let member = TeamMember(
                id: id, name: name, role: role, created: now.secondsSince2001, invitation: TeamInvitation(digest: invitation, at: now))
            try transaction.put([try member.row(id, in: database)])
            return .commit(member)
        }
    }

    /// Gives a member another invitation, for a further passkey or in the place of one that has ended. It takes the
    /// place of an unused one.
    /// - Parameter invitation: The digest of the token.
    /// - Throws: `NOT_FOUND` if there is no such member, `QUOTA_EXCEEDED` if it has as many passkeys as it may have.
    package func renewInvitation(ofTeamMember name: String, _ invitation: String) async throws -> TeamMember {
        try await write(.team) { database, now, transaction in
            var member = try transaction.teamMember(named: name, in: database, at: now)
            guard member.passkeys.count < ConsoleSignIns.passkeysMax else { throw ServerError.memberHasPasskeys }
            member.invitation = TeamInvitation(digest: invitation, at: now)
            try transaction.put([try member.row(member.id, in: database)])
            return .commit(member)
        }
    }

    /// Takes a passkey away from a member.
    /// - Throws: `NOT_FOUND` if there is no such member, or it has no such passkey.
    package func removePasskey(_ id: String, ofTeamMember name: String) async throws -> TeamMember {
        try await write(.team) { database, now, transaction in
            var member = try transaction.teamMember(named: name, in: database, at: now)
            guard let index = member.passkeys.firstIndex(where: { $0.id == id }) else { throw ServerError.noPasskeyOfMember }
            member.passkeys.remove(at: index)
            try transaction.put([try member.row(member.id, in: database)])
            return .commit(member)
        }
    }

    /// Gives a member another role.
    /// - Throws: `NOT_FOUND` if there is no such member.
    package func setRole(_ role: ConsoleRole, ofTeamMember name: String) async throws -> TeamMember {
        try await write(.team) { database, now, transaction in
            var member = try transaction.teamMember(named: name, in: database, at: now)
            member.role = role
            try transaction.put([try member.row(member.id, in: database)])
            return .commit(member)
        }
    }

    /// Removes a member, with the passkeys and an unused invitation.
    /// - Throws: `NOT_FOUND` if there is no such member.
    package func removeTeamMember(_ name: String) async throws -> TeamMember {
        try await write(.team) { database, now, transaction in
            let member = try transaction.teamMember(named: name, in: database, at: now)
            try transaction.remove([EntryKey(database, .teamMember, member.id)])
            return .commit(member)
        }
    }

    /// The member whom an invitation is for; nil if it is used, has ended or is unknown.
    /// - Parameter digest: Of the token.
    package func teamMember(invitedBy digest: String) async throws -> TeamMember? {
        let now = clock()
        return try await team().first { $0.invitation?.isOpened(by: digest, at: now) == true }
    }

    /// Gives a member the passkey that was made by an invitation, which is used up in the same transaction.
    /// - Returns: The member; nil if the invitation is used or has ended by now.
    /// - Throws: `ServerError.passkeyTaken`.
    package func addPasskey(_ made: PasskeyRule.Made, publicKey: String, toMember id: String, invitedBy digest: String) async throws -> TeamMember? {
        try await write(.team) { database, now, transaction in
            guard var member = try transaction.entry(TeamMember.self, id, in: database, at: now),
                member.invitation?.isOpened(by: digest, at: now) == true
            else { return .rollback(nil) }
            member.invitation = nil
            guard !member.passkeys.contains(where: { $0.id == made.id }) else { throw ServerError.passkeyTaken }
            member.passkeys.append(
                PasskeyEntry(id: made.id, publicKey: publicKey, counter: made.counter, name: "Passkey", created: now.secondsSince2001))
            try transaction.put([try member.row(id, in: database)])
            return .commit(member)
        }
    }

    /// Notes a sign-in with a member's passkey.
    /// - Parameter challenge: The signed challenge, which is used up in the same transaction.
    /// - Returns: The member; nil if there is no such passkey any more, or `counter` may not follow the kept one.
    /// - Throws: `ServerError.consentUsed` or `THROTTLED`.
    package func usePasskey(_ passkey: String, ofMember id: String, counter: UInt32, using challenge: UsedConsent) async throws -> TeamMember? {
        try await write(.team) { database, now, transaction in
            guard var member = try transaction.entry(TeamMember.self, id, in: database, at: now),
                let index = member.passkeys.firstIndex(where: { $0.id == passkey }),
                PasskeyRule.counts(from: member.passkeys[index].counter, to: counter)
            else { return .rollback(nil) }
            (member.passkeys[index].counter, member.passkeys[index].used) = (counter, now.secondsSince2001)
            member.usedChallenges = try member.usedChallenges.using(challenge, at: now)
            try transaction.put([try member.row(id, in: database)])
            return .commit(member)
        }
    }
}

extension ReadTransaction {
    /// - Throws: `NOT_FOUND` if there is no such member.
    fileprivate func teamMember(named name: String, in database: DatabaseID, at now: Timestamp) throws -> TeamMember {
        guard let member = try all(TeamMember.self, in: database, at: now).first(where: { $0.name == name }) else { throw ServerError.noMember }
        return member
    }
}

extension ServerError {
    fileprivate static let namelessMember = ServerError(.badRequest, "a member of the team needs a name", field: "name", remedy: "Send one.")
    fileprivate static let memberExists = ServerError(
        .exists, "the team has a member of this name", field: "name", remedy: "Take another name, or remove the member: nacre team remove NAME.")
    fileprivate static let teamFull = ServerError(
        .quotaExceeded, "the team has as many members as it may have (\(ConsoleSignIns.membersMax))", native: .limitExceeded,
        remedy: "Remove a member: nacre team remove NAME.")
    fileprivate static let memberHasPasskeys = ServerError(
        .quotaExceeded, "the member has as many passkeys as they may have (\(ConsoleSignIns.passkeysMax))", native: .limitExceeded,
        remedy: "Remove one: nacre team remove-passkey.")
    fileprivate static let noPasskeyOfMember = ServerError(
        .notFound, "the member has no such passkey", field: "id", remedy: "Take an ID from the list: nacre team passkeys NAME.")
    fileprivate static let noMember = ServerError(
        .notFound, "the team has no member of this name", field: "name", remedy: "Take a name from the list: nacre team list.")
}
