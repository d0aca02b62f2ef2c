import FoundationEssentials
import NacreCloudContainer
import NacreCloudWire
import NacreHTTPServer
import NacreLocks

/// The log of what administrators did. See `docs/decisions/what-administrators-do-is-noted-first.md`.
extension AdminAPI {
    /// Routes that change nothing and show nobody's records, though they have a body.
    private static let readingRoutes: Set = ["/admin/1/schema/diff", "/admin/1/roles/why"]

    /// Has each request that changes something, or looks into a database, noted before it is done.
    @Sendable func audit(_ request: HTTPRequest, _ next: Next) async throws -> HTTPResponse {
        guard request.method != .get, request.method != .head, let route = request.route, !Self.readingRoutes.contains(route) else {
            return await next(request)
        }
        let audited = AuditedRequest(request, registry: cloud.registry)
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

/// A request that the log of what administrators did has, or will have once its body is read.
final class AuditedRequest: Sendable {
    @TaskLocal static var current: AuditedRequest?

    private let entry: AuditEntry
    private let registry: Registry
    private let number = Locked<Int64?>(nil)

    init(_ request: HTTPRequest, registry: Registry) {
        self.registry = registry
        entry = AuditEntry(
            requestID: request.id, action: "\(request.method) \(request.route ?? "")", address: request.remoteAddress,
            author: ManagementCaller.current?.author)
    }

    /// Notes the request. A part of a check behind the first is the same check.
    /// - Throws: what keeps it from being noted: it must not be done then.
    func begin(with body: Data) async throws {
        let subject = Self.subject(of: body)
        if Self.inParts.contains(entry.action), subject["after"] != nil { return }
        var entry = entry
        entry.subject = subject
        let given = try await registry.add(entry)
        number.withLock { $0 = given }
    }

    /// What cannot be noted any more leaves the entry without a status: whether it was done is open then.
    func end(_ status: Int) async {
        guard let number = number.withLock({ $0 }) else { return }
        try? await registry.end(auditEntry: number, status: status)
    }

    private static let inParts: Set = ["POST /admin/1/check", "POST /admin/1/assets/verify", "POST /admin/1/assets/collect"]

    /// Fields that say whom or what a request is about. Passwords, keys and codes are not among them.
    private static let fields: Set = [
        "after", "all", "container", "containerRate", "database", "email", "environment", "familyName", "field", "givenName", "graceSeconds", "id",
        "isAdministrator", "isDryRun", "isNow", "justInTime", "keyID", "kind", "lifeSeconds", "name", "newEmail", "operation", "options", "origins",
        "owner",
        "path",
        "publicBytes", "record", "recordType", "redirect", "removesLost", "repairs", "resetsContainerRate", "resetsPublicBytes", "resetsUserBytes",
        "resetsUserRate", "role", "state", "subscription", "teamID", "topic", "type", "user", "userBytes", "userRate", "zone",
    ]
    /// Longer values are cut. On this server: as long as a container's name may be.
    private static let valueCharacters = 255

    /// The body's own members; those that are objects are left out.
    private static func subject(of body: Data) -> [String: String] {
        guard let members = try? JSONDecoder().decode([String: AuditedValue].self, from: body) else { return [:] }
        return members.filter { fields.contains($0.key) }.compactMapValues { $0.text.map { String($0.onOneLine.prefix(valueCharacters)) } }
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
