import FoundationEssentials
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudWire
import NacreHTTPServer
import NacreLocks

/// The log of administrators' actions. See `docs/decisions/administration.md`.
extension AdminAPI {
    /// Routes that change nothing and show no user's records, although their requests have a body.
    static let readingRoutes: Set = ["/admin/1/schema/diff", "/admin/1/roles/why"]

    /// Logs each request that changes something or reads a database, before it is carried out.
    @Sendable func audit(_ request: HTTPRequest, _ next: Next) async throws -> HTTPResponse {
        guard request.method != .get, request.method != .head, let route = request.route, !Self.readingRoutes.contains(route) else {
            return await next(request)
        }
        let audited = AuditedRequest(request, registry: cloud.registry, rates: auditRates)
        // Without a body there is nothing to wait for.
        if request.method == .delete { try await audited.begin(with: Data()) }
        let response = await AuditedRequest.$current.withValue(audited) { await next(request) }
        await audited.end(response.status.rawValue)
        return response
    }

    /// `GET /admin/1/audit?after=…`
    @Sendable func listAudit(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let last = try request.query("after").map { text in
            guard let number = Int64(text), number > 0 else { throw ServerError.unknownPage }
            return number
        }
        let (page, next) = try await cloud.registry.auditLog(after: last)
        return try answer(AdminMessages.AuditLog(entries: page.map(AdminMessages.AuditLine.init), next: next.map(String.init)))
    }
}

/// A request that is in the log of administrators' actions, or will be once its body is read.
final class AuditedRequest: Sendable {
    @TaskLocal static var current: AuditedRequest?

    private let entry: AuditEntry
    private let registry: Registry
    private let rates: AuditRates
    private let number = Locked<Int64?>(nil)

    init(_ request: HTTPRequest, registry: Registry, rates: AuditRates) {
        (self.registry, self.rates) = (registry, rates)
        entry = AuditEntry(
            requestID: request.id, action: "\(request.method) \(request.route ?? "")", address: request.clientAddress)
    }

    /// Logs the request. Later parts of a check belong to its first request and are not logged.
    /// - Throws: an error if it cannot be logged, `THROTTLED` if its author has added as many entries as they may; the
    ///   request must not be carried out then.
    func begin(with body: Data) async throws { try await begin(about: Self.members(of: body)) }

    /// Logs a request whose body is a file.
    /// - Parameter members: values of its query.
    /// - Throws: as `begin(with:)`.
    func begin(about members: [String: String]) async throws {
        let subject = members.filter { Self.fields.contains($0.key) }.mapValues { String($0.onOneLine.prefix(Self.valueCharacters)) }
        // Each part from a session of the console is logged: the first may only have looked, and a later one removes.
        if ConsoleCaller.current == nil, Self.inParts.contains(entry.action), subject["after"] != nil { return }
        if let author = AdminAPI.authorOfEntries { try rates.take(from: author, at: registry.clock()) }
        var entry = entry
        entry.subject = subject
        // A sign-in has its author since the body was read.
        entry.author = AdminAPI.author
        let given = try await registry.add(entry)
        number.withLock { $0 = given }
    }

    /// Adds the status to the entry. If that fails, the entry stays without one: whether the request was carried out is
    /// then unknown.
    func end(_ status: Int) async {
        guard let number = number.withLock({ $0 }) else { return }
        try? await registry.end(auditEntry: number, status: status)
    }

    private static let inParts: Set = ["POST /admin/1/check", "POST /admin/1/assets/verify", "POST /admin/1/assets/collect"]

    /// Fields that name the subject of a request. Passwords, keys and codes are not among them.
    private static let fields: Set = [
        "after", "all", "app", "appName", "by", "container", "containerRate", "database", "email", "environment", "fallback", "familyName", "field",
        "fields",
        "givenName", "graceSeconds", "id", "index",
        "isAdministrator", "isDryRun", "isNow", "isPrivate", "justInTime", "keyID", "kind", "lifeSeconds", "name", "newEmail", "operation", "options",
        "origins",
        "owner",
        "participants", "path", "permission",
        "publicBytes", "publicPermission", "record", "recordType", "redirect", "redirects", "removesLost", "repairs", "resetsContainerRate",
        "resetsPublicBytes",
        "resetsUserBytes",
        "resetsUserRate", "role", "seconds", "showsRecords", "state", "subscription", "teamID", "to", "topic", "type", "url", "user", "userBytes",
        "userRate",
        "why", "zone",
    ]
    /// Characters of a value; longer values are cut. On this server: as long as a container's name may be.
    private static let valueCharacters = 255

    /// The body's own members; objects are left out.
    private static func members(of body: Data) -> [String: String] {
        (try? JSONDecoder().decode([String: AuditedValue].self, from: body))?.compactMapValues(\.text) ?? [:]
    }
}

/// A value of a request's body, as the log shows it; nil for objects and null.
private struct AuditedValue: Decodable {
    let text: String?

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if let text = try? value.decode(String.self) {
            self.text = text
        } else if let flag = try? value.decode(Bool.self) {
            text = String(flag)
        } else if let number = try? value.decode(Int64.self) {
            text = String(number)
        } else {
            text = (try? value.decode([String].self))?.joined(separator: " ")
        }
    }
}

extension AdminMessages.AuditLine {
    init(_ entry: AuditEntry) {
        self.init(
            number: entry.number, time: Timestamp(secondsSince2001: entry.time).millisecondsSince1970, action: entry.action, subject: entry.subject,
            address: entry.address, author: entry.author, status: entry.status, requestID: entry.requestID)
    }
}
