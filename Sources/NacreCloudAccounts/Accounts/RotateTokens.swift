import NacreCloudStorage
package import NacreCloudWire

/// An API token that replaces another one.
package struct TokenRotation: Hashable, Sendable {
    package var token: String
    /// When the old token ends; nil: it has ended.
    package var oldEnds: Timestamp?
}

extension Registry {
    /// Replaces an API token with a new one of the same container, environment, name, origins and callback. The old
    /// token ends at once, or after a grace in which both are good. One transaction, so that an app always has a good
    /// token. See `docs/decisions/administration.md`.
    /// - Parameter grace: Seconds.
    /// - Throws: `NOT_FOUND` for an unknown API token. `BAD_REQUEST` for a server-to-server key, a management token, a
    ///   token that is ending, or a grace that is too long.
    package func rotateAPIToken(_ old: String, grace: Int) async throws -> TokenRotation {
        guard (0...Int(Limits.tokenGraceSeconds)).contains(grace) else {
            throw ServerError.badValue(
                "graceSeconds", "not a number of seconds that a token may go on for",
                remedy: "Give 0 to \(Int(Limits.tokenGraceSeconds)) seconds; a token that is to live longer needs no other yet.")
        }
        let new = hex(4)
        return try await write(.server) { database, now, transaction in
            guard let row = try transaction.entries(in: database, .apiToken, keys: [old]).living(at: now).first else {
                if try transaction.entry(ServerKeyEntry.self, old, in: database, at: now) != nil { throw ServerError.keysAreNotRotated }
                let isManagement = try transaction.entry(ManagementTokenEntry.self, old, in: database, at: now) != nil
                throw isManagement ? ServerError.managementTokensAreNotRotated : .noSuchCredential
            }
            guard row.expires == nil else { throw ServerError.tokenIsEnding }
            var entry = try APITokenEntry(row)
            let ends = grace > 0 ? now + Double(grace) : nil
            var plan = WritePlan()
            if let ends {
                plan.entries = [try entry.row(old, in: database, expires: ends)]
            } else {
                plan.entriesRemoved = [row.key]
            }
            entry.created = now.secondsSince2001
            entry.used = nil
            plan.entries.append(try entry.row(new, in: database))
            try transaction.apply(plan)
            return .commit(TokenRotation(token: new, oldEnds: ends))
        }
    }
}

extension ServerError {
    fileprivate static let keysAreNotRotated = ServerError(
        .badRequest, "the secret of a server-to-server key is not here", field: "id",
        remedy: "Make another pair and register it with nacre token create --kind server, then revoke this one.")

    fileprivate static let managementTokensAreNotRotated = ServerError(
        .badRequest, "a management token is not rotated", field: "id",
        remedy: "Make another with nacre token create --kind management, then revoke this one.")

    fileprivate static let tokenIsEnding = ServerError(
        .badRequest, "the token is ending, and another has its place", field: "id", remedy: "Take the newer one that nacre token list prints.")
}
