import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer

/// The people of the team, who sign in to the console with passkeys.
extension AdminAPI {
    /// The endpoint that asks for a challenge, which needs no credential.
    static let consoleChallengePath = "/admin/1/console/challenge"

    func addTeamRoutes(to router: inout Router) {
        router.get("/admin/1/team", listTeam)
        router.post("/admin/1/team", bodyBytesMax: Limits.accountBodyBytes, invite)
        router.post("/admin/1/team/invite", bodyBytesMax: Limits.accountBodyBytes, inviteAgain)
        router.post("/admin/1/team/passkeys/remove", bodyBytesMax: Limits.accountBodyBytes, removeTeamPasskey)
        router.post("/admin/1/team/role", bodyBytesMax: Limits.accountBodyBytes, setTeamRole)
        router.post("/admin/1/team/remove", bodyBytesMax: Limits.accountBodyBytes, removeTeamMember)
        router.post(Self.consoleChallengePath, bodyBytesMax: Limits.accountBodyBytes, consoleChallenge)
    }

    /// `GET /admin/1/team`
    @Sendable private func listTeam(_: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        try answer(AdminMessages.Team(members: try await cloud.registry.team().map { AdminMessages.TeamLine($0) }))
    }

    /// `POST /admin/1/team`
    @Sendable private func invite(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewTeamRole.self, of: request)
        let role = try ConsoleRole(asked: asked.role)
        let token = try ConsoleGate.newToken()
        return try invited(try await cloud.registry.addTeamMember(asked.name, role: role, invitation: ConsoleGate.digest(token)), by: token)
    }

    /// `POST /admin/1/team/invite`
    @Sendable private func inviteAgain(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.TeamMemberName.self, of: request)
        let token = try ConsoleGate.newToken()
        return try invited(try await cloud.registry.renewInvitation(ofTeamMember: asked.name, ConsoleGate.digest(token)), by: token)
    }

    private func invited(_ member: TeamMember, by token: String) throws -> HTTPResponse {
        let ends = Timestamp(secondsSince2001: member.invitation?.expires ?? member.created)
        return try answer(
            AdminMessages.InvitedTeamMember(
                member: AdminMessages.TeamLine(member), path: "\(ConsoleFiles.path)/#invitation=\(token)", consoleURL: consoleURL,
                expires: ends.millisecondsSince1970),
            .created)
    }

    /// `POST /admin/1/team/passkeys/remove`
    @Sendable private func removeTeamPasskey(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewTeamPasskeyRemoval.self, of: request)
        return try answer(AdminMessages.TeamLine(try await cloud.registry.removePasskey(asked.id, ofTeamMember: asked.name)))
    }

    /// `POST /admin/1/team/role`
    @Sendable private func setTeamRole(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewTeamRole.self, of: request)
        let changed = try await cloud.registry.setRole(try ConsoleRole(asked: asked.role), ofTeamMember: asked.name)
        return try answer(AdminMessages.TeamLine(changed))
    }

    /// `POST /admin/1/team/remove`
    @Sendable private func removeTeamMember(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.TeamMemberName.self, of: request)
        return try answer(AdminMessages.TeamLine(try await cloud.registry.removeTeamMember(asked.name)))
    }

    // MARK: Passkeys

    /// `POST /admin/1/console/challenge`
    ///
    /// The server keeps no challenge, so that strangers cannot use up a place for them.
    @Sendable private func consoleChallenge(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked: AdminMessages.NewConsoleChallenge = try await openBody(of: request)
        guard let party = try relyingParty(request) else { throw ServerError.noPasskeysHere }
        var member: TeamMember?
        if let token = asked.invitation {
            guard let invited = try await cloud.registry.teamMember(invitedBy: ConsoleGate.digest(token)) else { throw HTTPError.noConsoleLink }
            member = invited
        }
        let challenge = try ConsoleQuestion(ends: cloud.now.secondsSince2001 + Limits.consentSeconds).sealed(by: authenticator.sealer)
        return try answer(
            AdminMessages.ConsoleChallenge(
                challenge: challenge, relyingParty: party.id, member: member.map { AdminMessages.TeamLine($0) }))
    }

    /// The member whose passkey has signed a challenge of this server, which is then used up.
    func teamMember(of passkey: AdminMessages.ConsolePasskey, _ request: HTTPRequest) async throws -> TeamMember {
        guard let party = try relyingParty(request),
            let assertion = PasskeyAssertion(
                user: passkey.user, credential: passkey.credential, client: passkey.client, data: passkey.data, signature: passkey.signature),
            let (question, used) = question(of: assertion.client, for: party)
        else { throw ServerError.wrongPasskey }
        let known = try await cloud.registry.teamMember(assertion.account)?.passkeys.first { $0.id == assertion.credential }
        guard try assertion.fault(for: question, by: known) == nil,
            let member = try await cloud.registry.usePasskey(
                assertion.credential, ofMember: assertion.account, counter: assertion.counter, using: used)
        else { throw ServerError.wrongPasskey }
        return member
    }

    /// The member who has made a passkey by an invitation, which is then used up, and the passkey's ID.
    func teamMember(
        by invitation: AdminMessages.ConsoleInvitation, _ request: HTTPRequest
    ) async throws -> (member: TeamMember, passkey: String) {
        let (party, digest) = (try relyingParty(request), ConsoleGate.digest(invitation.token))
        guard let invited = try await cloud.registry.teamMember(invitedBy: digest) else { throw HTTPError.noConsoleLink }
        let client = Base64URL.decode(invitation.client) ?? []
        guard let party, let (question, _) = question(of: client, for: party) else {
            throw ServerError.passkeyRefused(.challenge)
        }
        let (made, key) = try NewPasskey.read(client: client, attestation: Base64URL.decode(invitation.attestation) ?? [], for: question)
        guard let member = try await cloud.registry.addPasskey(made, publicKey: key, toMember: invited.id, invitedBy: digest) else {
            throw HTTPError.noConsoleLink
        }
        return (member, made.id)
    }

    /// The question that a browser's data answer, if this server asked it and it has not expired; nil otherwise.
    private func question(of client: [UInt8], for party: RelyingParty) -> (PasskeyQuestion, UsedConsent)? {
        guard let challenge = PasskeyClientData(json: client)?.challenge,
            let asked = ConsoleQuestion(sealed: challenge, by: authenticator.sealer), cloud.now.secondsSince2001 < asked.ends
        else { return nil }
        return (party.question(challenge), UsedConsent(id: asked.id, expires: Timestamp(secondsSince2001: asked.ends)))
    }

    /// The console's page as a relying party, by the origin that the browser names; nil if browsers have no passkeys
    /// for it.
    /// - Throws: 403 if the request is not the page's: the origin is then not the host of this server.
    private func relyingParty(_ request: HTTPRequest) throws -> RelyingParty? {
        try console.requirePage(request)
        return request.header("Origin").flatMap(RelyingParty.init(origin:))
    }
}

