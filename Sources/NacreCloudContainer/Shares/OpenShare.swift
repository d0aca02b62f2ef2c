package import NacreCloudAccounts
import NacreCloudStorage
package import NacreCloudWire

/// A share as a signed-in user sees it who opens its URL in a browser.
package struct OpenedShare: Sendable {
    package var metadata: ShareMetadata
    /// The URLs of the container's app.
    package var app: ShareApp
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
        return ShareLink(guid: guid, target: found ?? DatabaseTarget(container: "-", environment: .development, scope: .public))
    }

    /// - Throws: `ServerError.notInvited` for every reason why the account has no part, after as many reads.
    package func openShare(_ link: ShareLink, for account: AccountEntry) async throws -> OpenedShare {
        if let refusal = account.accountState.refusal { throw refusal }
        let caller = try await caller(account, at: link)
        return try await opened(try await resolveShares(link.request, in: link.target, by: caller), at: link)
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
        let contact = try await contact(of: caller)
        guard let user = caller.userRecordName, let found = try await foundShare(link.guid, in: link.target, by: caller) else { return false }
        let standing = ShareRelation(
            of: user, contact: contact, secret: ShareKey(link.guid).secret, in: found.share.state, owner: found.database.key.owner)
        return standing == .stranger && found.share.state.takesRequests(of: user)
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
            let app = try await registry.container(link.target.container)?.shares
            return OpenedShare(metadata: metadata, app: app ?? ShareApp(app: nil, fallback: nil))
        case .failure(_, let error)?: throw error
        case nil: throw ServerError.notInvited
        }
    }
}
