import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

/// `/manage-share`: the page on which a user manages one share, in a frame of an app's page or in a window of its own.
///
/// A grant opens the page once. Its forms act with a pass, which is for that share alone and ends soon. Another origin
/// can neither frame the page nor read it; no form of another page is taken. The page works without a script.
struct ManagedSharePage: Sendable {
    static let path = "/manage-share"

    let page: SignInPage

    private var cloud: Cloud { page.accounts.cloud }

    func addRoutes(to router: inout Router) {
        router.get(Self.path) { request, _ in try await page.shown(request) { try await open(request) } }
        router.post(Self.path, bodyBytesMax: Limits.accountBodyBytes) { request, _ in try await page.shown(request) { try await step(request) } }
    }

    // MARK: Opening

    private func open(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard let grant = ShareGrant.opened(request.query("grant"), for: .shareGrant, page.sealer, at: page.now), grant.account != nil else {
            throw ServerError.grantEnded
        }
        // A browser that fetches a page in advance shows it to nobody, and its grant would be used up.
        guard request.method == .get, request.header("Sec-Purpose") == nil else { throw ServerError.grantOpensAPage }
        return try await told(grant, request) {
            let caller = try await caller(of: grant)
            guard let id = grant.account, let account = try await cloud.registry.account(id: id) else { throw ServerError.grantEnded }
            do {
                try await cloud.registry.use(grant.used, of: account)
            } catch let error as ServerError where error == .consentUsed {
                throw ServerError.grantUsed
            }
            return try await shown(grant.pass(at: page.now), caller, request)
        }
    }

    /// Opens the page for its owner, who has signed in for it.
    /// - Parameter sealed: the grant of the link.
    func open(_ sealed: String, _ consent: SignInConsent, _ account: AccountEntry, _ request: HTTPRequest) async throws -> HTTPResponse {
        guard var grant = ShareGrant.opened(sealed, for: .shareGrant, page.sealer, at: page.now), grant.holder == .nobody else {
            throw ServerError.grantEnded
        }
        grant.holder = .signedIn(account: account.id, credentials: consent.credentials)
        let pass = grant.pass(at: page.now)
        return try await shown(pass, try await caller(of: pass), request)
    }

    /// The user for whom the page acts.
    /// - Throws: an error if the sign-in behind the grant has ended, or if its user is not the one whom the grant
    ///   names.
    private func caller(of grant: ShareGrant) async throws -> Caller {
        guard let target = grant.subject?.target else { throw ServerError.grantEnded }
        let caller: Caller
        switch grant.holder {
        case .session(let id, let account, let apiToken):
            caller = try await page.authenticator.holder(
                of: .session(id: id, account: account, apiToken: apiToken), container: target.container, environment: target.environment)
        case .device(let id, let account):
            caller = try await page.authenticator.holder(
                of: .device(id: id, account: account), container: target.container, environment: target.environment)
        case .signedIn(let id, let credentials):
            guard let account = try await cloud.registry.account(id: id), SignInConsent.digest(account) == credentials else {
                throw ServerError.accountChanged
            }
            let place = try await cloud.registry.appUsers(of: id).first {
                $0.container == target.container && $0.environment == target.environment && $0.userRecordName == grant.ownerRecordName
            }
            guard let place else { throw ServerError.shareIsManagedByOthers }
            caller = Caller(.user(place.userRecordName), account: id).with(account.accountState)
        case .nobody: throw ServerError.grantEnded
        }
        guard caller.userRecordName != nil else { throw caller.noUser }
        return caller
    }

    // MARK: Forms

    private func step(_ request: HTTPRequest) async throws -> HTTPResponse {
        try page.requireOwnForm(request)
        let fields = FormFields(try await request.accountBody())
        guard let pass = ShareGrant.opened(fields["pass"], for: .sharePass, page.sealer, at: page.now), let subject = pass.subject else {
            throw ServerError.grantEnded
        }
        return try await told(pass, request) {
            let caller = try await caller(of: pass)
            do {
                let edit = try ShareEdit(fields, pass)
                try pass.offer.require(edit)
                try await cloud.editShare(edit, of: subject, by: caller)
                return try await shown(pass, caller, notice: edit.notice, request)
            } catch let error as ServerError where error.code != .internalError {
                return try await shown(pass, caller, problem: page.errors.heard(error, request), request)
            }
        }
    }

    // MARK: Pages