/// A challenge for a passkey, which the server seals and need not keep.
private struct ConsoleQuestion: Codable {
    /// Random: the name under which a member's entry has it as used up.
    let id: String
    /// Seconds since 2001.
    let ends: Double

    init(ends: Double) throws {
        (id, self.ends) = (try RelyingParty.newChallenge(), ends)
    }

    /// Opens a challenge; nil if this server did not make it.
    init?(sealed challenge: String, by sealer: TokenSealer) {
        guard let bytes = Base64URL.decode(challenge), let opened = sealer.open(Self.self, Base64.encode(bytes), for: .consoleChallenge) else {
            return nil
        }
        self = opened
    }

    /// Returns the challenge in base64 for URLs.
    func sealed(by sealer: TokenSealer) throws -> String {
        Base64URL.text(standard: try sealer.seal(encoding: self, for: .consoleChallenge))
    }
}

extension ConsoleRole {
    /// Reads a role that a request names.
    init(asked: String) throws {
        guard let role = ConsoleRole(rawValue: asked) else {
            throw ServerError(
                .badRequest, "unknown role", field: "role", remedy: "Take \(ConsoleRole.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        self = role
    }
}

extension ServerError {
    fileprivate static let noPasskeysHere = ServerError(
        .badRequest, "browsers have no passkeys for this address", field: "Origin",
        remedy: "Open the console as localhost, or by a name over HTTPS that nacre serve --host or --public-url has.")
}
