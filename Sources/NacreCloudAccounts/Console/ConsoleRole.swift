/// The part that a session of the console has; each may do what the ones before it may.
package enum ConsoleRole: String, Hashable, Sendable, Codable, CaseIterable, Comparable {
    /// Sees how the server and its containers fare. Changes nothing, and sees no record, user or credential.
    case viewer
    /// Works on schemas in development and looks into databases; the audit log has each look.
    case developer
    /// Does what the command line does, except what is the owner's.
    case admin
    /// Lets others into the console, deletes containers, and has backups made, which hold every secret of the server.
    case owner

    package static func < (one: ConsoleRole, other: ConsoleRole) -> Bool { one.rank < other.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    /// Whether a session of the role may send a request to an endpoint.
    /// - Parameter action: Method and path, such as `GET /admin/1/server`.
    package func may(_ action: String) -> Bool { self >= Self.least[action] ?? .owner }

    /// The endpoints that a session of the role may ask, in alphabetical order.
    package var allowed: [String] { Self.least.keys.filter(may).sorted() }

    /// The endpoints for which the least role is the key; all others are the owner's.
    package static let actions: [ConsoleRole: [String]] = [
        .viewer: [
            "GET /admin/1/console/session", "POST /admin/1/console/sign-out", "GET /admin/1/proof", "GET /admin/1/server",
            "GET /admin/1/openapi.json", "GET /metrics", "GET /admin/1/telemetry", "GET /admin/1/requests",
            "GET /admin/1/alerts", "GET /admin/1/containers", "GET /admin/1/push/apns", "GET /admin/1/rates",
            "GET /admin/1/quotas", "GET /admin/1/schema", "GET /admin/1/schema/history", "GET /admin/1/schema/indexes",
            "POST /admin/1/schema/diff", "GET /admin/1/backup", "GET /admin/1/backups", "GET /admin/1/faults",
            "GET /admin/1/limits",
        ],
        .developer: [
            "GET /admin/1/audit", "GET /admin/1/mail", "GET /admin/1/logs", "GET /admin/1/tasks", "GET /admin/1/tokens", "GET /admin/1/usage",
            "GET /admin/1/users",
            "GET /admin/1/users/show", "GET /admin/1/users/usage",
            "GET /admin/1/users/passkeys",
            "GET /admin/1/sessions", "GET /admin/1/roles", "POST /admin/1/roles/why", "GET /admin/1/webhooks", "POST /admin/1/webhooks/test",
            "POST /admin/1/webhooks/resume", "POST /admin/1/alerts/test", "POST /admin/1/alerts/silence", "POST /admin/1/containers",
            "POST /admin/1/containers/change", "POST /admin/1/schema/import", "POST /admin/1/schema/indexes", "POST /admin/1/schema/reset",
            "POST /admin/1/schema/undo", "POST /admin/1/query/explain", "POST /admin/1/records/lookup", "POST /admin/1/subscriptions/list",
            "POST /admin/1/subscriptions/why", "POST /admin/1/shares/list", "POST /admin/1/shares/who", "POST /admin/1/tasks/retry",
            "POST /admin/1/faults", "POST /admin/1/faults/clear", "POST /admin/1/zones/list", "POST /admin/1/zones/changes",
            "POST /admin/1/assets/content", "GET /admin/1/schema/counts",
        ],
        .admin: [
            "POST /admin/1/schema/deploy", "POST /admin/1/containers/sharing", "POST /admin/1/tokens", "POST /admin/1/tokens/revoke",
            "POST /admin/1/tokens/rotate", "POST /admin/1/rates/change", "POST /admin/1/quotas/change", "POST /admin/1/push/apns/set",
            "POST /admin/1/push/apns/remove", "POST /admin/1/webhooks", "POST /admin/1/webhooks/delete", "POST /admin/1/zones/purge",
            "POST /admin/1/users", "POST /admin/1/users/change-name", "POST /admin/1/users/change-email", "POST /admin/1/users/state",
            "POST /admin/1/users/delete", "POST /admin/1/users/reset-password", "POST /admin/1/users/sign-in", "POST /admin/1/users/passkeys/remove",
            "POST /admin/1/sessions/revoke", "POST /admin/1/roles/assign", "POST /admin/1/roles/revoke", "POST /admin/1/check",
            "POST /admin/1/assets/verify", "POST /admin/1/assets/collect", "POST /admin/1/alerts", "POST /admin/1/alerts/remove",
            "DELETE /admin/1/backup", "POST /admin/1/backups/verify", "POST /admin/1/mail/test", "POST /admin/1/records/modify",
            "POST /admin/1/assets/upload", "POST /admin/1/shares/create", "POST /admin/1/shares/manage", "POST /admin/1/zones/create",
            "POST /admin/1/zones/resync", "POST /admin/1/users/resync",
        ],
        .owner: [
            "POST /admin/1/backup", "POST /admin/1/containers/delete", "POST /admin/1/console/links", "POST /admin/1/console/sign-out-all",
            "GET /admin/1/team",
            "POST /admin/1/team", "POST /admin/1/team/role", "POST /admin/1/team/remove", "POST /admin/1/team/invite",
            "POST /admin/1/team/passkeys/remove",
        ],
    ]

    private static let least: [String: ConsoleRole] = Dictionary(
        actions.flatMap { role, actions in actions.map { ($0, role) } }, uniquingKeysWith: { max($0, $1) })
}
