import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer

/// The right to manage one share on this server's page, for a short time. It is sealed, for one of two purposes: the
/// page's URL opens the page once, and the page's forms then act with a pass. A pass is good for nothing else.
struct ShareGrant: Codable, Hashable, Sendable {
    /// The user for whom the page acts.
    enum Holder: Codable, Hashable, Sendable {
        /// The session of the page that asked.
        case session(id: String, account: String, apiToken: String)
        /// The device that asked, or that an administrator acts with.
        case device(id: String, account: String)
        /// The owner, who has signed in on the page itself.
        /// - Parameter credentials: the digest of the account's credentials at that time.
        case signedIn(account: String, credentials: String)
        /// The owner, who has to sign in first.
        case nobody
    }

    /// Marks the grant as used.
    var id: String
    var holder: Holder
    var container: String
    var environment: String
    var scope: String
    var zoneName: String
    var ownerRecordName: String?
    var recordName: String?
    /// The title and type of a share that the page makes.
    var title: String?
    var type: String?
    var offer = ShareOffer()
    /// The only origin whose pages may frame the page, and hear of it; nil: none.
    var origin: String?
    /// Time of expiry, in seconds since 2001.
    var expires: Double

    /// - Throws: the system's error if it has no randomness.
    init(_ subject: ShareSubject, holder: Holder, expires: Double) throws {
        id = Hex.encode(try SecureRandom.bytes(16))
        self.holder = holder
        container = subject.target.container
        environment = subject.target.environment.rawValue
        scope = subject.target.scope.rawValue
        (zoneName, ownerRecordName) = (subject.zoneID.zoneName, subject.zoneID.ownerRecordName)
        recordName = subject.recordName
        self.expires = expires
    }

    /// The subject of the share; nil for a grant of another version of this server.
    var subject: ShareSubject? {
        guard let environment = DatabaseKey.Environment(rawValue: environment), let scope = DatabaseKey.Scope(rawValue: scope) else { return nil }
        return ShareSubject(
            target: DatabaseTarget(container: container, environment: environment, scope: scope),
            zoneID: ZoneID(zoneName: zoneName, ownerRecordName: ownerRecordName), recordName: recordName)
    }

    /// The account whose entry keeps which grants were used; nil: nobody has signed in.
    var account: String? {
        switch holder {
        case .session(_, let account, _), .device(_, let account), .signedIn(let account, _): account
        case .nobody: nil
        }
    }

    /// The entry in the account that marks the grant as used.
    var used: UsedConsent { UsedConsent(id: id, expires: Timestamp(secondsSince2001: expires)) }

    /// The URL that opens the page, or the sign-in before it.
    /// - Parameter root: the server's URL, without a trailing slash.
    func url(under root: String, _ sealer: TokenSealer) throws -> String {
        let sealed = try sealer.seal(encoding: self, for: .shareGrant)
        if holder == .nobody { return root + SignInAddress.path + SignInAddress.query([(name: "manage", value: sealed)]) }
        return root + ManagedSharePage.path + SignInAddress.query([(name: "grant", value: sealed)])
    }

    /// Opens a sealed grant; nil for one that is none, or has expired.
    static func opened(_ text: String?, for purpose: TokenSealer.Purpose, _ sealer: TokenSealer, at now: Timestamp) -> ShareGrant? {
        guard let text, let grant = sealer.open(ShareGrant.self, text, for: purpose), now.secondsSince2001 < grant.expires else { return nil }
        return grant
    }
}

extension API {
    /// `POST records/share-page`, an endpoint of this server's own: Apple's pages of shares are Apple's own.
    var recordsSharePage: Endpoint<SharePageRequest, SharePageResponse> {
        Endpoint(ask: { request, call in
            let subject = ShareSubject(target: call.target, zoneID: request.zoneID, recordName: request.recordName)
            for text in [request.title, request.type] { if let text, text.count > Limits.nameCharacters { throw ServerError.shareTextTooLong } }
            let holder: ShareGrant.Holder
            switch call.caller.credential {
            case .session(let id, let account, let apiToken): holder = .session(id: id, account: account, apiToken: apiToken)
            case .device(let id, let account): holder = .device(id: id, account: account)
            case .apiToken, .serverKey, nil: throw call.caller.noUser
            }
            var grant = try ShareGrant(subject, holder: holder, expires: cloud.now.secondsSince2001 + Limits.shareGrantSeconds)
            (grant.title, grant.type) = (request.title, request.type)
            grant.offer = try ShareOffer(access: request.access, permissions: request.permissions)
            if let origin = call.request.header("Origin") {
                // A policy cannot name a host in brackets.
                guard let origin = WebOrigin(origin), !origin.text.contains("[") else { throw ServerError.pageCannotFrame }
                grant.origin = origin.text
            }
            _ = try await cloud.managedShare(subject, by: call.caller)
            return SharePageResponse(url: try grant.url(under: errors.signIn.root(for: call.request), authenticator.sealer))
        })
    }
}

extension ServerError {
    fileprivate static let shareTextTooLong = ServerError(
        .badRequest, "the title or the type of the share is too long", field: "shareTitle",
        remedy: "Give at most \(Limits.nameCharacters) characters.")

    fileprivate static let pageCannotFrame = ServerError(
        .badRequest, "a page of this origin cannot show the share", field: "Origin",
        remedy: "Serve the page by http or https, under the name of a host.")
}
