import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer

/// Passkeys on the sign-in page: one signs in, and signed-in users add and remove them.
extension SignInPage {
    /// The relying party; nil if browsers have no passkeys for this address.
    func relyingParty(_ request: HTTPRequest) -> RelyingParty? {
        RelyingParty(origin: address.origin(for: request))
    }

    func signInByPasskey(_ fields: FormFields, _ browser: SignInBrowser, _ request: HTTPRequest)
        async throws -> HTTPResponse
    {
        let flow = try flow(fields, browser)
        let asked = try await asked(flow)
        let isKept = fields["keep"] == "1"
        let account: AccountEntry
        do {
            account = try await holder(of: PasskeyAssertion(fields), in: flow, request)
        } catch let error as ServerError where error == .wrongPasskey {
            return try form(
                .signIn, asked, flow, browser, request, isKept: isKept,
                problem: errors.heard(error, request))
        }
        return try await question(
            try SignInConsent(flow, account, isKept: isKept, at: now), asked, account, browser,
            request)
    }

    /// The account whose passkey has signed the flow's challenge, which is then used up.
    private func holder(
        of assertion: PasskeyAssertion?, in flow: SignInFlow, _ request: HTTPRequest
    ) async throws -> AccountEntry {
        WorkMeter.current?.add(rows: Limits.signatureCost)
        let registry = accounts.cloud.registry
        var fault = PasskeyFault.malformed
        if let party = relyingParty(request), let assertion {
            let passkey = try await registry.passkey(assertion.credential, of: assertion.account)
            if let found = try assertion.fault(for: party.question(flow.challenge), by: passkey) {
                fault = found
            } else if let account = try await registry.usePasskey(
                assertion.credential, of: assertion.account, counter: assertion.counter,
                using: flow.usedChallenge)
            {
                return account
            } else {
                fault = .credential
            }
        }
        accounts.notify("passkey: \(fault.rawValue)", nil, request)
        throw ServerError.wrongPasskey
    }

    // MARK: Adding and removing

    /// The page that lists the passkeys.
    func passkeys(_ fields: FormFields, _ browser: SignInBrowser, _ request: HTTPRequest)
        async throws -> HTTPResponse
    {
        let consent = try consent(fields, browser)
        return try await passkeyPage(consent, try await account(of: consent), browser, request)
    }

    func addPasskey(_ fields: FormFields, _ browser: SignInBrowser, _ request: HTTPRequest)
        async throws -> HTTPResponse
    {
        let consent = try consent(fields, browser)
        let account = try await account(of: consent)
        do {
            let passkey = try await added(fields, consent, to: account, request)
            accounts.notifyOfPasskey("added", passkey, of: account.id, request)
            return try await passkeyPage(
                try consent.renewed(for: account), account, browser, request,
                notice: "“\(passkey.name)” signs you in from now on.")
        } catch let error as ServerError
            where error.code != .authenticationFailed && error.code != .internalError
        {
            return try await passkeyPage(
                try consent.renewed(for: account), account, browser, request,
                problem: errors.heard(error, request))
        }
    }

    private func added(
        _ fields: FormFields, _ consent: SignInConsent, to account: AccountEntry,
        _ request: HTTPRequest
    ) async throws -> PasskeyEntry {
        guard let party = relyingParty(request) else { throw ServerError.passkeyRefused(.origin) }
        WorkMeter.current?.add(rows: Limits.signatureCost)
        let (made, key) = try NewPasskey.read(
            client: fields["client"].flatMap { Base64URL.decode($0) } ?? [],
            attestation: fields["attestation"].flatMap { Base64URL.decode($0) } ?? [],
            for: party.question(consent.challenge))
        let name = String((fields["name"] ?? "").onOneLine.prefix(Limits.passkeyNameCharacters))
            .trimmed
        return try await accounts.cloud.registry.addPasskey(
            made, publicKey: key, name: name.isEmpty ? "Passkey" : name, to: account,
            using: consent.usedChallenge)
    }

    func removePasskey(_ fields: FormFields, _ browser: SignInBrowser, _ request: HTTPRequest)
        async throws -> HTTPResponse
    {
        let consent = try consent(fields, browser)
        let account = try await account(of: consent)
        let removed = try await accounts.cloud.registry.removePasskey(
            fields["passkey"] ?? "", of: account.id)
        accounts.notifyOfPasskey("removed", removed, of: account.id, request)
        guard let changed = try await accounts.cloud.registry.account(id: account.id) else {
            throw ServerError.accountChanged
        }
        return try await passkeyPage(
            try consent.renewed(for: changed), changed, browser, request,
            notice: "“\(removed.name)” signs nobody in any more.")
    }

    /// Returns to the app's question.
    func questionAgain(_ fields: FormFields, _ browser: SignInBrowser, _ request: HTTPRequest)
        async throws -> HTTPResponse
    {
        let consent = try consent(fields, browser)
        return try await question(
            consent, try await asked(consent.flow), try await account(of: consent), browser, request
        )
    }

    private func passkeyPage(
        _ consent: SignInConsent, _ account: AccountEntry, _ browser: SignInBrowser,
        _ request: HTTPRequest, notice: String? = nil,
        problem: ServerError? = nil
    ) async throws -> HTTPResponse {
        let page = PasskeyPage(
            account: account, passkeys: try await accounts.cloud.registry.passkeys(of: account.id),
            party: relyingParty(request),
            challenge: consent.challenge,
            sealed: try sealer.seal(encoding: consent, for: .consent, binding: browser.id), notice: notice,
            problem: problem)
        return try SignInAnswer.page(
            problem.map { HTTPStatus(rawValue: $0.code.status) } ?? .ok, page.view)
    }
}

extension String {
    /// The text without spaces at its ends.
    fileprivate var trimmed: String {
        String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}
