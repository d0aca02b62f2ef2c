import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer

/// Users' shares, and the access to a record that they give. All requests are about private databases, and are logged.
extension AdminAPI {
    func addShareRoutes(to router: inout Router) {
        router.post("/admin/1/shares/list", bodyBytesMax: Limits.accountBodyBytes, listShares)
        router.post("/admin/1/shares/who", bodyBytesMax: Limits.accountBodyBytes, explainShare)
        router.post("/admin/1/shares/create", bodyBytesMax: Limits.accountBodyBytes, createShare)
        router.post("/admin/1/shares/manage", bodyBytesMax: Limits.accountBodyBytes, manageShare)
    }

    /// `POST /admin/1/shares/list`
    @Sendable private func listShares(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewShareList.self, of: request)
        let (owner, environment) = try await owner(asked.user, of: asked.container, environment: asked.environment)
        let found = try await cloud.listShares(of: owner, in: asked.container, environment)
        return try answer(
            AdminMessages.Shares(
                shares: found.map { line in
                    AdminMessages.ShareLine(
                        zone: line.zoneName, share: line.share, root: line.root, publicPermission: line.publicPermission.rawValue,
                        participants: line.participants)
                }))
    }

    /// `POST /admin/1/shares/who`
    @Sendable private func explainShare(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewShareQuestion.self, of: request)
        let (owner, environment) = try await owner(asked.user, of: asked.container, environment: asked.environment)
        let found = try await cloud.explainShare(ofRecord: asked.record, zone: asked.zone, of: owner, in: asked.container, environment)
        return try answer(
            AdminMessages.ShareAnswer(
                share: found.share, root: found.root, path: found.path,
                people: found.people.map { person in
                    AdminMessages.SharePerson(
                        user: person.userRecordName, invited: person.invited, role: person.role.rawValue, mayRead: person.mayRead,
                        mayWrite: person.mayWrite, because: person.because)
                }))
    }

    /// `POST /admin/1/shares/create`: as the owner, in development alone.
    @Sendable private func createShare(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewShare.self, of: request)
        guard try Self.environment(asked.environment) == .development else { throw ServerError.actsInDevelopment }
        let (owner, environment) = try await owner(asked.user, of: asked.container, environment: asked.environment)
        let zone = ZoneID(zoneName: asked.zone)
        let change = RecordsModifyRequest(operations: [RecordOperation(.create, try asked.change)], zoneID: zone)
        let target = DatabaseTarget(container: asked.container, environment: environment, scope: .private)
        let saved = try await cloud.modifyRecords(change, in: target, by: Caller(.user(owner)), digest: SHA256.digest([]))
        switch saved.records.first {
        case .failure(_, let error)?: throw error
        case .record(let record)?:
            guard let share = record.sharing?.value else { throw ServerError.shareNotMade }
            return try answer(
                AdminMessages.CreatedShare(
                    zone: asked.zone, share: record.recordName, root: asked.record, url: "\(publicURL)/share/\(share.shortGUID)",
                    publicPermission: share.publicPermission.rawValue, participants: share.participants.count), .created)
        default: throw ServerError.shareNotMade
        }
    }

    /// `POST /admin/1/shares/manage`: in development the page acts as the owner, by a token of an administrator. In
    /// production the owner signs in on it.
    @Sendable private func manageShare(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewShareLink.self, of: request)
        let (owner, environment) = try await owner(asked.user, of: asked.container, environment: asked.environment)
        let target = DatabaseTarget(container: asked.container, environment: environment, scope: .private)
        let subject = ShareSubject(target: target, zoneID: ZoneID(zoneName: asked.zone, ownerRecordName: owner), recordName: asked.record)
        _ = try await cloud.managedShare(subject, by: Caller(.user(owner)))
        let ends = cloud.now + Limits.shareLinkSeconds
        let holder: ShareGrant.Holder
        switch environment {
        case .production: holder = .nobody
        case .development:
            let account = try await account(asked.user)
            let acting = try await cloud.registry.createActingToken(
                for: account, in: asked.container, environment, author: Self.author ?? "command line")
            holder = .device(id: acting.id, account: account.id)
        }
        let url = try ShareGrant(subject, holder: holder, expires: ends.secondsSince2001).url(under: publicURL, authenticator.sealer)
        return try answer(AdminMessages.ShareLink(url: url, signsIn: holder == .nobody, expires: ends.millisecondsSince1970), .created)
    }

    /// Returns the user record name of a user whose zones are asked for.
    func owner(
        _ user: String, of container: String, environment: String
    ) async throws -> (name: String, environment: DatabaseKey.Environment) {
        let environment = try Self.environment(environment)
        try await cloud.registry.requireContainer(container)
        let name = try await userRecordName(user, in: container, environment)
        try await requireUser(name, in: container, environment)
        return (name, environment)
    }
}

extension AdminMessages.NewShare {
    /// The save that makes the share.
    fileprivate var change: RecordChange {
        get throws {
            let title = title.map { [RecordFields.Field("cloudkit.title", .string($0))] } ?? []
            let allowed = try Self.permission(permission, or: .readOnly, of: [.readOnly, .readWrite], field: "permission")
            let invited = (participants ?? []).map { name in
                ShareParticipant(identity: ParticipantIdentity(lookupInfo: Self.lookupInfo(name)), permission: allowed)
            }
            return RecordChange(
                recordName: record == nil ? ShareNames.ofZone : nil, recordType: ShareNames.recordType, set: RecordFields(title),
                sharing: ShareChange(
                    publicPermission: try Self.permission(
                        publicPermission, or: .none, of: [.none, .readOnly, .readWrite], field: "publicPermission"),
                    participants: invited, forRecord: record))
        }
    }

    private static func permission(
        _ text: String?, or usual: SharePermission, of allowed: [SharePermission], field: String
    ) throws -> SharePermission {
        guard let text else { return usual }
        guard let permission = SharePermission(rawValue: text), allowed.contains(permission) else {
            throw ServerError(
                .badRequest, "unknown permission", field: field, remedy: "Take \(allowed.map(\.rawValue).joined(separator: ", ")).")
        }
        return permission
    }

    /// An e-mail address, a phone number that begins with a plus, or a user record name.
    private static func lookupInfo(_ name: String) -> UserLookupInfo {
        if name.contains("@") { return .emailAddress(name) }
        return name.hasPrefix("+") ? .phoneNumber(name) : .userRecordName(name)
    }
}

extension ServerError {
    fileprivate static let shareNotMade = ServerError(.internalError, "the save of the share has no result")
}
