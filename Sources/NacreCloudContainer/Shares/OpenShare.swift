package import NacreCloudAccounts
import NacreCloudStorage
package import NacreCloudWire

/// A share as a signed-in user sees it who opens its URL in a browser.
package struct OpenedShare: Sendable {
    package var metadata: ShareMetadata
    package var app: ShownApp
    /// The address or number that was invited, where the user has not accepted yet; nil: the user comes by name, by the
    /// URL alone, or takes part.
    package var invited: String?
}

/// The short GUID of a share's URL, with container and environment. A page finds it once for all its requests.
package struct ShareLink: Sendable {
    fileprivate let guid: String
    fileprivate let target: DatabaseTarget

    fileprivate var request: SharesRequest { SharesRequest(shortGUIDs: [SharesRequest.Item(value: guid)]) }
}

// The steps of a browser with a share's URL. It knows account and short GUID, not container and environment.
extension Cloud {
    /// Returns the share link to which a short GUID leads. An unknown one takes as long, and leads to a database
    /// without shares. Costs two calls of the store for each container of the server.
    package func shareLink(_ guid: String) async throws -> ShareLink {
        let found = try await find(guid) { _ in true }
        let nowhere = DatabaseTarget(container: "-", environment: .development, scope: .public)
        return ShareLink(guid: guid, target: found?.target ?? nowhere)
    }

    /// Returns the page to which a browser goes at once that opens a share; nil: it sees the share's own page. Looks
    /// into the containers alone whose administrator has asked for it, so that other shares stay unseen. Guessing costs
    /// there, as it does for the API.
    package func shareRedirect(_ guid: String) async throws -> String? {
        try await find(guid, cost: Limits.addressLookupCost) { $0.shares.redirect(of: guid) != nil }?.container.shares.redirect(of: guid)
    }

    /// Looks for a short GUID in containers, in all of them whether or not one has it.
    /// - Parameter cost: charged once if a container is looked into.
    private func find(
        _ guid: String, cost: Int = 0, in isAsked: (ContainerEntry) -> Bool
    ) async throws -> (container: ContainerEntry, target: DatabaseTarget)? {
        var found: (container: ContainerEntry, target: DatabaseTarget)?
        var cost = cost
        var next: String?
        repeat {
            let (page, after) = try await registry.containers(after: next)
            for container in page where isAsked(container) {
                WorkMeter.current?.add(rows: cost)
                cost = 0
                for environment in DatabaseKey.Environment.allCases {
                    let target = DatabaseTarget(container: container.name, environment: environment, scope: .public)
                    if try await zoneOfShare(guid, in: target) != nil { found = (container, target) }
                }
            }
            WorkMeter.current?.add(rows: page.count)
            next = after
        } while next != nil
        return found
    }

    /// - Throws: `ServerError.notInvited` for every reason why the account has no part, after as many reads.
    package func openShare(_ link: ShareLink, for account: AccountEntry) async throws -> OpenedShare {
        if let refusal = account.accountState.refusal { throw refusal }
        let caller = try await caller(account, at: link)
        var share = try await opened(try await resolveShares(link.request, in: link.target, by: caller), at: link)
        if case .invited(let participant, _)? = try await relation(to: link, of: caller)?.standing { share.invited = participant.invitation?.address }
        return share
    }

    /// Makes the account a participant, and a user of the container. A refused account becomes neither.
    package func acceptShare(_ link: ShareLink, for account: AccountEntry) async throws -> OpenedShare {
        _ = try await openShare(link, for: account)
        let user = try await admit(account: account.id, to: link.target.container, link.target.environment)
        let caller = Caller(.user(user), account: account.id)
        return try await opened(try await acceptShares(link.request, in: link.target, by: caller), at: link)
    }

    /// Whether an account may ask to take part in a share that is not for it. Costs as many reads for every share.
    package func takesRequests(_ link: ShareLink, of account: AccountEntry) async throws -> Bool {
        let caller = try await caller(account, at: link)
        guard let user = caller.userRecordName, let (standing, state) = try await relation(to: link, of: caller) else { return false }
        return standing == .stranger && state.takesRequests(of: user)
    }

    /// Returns what a share is to a user; nil: there is none.
    private func relation(to link: ShareLink, of caller: Caller) async throws -> (standing: ShareRelation, state: ShareState)? {
        let contact = try await contact(of: caller)
        guard let user = caller.userRecordName, let found = try await foundShare(link.guid, in: link.target, by: caller) else { return nil }
        let standing = ShareRelation(
            of: user, contact: contact, secret: ShareKey(link.guid).secret, in: found.share.state, owner: found.database.key.owner)
        return (standing, found.share.state)
    }

    /// Asks for access to a share. The account becomes a user of the container, unless it is refused.
    package func requestAccess(to link: ShareLink, for account: AccountEntry) async throws {
        if let refusal = account.accountState.refusal { throw refusal }
        guard try await takesRequests(link, of: account) else { throw ServerError.notInvited }
        let user = try await admit(account: account.id, to: link.target.container, link.target.environment)
        let answer = try await requestShareAccess(link.request, in: link.target, by: Caller(.user(user), account: account.id))
        if let error = answer.results.first?.error { throw error }
    }

    /// A name that no user has: the names of users are longer.
    private static let nobody = "_"

    private func caller(_ account: AccountEntry, at link: ShareLink) async throws -> Caller {
        let key = AppUser.key(link.target.container, link.target.environment)
        let user = try await registry.lookUp(UserEntry.self, key, in: .account(account.id))?.userRecordName
        return Caller(.user(user ?? Self.nobody), account: account.id)
    }

    private func opened(_ answer: SharesResponse, at link: ShareLink) async throws -> OpenedShare {
        switch answer.results.first {
        case .share(let metadata)?:
            return OpenedShare(metadata: metadata, app: try await registry.shownApp(of: link.target.container))
        case .failure(_, let error)?: throw error
        case nil: throw ServerError.notInvited
        }
    }
}

extension UserLookupInfo {
    /// The address or number as people write it; nil for a name or a digest.
    fileprivate var address: String? {
        switch self {
        case .emailAddress(let text), .phoneNumber(let text): text
        case .userRecordName, .contactHash: nil
        }
    }
}
