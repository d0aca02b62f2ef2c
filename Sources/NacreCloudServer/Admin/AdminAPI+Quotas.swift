import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

/// Bytes that databases hold, and their quotas. Nothing is shown of the contents.
extension AdminAPI {
    /// `GET /admin/1/usage?container=…&environment=…&user=…&after=…`
    @Sendable func usage(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let (container, environment) = try Self.place(request)
        guard let user = request.query("user") else {
            let found = try await cloud.usage(of: container, environment, after: try request.query("after").map(Self.databaseID))
            let users = found.users.map { AdminMessages.UserUsage(user: $0.userRecordName, bytes: $0.usage.bytes, limit: $0.usage.limit) }
            return try answer(
                AdminMessages.Usage(
                    public: AdminMessages.PublicUsage(bytes: found.ofPublic.bytes, limit: found.ofPublic.limit), users: users,
                    next: found.next.map { String($0.rawValue) }))
        }
        try await cloud.registry.requireContainer(container)
        let name = try await userRecordName(user, in: container, environment)
        try await requireUser(name, in: container, environment)
        let usage = try await cloud.usage(of: name, in: container, environment)
        return try answer(AdminMessages.Usage(users: [AdminMessages.UserUsage(user: name, bytes: usage.bytes, limit: usage.limit)]))
    }

    /// `GET /admin/1/quotas?container=…&environment=…`
    @Sendable func quotas(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let (container, environment) = try Self.place(request)
        return try answer(AdminMessages.Quotas(try await cloud.quotas(of: container, environment)))
    }

    /// `POST /admin/1/quotas/change`
    @Sendable func changeQuotas(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewQuotas.self, of: request)
        let environment = try Self.environment(asked.environment)
        try Self.requireOne(of: asked.userBytes != nil, asked.resetsUserBytes, "userBytes")
        try Self.requireOne(of: asked.publicBytes != nil, asked.resetsPublicBytes, "publicBytes")
        let after = try await cloud.setQuotas(of: asked.container, environment) { entry in
            if let bytes = asked.userBytes { entry.userBytes = bytes }
            if let bytes = asked.publicBytes { entry.publicBytes = bytes }
            if asked.resetsUserBytes == true { entry.userBytes = nil }
            if asked.resetsPublicBytes == true { entry.publicBytes = nil }
        }
        return try answer(AdminMessages.Quotas(after))
    }

    /// - Throws: `BAD_REQUEST` if a number is both given and reset.
    static func requireOne(of isGiven: Bool, _ resets: Bool?, _ field: String) throws(ServerError) {
        guard isGiven, resets == true else { return }
        throw ServerError(.badRequest, "both a number and the server's own", field: field, remedy: "Give one of them.")
    }

    private static func place(_ request: HTTPRequest) throws -> (String, DatabaseKey.Environment) {
        guard let container = request.query("container") else { throw ServerError.missingQuery("container") }
        guard let environment = request.query("environment") else { throw ServerError.missingQuery("environment") }
        return (container, try Self.environment(environment))
    }

    /// The database after which a list continues.
    static func databaseID(_ text: String) throws -> DatabaseID {
        guard let number = Int64(text) else { throw ServerError.unknownPage }
        return DatabaseID(rawValue: number)
    }
}

extension AdminMessages.Quotas {
    fileprivate init(_ found: (quotas: Quotas, entry: QuotaEntry)) {
        self.init(
            userBytes: found.quotas.userBytes, publicBytes: found.quotas.publicBytes, isUserBytesOwn: found.entry.userBytes != nil,
            isPublicBytesOwn: found.entry.publicBytes != nil)
    }
}
