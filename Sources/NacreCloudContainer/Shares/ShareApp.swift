import NacreCloudAccounts
import NacreCloudStorage
package import NacreCloudWire

/// The URLs to which the page of a share sends its reader. An administrator sets them for a container.
package struct ShareApp: Hashable, Sendable {
    /// An `https` URL that the app claims, or a URL of the app's own scheme; nil: there is none.
    package var app: String?
    /// A page about the app. CloudKit: the fallback URL that the console asks for, and `webpageURL` of
    /// `records/resolve`.
    package var fallback: String?

    package init(app: String?, fallback: String?) {
        (self.app, self.fallback) = (app, fallback)
    }

    /// - Throws: the fault of one of the URLs.
    package func checked() throws(ServerError) -> ShareApp {
        let fallback = try self.fallback.map { url throws(ServerError) in try SignInCallback(url, field: "fallback").url }
        if let fallback, WebOrigin(ofURL: fallback) == nil {
            throw .badValue("fallback", "invalid URL of a page", remedy: "Give the https URL of a page.")
        }
        return ShareApp(app: try app.map { url throws(ServerError) in try SignInCallback(url, field: "app").url }, fallback: fallback)
    }

    /// Returns the URL that opens a share in the app; nil without an app.
    package func opens(_ share: String) -> String? {
        app.flatMap { try? SignInCallback($0, field: "app") }?.url(with: [(name: "share", value: share)])
    }
}

extension ContainerEntry {
    package var shares: ShareApp { ShareApp(app: shareApp, fallback: shareFallback) }
}

extension Registry {
    /// Sets the URLs to which the page of a container's shares sends its reader.
    /// - Parameter change: a URL that is nil stays; one that is empty is removed.
    /// - Returns: the URLs from now on.
    package func setShareApp(_ change: ShareApp, of container: String) async throws -> ShareApp {
        @Sendable func next(_ new: String?, after old: String?) -> String? { new.map { $0.isEmpty ? nil : $0 } ?? old }
        return try await write(.server) { database, now, transaction in
            guard var entry = try transaction.entry(ContainerEntry.self, container, in: database, at: now) else { throw ServerError.noContainer }
            let shares = try ShareApp(
                app: next(change.app, after: entry.shareApp), fallback: next(change.fallback, after: entry.shareFallback)
            ).checked()
            if shares == entry.shares { return .rollback(shares) }
            (entry.shareApp, entry.shareFallback) = (shares.app, shares.fallback)
            try transaction.put([try entry.row(container, in: database)])
            return .commit(shares)
        }
    }
}
