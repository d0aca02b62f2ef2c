package import NacreCloudStorage

/// The requests that telemetry sums up together: one operation on the databases of one kind, container and environment.
package struct TelemetrySeries: Hashable, Sendable {
    /// The databases of a series. A user's private and shared databases are one kind, so that the figures do not tell
    /// who shares.
    package enum Databases: String, Hashable, Sendable, CaseIterable {
        /// Requests without a database, and requests whose sender was not let in.
        case none = ""
        case `public`
        case personal = "private+shared"

        package init(_ scope: DatabaseKey.Scope) { self = scope == .public ? .public : .personal }
    }

    package var operation: String
    package var databases: Databases
    package var container: String
    package var environment: String

    package init(operation: String, databases: Databases = .none, container: String = "", environment: String = "") {
        (self.operation, self.databases, self.container, self.environment) = (operation, databases, container, environment)
    }

    /// - Parameters:
    ///   - operation: a text of the server's.
    ///   - database: the database of an authenticated request, which is known to exist. Names that a client made up are
    ///     no part of a series.
    package init(operation: String, on database: DatabaseKey?) {
        self.init(
            operation: operation, databases: database.map { Databases($0.scope) } ?? .none, container: database?.container ?? "",
            environment: database?.environment.rawValue ?? "")
    }

    /// The series that stands for those beyond the bound of a slot. Personal ones have one of their own, which is
    /// hidden by the same rule.
    package var other: TelemetrySeries { TelemetrySeries(operation: "other", databases: databases == .personal ? .personal : .none) }

    /// The series of the bytes that a container's databases hold.
    package static func storage(_ databases: Databases, of container: String, _ environment: DatabaseKey.Environment) -> TelemetrySeries {
        TelemetrySeries(operation: storageOperation, databases: databases, container: container, environment: environment.rawValue)
    }

    private static let storageOperation = "storage"

    /// The series of the requests that change what this one says is stored; nil: it is not about what is stored.
    var changing: TelemetrySeries? {
        guard operation == Self.storageOperation else { return nil }
        return TelemetrySeries(operation: "records/modify", databases: databases, container: container, environment: environment)
    }

    /// Whether its figures are shown only if they are sums over enough users.
    package var isPersonal: Bool { databases == .personal }

    /// The text under which it is kept. No part holds a line feed.
    package var text: String { [operation, databases.rawValue, container, environment].joined(separator: "\n") }

    package init?(text: String) {
        let parts = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 4, let databases = Databases(rawValue: parts[1]) else { return nil }
        self.init(operation: parts[0], databases: databases, container: parts[2], environment: parts[3])
    }
}

/// The series that a question is about; nil: any.
package struct TelemetryFilter: Hashable, Sendable {
    package var operation: String?
    package var databases: TelemetrySeries.Databases?
    package var container: String?
    package var environment: String?

    package init(
        operation: String? = nil, databases: TelemetrySeries.Databases? = nil, container: String? = nil, environment: String? = nil
    ) {
        (self.operation, self.databases, self.container, self.environment) = (operation, databases, container, environment)
    }

    /// Whether figures may be left out of an answer, because they are of few users. It does not tell whether any are:
    /// that would be that somebody asked.
    package var mayHide: Bool { (databases ?? .personal) == .personal }

    package func admits(_ series: TelemetrySeries) -> Bool {
        (operation ?? series.operation) == series.operation && (databases ?? series.databases) == series.databases
            && (container ?? series.container) == series.container && (environment ?? series.environment) == series.environment
    }
}