    private func shown(
        _ pass: ShareGrant, _ caller: Caller, notice: HTML? = nil, problem: ServerError? = nil, _ request: HTTPRequest
    ) async throws -> HTTPResponse {
        guard let subject = pass.subject else { throw ServerError.grantEnded }
        let share = try await cloud.managedShare(subject, by: caller)
        var names: [String: String] = [:]
        for participant in share?.sharing?.value.participants ?? [] {
            guard let user = participant.identity.userRecordName, names[user] == nil else { continue }
            WorkMeter.current?.add(rows: 1)
            names[user] = try await cloud.identity(of: user, in: subject.target).nameComponents?.spoken
        }
        let view = ManagedShareView(
            pass: pass, sealed: try page.sealer.seal(encoding: pass, for: .sharePass), share: share, names: names,
            url: share?.sharing.map { "\(page.address.root(for: request))/share/\($0.value.shortGUID)" }, notice: notice, problem: problem)
        let status = problem.map { HTTPStatus(rawValue: $0.code.status) } ?? .ok
        return try SignInAnswer.page(status, view.view, retryAfter: problem?.retryAfter, framedBy: pass.origin)
    }

    /// Shows errors on a page that the grant's origin may frame.
    private func told(_ grant: ShareGrant, _ request: HTTPRequest, _ work: () async throws -> HTTPResponse) async throws -> HTTPResponse {
        do {
            return try await work()
        } catch let error as CancellationError {
            throw error
        } catch {
            let heard = page.errors.heard(error, request)
            return try SignInAnswer.page(
                HTTPStatus(rawValue: heard.code.status), ManagedShareView.problem(heard, of: grant), retryAfter: heard.retryAfter,
                framedBy: grant.origin)
        }
    }
}

extension ShareGrant {
    /// The grant as the forms of an opened page hold it.
    fileprivate func pass(at now: Timestamp) -> ShareGrant {
        var pass = self
        pass.expires = now.secondsSince2001 + Limits.sharePageSeconds
        return pass
    }
}

extension NameComponents {
    /// The name as people say it; nil: there is none.
    var spoken: String? {
        let name = [givenName, familyName].compactMap(\.self).joined(separator: " ")
        return name.isEmpty ? nil : name
    }
}

extension ShareEdit {
    /// Reads the fields of a form.
    fileprivate init(_ fields: FormFields, _ pass: ShareGrant) throws(ServerError) {
        func permission(_ values: [SharePermission] = [.readOnly, .readWrite]) throws(ServerError) -> SharePermission {
            guard let permission = SharePermission(rawValue: fields["permission"] ?? ""), values.contains(permission) else {
                throw .unknownStep
            }
            return permission
        }
        func text(_ name: String) throws(ServerError) -> String {
            guard let text = fields[name], !text.isEmpty else { throw .nobodyNamed }
            return text
        }
        let anybody: [SharePermission] = [.none, .readOnly, .readWrite]
        switch fields["step"] {
        case "begin": self = .begin(title: pass.title, type: pass.type, try permission(anybody))
        case "invite":
            let who = try text("who").trimmed
            self = .invite(who.contains("@") ? .emailAddress(who) : who.hasPrefix("+") ? .phoneNumber(who) : .userRecordName(who), try permission())
        case "link": self = .addLink(try permission())
        case "permit": self = .permit(participant: try text("participant"), try permission())
        case "remove": self = .remove(participant: try text("participant"))
        case "open": self = .open(try permission(anybody))
        case "requests": self = .takeRequests(fields["takes"] == "1")
        case "approve": self = .approve(user: try text("user"), try permission())
        case "deny": self = .deny(user: try text("user"))
        case "stop": self = .stop
        default: throw .unknownStep
        }
    }

    /// The sentence of the page after the edit.
    fileprivate var notice: HTML {
        switch self {
        case .begin: "It is shared. Send the link to the people who are to have it."
        case .invite: "The invitation is there. Send the link to the person: the server sends no mail."
        case .addLink: "The link is made. It lets in the first person to open it."
        case .permit: "The permission is changed."
        case .remove: "The person is removed."
        case .open(.none): "Only people who are invited have access."
        case .open: "Everybody who has the link has access."
        case .takeRequests(true): "People who have the link may ask for access."
        case .takeRequests(false): "Nobody can ask for access any more."
        case .approve: "The person may accept now, by the same link."
        case .deny: "The request is denied."
        case .stop: "This is shared with nobody any more."
        }
    }
}

extension String {
    /// The text without spaces at its ends.
    fileprivate var trimmed: String {
        var rest = self[...]
        while rest.first?.isWhitespace == true { rest.removeFirst() }
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return String(rest)
    }
}

extension ServerError {
    static let grantEnded = ServerError(
        .authenticationFailed, "this page was open for too long, or its link is not whole", remedy: "Close it, and open it anew from the app.")

    fileprivate static let grantUsed = ServerError(
        .authenticationFailed, "this link was opened already", remedy: "Close this page, and open it anew from the app.")

    fileprivate static let grantOpensAPage = ServerError(
        .badRequest, "this link opens a page once", remedy: "Open it in a browser.")

    fileprivate static let nobodyNamed = ServerError(
        .badRequest, "nobody is named", field: "who", remedy: "Give an e-mail address, a phone number with its country code, or a user ID.")
}
