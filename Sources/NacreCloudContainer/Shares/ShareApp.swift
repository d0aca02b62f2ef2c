import NacreCloudAccounts
import NacreCloudStorage
package import NacreCloudWire

/// A container's app as its users meet it in a browser: its name, and the URLs to which the page of a share sends its
/// reader. An administrator sets them.
package struct ShareApp: Hashable, Sendable {
    /// An `https` URL that the app claims, or a URL of the app's own scheme; nil: there is none.
    package var app: String?
    /// The URL of a page about the app. CloudKit: the fallback URL that the console asks for, and `webpageURL`
    /// of `records/resolve`.
    package var fallback: String?
    /// The app's name; nil: none was given.
    package var name: String?
    /// Whether a browser that opens a share goes to the fallback at once, without a sign-in here; nil: no.
    package var redirects: Bool?

    package init(app: String? = nil, fallback: String? = nil, name: String? = nil, redirects: Bool? = nil) {
        (self.app, self.fallback, self.name, self.redirects) = (app, fallback, name, redirects)
    }

    /// - Throws: the fault of one of the members.
    package func checked() throws(ServerError) -> ShareApp {
        if let fault = PersonNameRule.fault(name, field: "appName") { throw fault }
        let fallback = try self.fallback.map { url throws(ServerError) in try SignInCallback(url, field: "fallback").url }
        if let fallback, WebOrigin(ofURL: fallback) == nil {
            throw .badValue("fallback", "invalid URL of a page", remedy: "Give the https URL of a page.")
        }
        if redirects == true, fallback?.hasPrefix("https://") != true {
            throw .badValue("redirects", "there is no https page to go to", remedy: "Give the https URL of a page as fallback too.")
        }
        return ShareApp(
            app: try app.map { url throws(ServerError) in try SignInCallback(url, field: "app").url }, fallback: fallback,
            name: PersonNameRule.kept(name), redirects: redirects == true ? true : nil)
    }

    /// Returns the app after a change.
    /// - Parameter change: a member that is nil stays; an empty text removes its member.
    func changed(by change: ShareApp) -> ShareApp {
        func next(_ new: String?, after old: String?) -> String? { new.map { $0.isEmpty ? nil : $0 } ?? old }
        return ShareApp(
            app: next(change.app, after: app), fallback: next(change.fallback, after: fallback), name: next(change.name, after: name),
            redirects: change.redirects ?? redirects)
    }

    /// Returns the URL that opens a share in the app; nil without an app.
    package func opens(_ share: String) -> String? {
        app.flatMap { try? SignInCallback($0, field: "app") }?.url(with: [(name: "share", value: share)])
    }

    /// Returns the fallback with a share's short GUID appended: right behind a final `/` or `=`, and otherwise as
    /// `shortGUID` in its query, so that it never becomes part of a host. nil without a fallback.
    package func page(of shortGUID: String) -> String? {
        guard let fallback, WebOrigin(ofURL: fallback) != nil, let page = try? SignInCallback(fallback, field: "fallback") else { return nil }
        if page.url.hasSuffix("/") || page.url.hasSuffix("=") { return page.url + PercentEncoding.ofQueryValue(shortGUID) }
        return page.url(with: [(name: "shortGUID", value: shortGUID)])
    }

    /// Returns the page to which a browser goes at once that opens a share; nil: it is shown the share's own page.
    package func redirect(of shortGUID: String) -> String? {
        redirects == true && fallback?.hasPrefix("https://") == true ? page(of: shortGUID) : nil
    }
}

/// An app's icon: a PNG that a page can show.
package struct AppIcon: Hashable, Sendable {
    package let base64: String

    /// - Parameter base64: a PNG, of which only the head is read.
    /// - Throws: the fault of the text.
    package init(base64: String) throws(ServerError) {
        let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        let png = base64.utf8.count <= Limits.iconBytes * 4 / 3 + 4 ? Base64.decode(base64) ?? [] : []
        func number(at index: Int) -> UInt32 { png[index..<index + 4].reduce(0) { $0 << 8 | UInt32($1) } }
        let sides = 1...UInt32(Limits.iconPixels)
        // The first chunk is the header: its length, IHDR, width and height.
        guard png.count <= Limits.iconBytes, png.count >= 24, png.starts(with: signature), png[12..<16].elementsEqual("IHDR".utf8),
            sides.contains(number(at: 16)), sides.contains(number(at: 20))
        else {
            throw .badValue(
                "icon", "invalid icon",
                remedy: "Give a PNG of at most \(Limits.iconPixels) pixels in each direction and \(Limits.iconBytes >> 10) KB.")
        }
        // Written anew: the text goes into pages.
        self.base64 = Base64.encode(png)
    }

    fileprivate init(_ entry: AppIconEntry) { base64 = entry.base64 }
}

/// A container's app, as a page shows it.
package struct ShownApp: Hashable, Sendable {
    package var container: String
    package var links: ShareApp
    package var icon: AppIcon?

    /// The name that an administrator gave, or else the last part of the container's identifier.
    package var name: String { links.name ?? container.split(separator: ".").last.map(String.init) ?? container }
}

extension ContainerEntry {
    package var shares: ShareApp { ShareApp(app: shareApp, fallback: shareFallback, name: appName, redirects: redirectsShares) }
}

extension Registry {
    /// Sets what users meet of a container's app.
    /// - Parameters:
    ///   - change: a member that is nil stays; an empty text removes its member.
    ///   - icon: nil leaves the icon as it is; an inner nil removes it.
    /// - Returns: the setting from now on, and whether there is an icon.
    package func setShareApp(_ change: ShareApp, icon: AppIcon?? = nil, of container: String) async throws -> (app: ShareApp, hasIcon: Bool) {
        try await write(.server) { database, now, transaction in
            var entry = try transaction.requireContainer(container, in: database, at: now)
            let shares = try entry.shares.changed(by: change).checked()
            let key = EntryKey(database, .appIcon, container)
            let hadIcon = try transaction.entry(AppIconEntry.self, container, in: database, at: now) != nil
            switch icon {
            case .some(.some(let icon)): try transaction.put([try AppIconEntry(base64: icon.base64).row(container, in: database)])
            case .some(.none): try transaction.remove([key])
            case .none: if shares == entry.shares { return .rollback((shares, hadIcon)) }
            }
            (entry.shareApp, entry.shareFallback) = (shares.app, shares.fallback)
            (entry.appName, entry.redirectsShares) = (shares.name, shares.redirects)
            try transaction.put([try entry.row(container, in: database)])
            return .commit((shares, icon.map { $0 != nil } ?? hadIcon))
        }
    }

    /// The app of a container, as a page shows it.
    package func shownApp(of container: String) async throws -> ShownApp {
        let links = try await self.container(container)?.shares ?? ShareApp()
        let icon = try await lookUp(AppIconEntry.self, container, in: .server)
        return ShownApp(container: container, links: links, icon: icon.map(AppIcon.init))
    }
}
