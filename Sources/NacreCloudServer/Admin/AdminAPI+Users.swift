import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

/// Accounts. Nothing is shown of their users' data.
extension AdminAPI {
    func addUserRoutes(to router: inout Router) {
        router.post("/admin/1/users", bodyBytesMax: Limits.accountBodyBytes, createUser)
        router.get("/admin/1/users", listUsers)
        router.get("/admin/1/users/show", showUser)
        router.get("/admin/1/users/usage", userUsage)
        router.post("/admin/1/users/change-name", bodyBytesMax: Limits.accountBodyBytes, changeName)
        router.post("/admin/1/users/change-email", bodyBytesMax: Limits.accountBodyBytes, changeEmail)
        router.post("/admin/1/users/state", bodyBytesMax: Limits.accountBodyBytes, setState)
        router.post("/admin/1/users/delete", bodyBytesMax: Limits.accountBodyBytes, deleteUser)
        router.post("/admin/1/users/reset-password", bodyBytesMax: Limits.accountBodyBytes, openReset)
        router.post(Self.actingPath, bodyBytesMax: Limits.accountBodyBytes, actAsUser)
        router.get("/admin/1/users/passkeys", listPasskeys)
        router.post("/admin/1/users/passkeys/remove", bodyBytesMax: Limits.accountBodyBytes, removePasskey)
        router.get("/admin/1/sessions", listSessions)
        router.post("/admin/1/sessions/revoke", bodyBytesMax: Limits.accountBodyBytes, revokeSession)
    }

    /// `POST /admin/1/users`
    @Sendable func createUser(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewUser.self, of: request)
        let names = NameComponents(givenName: asked.givenName, familyName: asked.familyName)
        let account = try await AccountAPI.createAccount(
            email: asked.email, password: asked.password, names: names, in: cloud.registry, passwords)
        return try answer(AdminMessages.User(id: account.id, email: account.email), .created)
    }

    /// `POST /admin/1/users/change-name`
    @Sendable func changeName(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewNames.self, of: request)
        let names = NameComponents(givenName: asked.givenName, familyName: asked.familyName)
        let changed = try await cloud.registry.changeNames(of: try await account(asked.email), to: names)
        // If this fails, a task does it later.
        try? await cloud.refreshIdentity(of: changed.id)
        return try answer(
            AdminMessages.Names(id: changed.id, email: changed.email, givenName: changed.givenName, familyName: changed.familyName))
    }

    /// `POST /admin/1/users/change-email`: the administrator vouches for the new address, which may be the old one. If
    /// the server sends mail, the old address is notified.
    @Sendable func changeEmail(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewEmail.self, of: request)
        let changed = try await cloud.changeEmail(of: try await account(asked.email), to: asked.newEmail, verifies: false, isVouched: true)
        return try answer(AdminMessages.User(id: changed.id, email: changed.email))
    }

    /// `POST /admin/1/users/state`
    @Sendable func setState(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewUserState.self, of: request)
        guard let state = AccountState(rawValue: asked.state) else {
            throw ServerError(
                .badRequest, "unknown account state", field: "state",
                remedy: "States are \(AdminMessages.NewUserState.states.joined(separator: ", ")).")
        }
        let account = try await account(asked.email)
        defer { authenticator.forget(account: account.id) }
        let changed = try await cloud.registry.setState(of: account, to: state)
        return try answer(AdminMessages.UserState(id: changed.id, email: changed.email, state: changed.accountState.rawValue))
    }

    /// `GET /admin/1/users?after=…`
    @Sendable func listUsers(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let after = try request.query("after").map(Self.databaseID)
        let (page, next) = try await cloud.registry.accounts(after: after)
        let lines = page.map { account in
            AdminMessages.UserLine(id: account.id, email: account.email, created: account.began, isDeleted: account.isDeleted ?? false)
        }
        return try answer(AdminMessages.Users(users: lines, next: next.map { String($0.rawValue) }))
    }

    /// `GET /admin/1/users/show?email=…`
    @Sendable func showUser(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        guard let email = request.query("email") else { throw ServerError.missingQuery("email") }
        let account = try await account(email)
        let places = try await cloud.registry.appUsers(of: account.id)
        var signIns: [SignIn] = []
        var next: SignIn.Position?
        repeat {
            let page = try await cloud.registry.signIns(of: account.id, in: nil, after: next)
            signIns += page.page
            next = page.next
        } while next != nil
        return try answer(
            AdminMessages.UserDetails(
                id: account.id, email: account.email, givenName: account.givenName, familyName: account.familyName, created: account.began,
                isEmailVerified: account.isEmailVerified, phone: account.phone, state: account.accountState.rawValue,
                places: places.map {
                    .init(container: $0.container, environment: $0.environment.rawValue, userRecordName: $0.userRecordName)
                },
                sessions: signIns.count { $0.kind == .web }, devices: signIns.count { $0.kind == .account }))
    }

    /// `GET /admin/1/users/usage?email=…`: in every container and environment.
    @Sendable func userUsage(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        guard let email = request.query("email") else { throw ServerError.missingQuery("email") }
        let appUsers = try await cloud.registry.appUsers(of: try await account(email).id)
        return try answer(try await AccountAPI.usage(of: appUsers, in: cloud))
    }

    /// `POST /admin/1/users/delete`
    @Sendable func deleteUser(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewUserDeletion.self, of: request)
        let account = try await account(asked.email)
        defer { authenticator.forget(account: account.id) }
        try await cloud.registry.deleteAccount(account)
        // If this fails, a task does it later.
        try? await cloud.concealIdentity(of: account.id)
        return try answer(AdminMessages.User(id: account.id, email: account.email))
    }

    /// `POST /admin/1/users/reset-password`
    @Sendable func openReset(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewPasswordReset.self, of: request)
        let code = try ResetCode.make()
        let id = try await account(asked.email).id
        let expires = try await cloud.registry.openReset(of: id, digest: ResetCode.digest(code))
        let link = try authenticator.sealer.seal(encoding: CodeLink(account: id, code: code), for: .passwordCode)
        let url = SignInAddress.url(of: PasswordPages.newPath, link, at: publicURL)
        return try answer(AdminMessages.PasswordReset(code: code, url: url, expires: expires.millisecondsSince1970), .created)
    }

    /// The endpoint whose answer is a user's token.
    static let actingPath = "/admin/1/users/sign-in"

    /// `POST /admin/1/users/sign-in`: in development alone.
    @Sendable func actAsUser(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewActing.self, of: request)
        let environment = try asked.environment.map(Self.environment) ?? .development
        try await cloud.registry.requireContainer(asked.container)
        let account = try await account(asked.email)
        let entry = try await cloud.registry.createActingToken(
            for: account, in: asked.container, environment, author: Self.author ?? "command line")
        let user = try await cloud.admit(account: account.id, to: asked.container, environment)
        let ends = Timestamp(secondsSince2001: entry.ends ?? entry.created)
        return try answer(
            AdminMessages.Acting(
                token: try authenticator.accountToken(for: entry), userRecordName: user, id: entry.id, expires: ends.millisecondsSince1970), .created)
    }

    /// - Throws: `NOT_FOUND` if there is no such account: an administrator may know which accounts exist.
    func account(_ email: String) async throws -> AccountEntry {
        guard let account = try await cloud.registry.account(email: email) else {
            throw ServerError(.notFound, "no such account", field: "email", remedy: "Give the address of an account: nacre user list.")
        }
        return account
    }
}

extension AccountEntry {
    /// Time of creation, in milliseconds since 1970.
    fileprivate var began: Int64 { Timestamp(secondsSince2001: created).millisecondsSince1970 }
}
