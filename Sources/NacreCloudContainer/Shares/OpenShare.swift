package import NacreCloudWire

/// What a share is to who opens its URL in a browser and has signed in.
package struct OpenedShare: Sendable {
    package var metadata: ShareMetadata
    /// Where the container's app is.
    package var app: ShareApp
}

// What a browser does with the URL of a share: it knows the account that is signed in and the short GUID, and neither container nor environment.
extension Cloud {
    /// - Throws: `ServerError.notInvited`, whatever it is that the account has no part in, after as many reads. Costs two calls of the store for each
    ///   container of the server, and three.
    package func openShare(_ guid: String, for account: AccountEntry) async throws -> OpenedShare {
        if let refusal = account.accountState.refusal { throw refusal }
        let target = try await targetOfShare(guid)
        let key = AccountPlace.key(target.container, target.environment)
        let user = try await registry.lookUp(UserEntry.self, key, in: .account(account.id))?.userRecordName
        return try await opened(
            try await resolveShares(Self.request(guid), in: target, by: Self.caller(account, as: user ?? Self.nobody)), in: target)
    }

    /// The account takes part from now on. It has a name in the container then, which a refusal gives nobody.
    package func acceptShare(_ guid: String, for account: AccountEntry) async throws -> OpenedShare {
        _ = try await openShare(guid, for: account)
        let target = try await targetOfShare(guid)
        let user = try await admit(account: account.id, to: target.container, target.environment)
        return try await opened(try await acceptShares(Self.request(guid), in: target, by: Self.caller(account, as: user)), in: target)
    }

    /// Whether an account may ask to take part in a share that is not for it. As many reads whatever there is.
    package func takesRequests(_ guid: String, of account: AccountEntry) async throws -> Bool {
        let target = try await targetOfShare(guid)
        let key = AccountPlace.key(target.container, target.environment)
        let user = try await registry.lookUp(UserEntry.self, key, in: .account(account.id))?.userRecordName ?? Self.nobody
        let caller = Self.caller(account, as: user)
        let contact = try await contact(of: caller)
        guard let found = try await foundShare(guid, in: target, by: caller) else { return false }
        let standing = ShareStanding(
            of: user, contact: contact, secret: ShareKey(guid).secret, in: found.share.state, owner: found.database.key.owner)
        return standing == .stranger && found.share.state.takesRequests(of: user)
    }

    /// Asks for access to a share. The account has a name in the container then, which a refusal gives nobody.
    package func requestAccess(to guid: String, for account: AccountEntry) async throws {
        if let refusal = account.accountState.refusal { throw refusal }
        guard try await takesRequests(guid, of: account) else { throw ServerError.notInvited }
        let target = try await targetOfShare(guid)
        let user = try await admit(account: account.id, to: target.container, target.environment)
        let answer = try await requestShareAccess(Self.request(guid), in: target, by: Self.caller(account, as: user))
        if let error = answer.results.first?.error { throw error }
    }

    /// A name that no user has: those of users are longer.
    private static let nobody = "_"

    private static func request(_ guid: String) -> SharesRequest { SharesRequest(shortGUIDs: [SharesRequest.Item(value: guid)]) }

    private static func caller(_ account: AccountEntry, as user: String) -> Caller { Caller(.user(user), account: account.id) }

    private func opened(_ answer: SharesResponse, in target: DatabaseTarget) async throws -> OpenedShare {
        switch answer.results.first {
        case .share(let metadata)?:
            return OpenedShare(metadata: metadata, app: try await registry.container(target.container)?.shares ?? ShareApp(app: nil, fallback: nil))
        case .failure(_, let error)?: throw error
        case nil: throw ServerError.notInvited
        }
    }

    /// Where a short GUID leads. One that leads nowhere is looked for as long, and read on in a place where no share is.
    private func targetOfShare(_ guid: String) async throws -> DatabaseTarget {
        var found: DatabaseTarget?
        var next: String?
        repeat {
            let (page, after) = try await registry.containers(after: next)
            for container in page {
                for environment in DatabaseKey.Environment.allCases {
                    let target = DatabaseTarget(container: container.name, environment: environment, scope: .public)
                    if try await zoneOfShare(guid, in: target) != nil { found = target }
                }
            }
            WorkMeter.current?.add(rows: page.count)
            next = after
        } while next != nil
        return found ?? DatabaseTarget(container: "-", environment: .development, scope: .public)
    }
}
