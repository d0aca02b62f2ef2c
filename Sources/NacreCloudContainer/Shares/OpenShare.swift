package import NacreCloudWire

/// What a share is to who opens its URL in a browser and has signed in.
package struct OpenedShare: Sendable {
    package var metadata: ShareMetadata
    /// Where the container's app is.
    package var app: ShareApp
}

/// What stands in the URL of a share, and the container and environment to which it leads: found once for all that a page asks.
package struct SharePlace: Sendable {
    fileprivate let guid: String
    fileprivate let target: DatabaseTarget

    fileprivate var request: SharesRequest { SharesRequest(shortGUIDs: [SharesRequest.Item(value: guid)]) }
}

// What a browser does with the URL of a share: it knows the account that is signed in and the short GUID, and neither container nor environment.
extension Cloud {
    /// Where a short GUID leads. One that leads nowhere is looked for as long, and read on in a place where no share is. Costs two calls of the store for each
    /// container of the server.
    package func placeOfShare(_ guid: String) async throws -> SharePlace {
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
        return SharePlace(guid: guid, target: found ?? DatabaseTarget(container: "-", environment: .development, scope: .public))
    }

    /// - Throws: `ServerError.notInvited`, whatever it is that the account has no part in, after as many reads.
    package func openShare(_ place: SharePlace, for account: AccountEntry) async throws -> OpenedShare {
        if let refusal = account.accountState.refusal { throw refusal }
        let caller = try await caller(account, at: place)
        return try await opened(try await resolveShares(place.request, in: place.target, by: caller), at: place)
    }

    /// The account takes part from now on. It has a name in the container then, which a refusal gives nobody.
    package func acceptShare(_ place: SharePlace, for account: AccountEntry) async throws -> OpenedShare {
        _ = try await openShare(place, for: account)
        let user = try await admit(account: account.id, to: place.target.container, place.target.environment)
        let caller = Caller(.user(user), account: account.id)
        return try await opened(try await acceptShares(place.request, in: place.target, by: caller), at: place)
    }

    /// Whether an account may ask to take part in a share that is not for it. As many reads whatever there is.
    package func takesRequests(_ place: SharePlace, of account: AccountEntry) async throws -> Bool {
        let caller = try await caller(account, at: place)
        let contact = try await contact(of: caller)
        guard let user = caller.userRecordName, let found = try await foundShare(place.guid, in: place.target, by: caller) else { return false }
        let standing = ShareStanding(
            of: user, contact: contact, secret: ShareKey(place.guid).secret, in: found.share.state, owner: found.database.key.owner)
        return standing == .stranger && found.share.state.takesRequests(of: user)
    }

    /// Asks for access to a share. The account has a name in the container then, which a refusal gives nobody.
    package func requestAccess(to place: SharePlace, for account: AccountEntry) async throws {
        if let refusal = account.accountState.refusal { throw refusal }
        guard try await takesRequests(place, of: account) else { throw ServerError.notInvited }
        let user = try await admit(account: account.id, to: place.target.container, place.target.environment)
        let answer = try await requestShareAccess(place.request, in: place.target, by: Caller(.user(user), account: account.id))
        if let error = answer.results.first?.error { throw error }
    }

    /// A name that no user has: those of users are longer.
    private static let nobody = "_"

    private func caller(_ account: AccountEntry, at place: SharePlace) async throws -> Caller {
        let key = AccountPlace.key(place.target.container, place.target.environment)
        let user = try await registry.lookUp(UserEntry.self, key, in: .account(account.id))?.userRecordName
        return Caller(.user(user ?? Self.nobody), account: account.id)
    }

    private func opened(_ answer: SharesResponse, at place: SharePlace) async throws -> OpenedShare {
        switch answer.results.first {
        case .share(let metadata)?:
            let app = try await registry.container(place.target.container)?.shares
            return OpenedShare(metadata: metadata, app: app ?? ShareApp(app: nil, fallback: nil))
        case .failure(_, let error)?: throw error
        case nil: throw ServerError.notInvited
        }
    }
}
