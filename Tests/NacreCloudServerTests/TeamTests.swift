import NacreCloudAccounts
import NacreCloudStorage
import NacreCloudWire
import Testing

@testable import NacreCloudServer

/// Tests of the team: invitations, sign-ins with passkeys on the console's page, and how they end.
@Suite(.timeLimit(.minutes(1))) struct TeamTests {
    typealias Page = ConsoleTests.ConsolePage

    /// Returns the console's page as a browser shows it on this machine, under a name.
    private static func page(_ server: AdministeredServer, origin: String = "http://localhost:4000") -> Page {
        var page = Page(server)
        page.headers["Origin"] = origin
        page.headers["Host"] = String(origin.drop { $0 != "/" }.dropFirst(2))
        return page
    }

    /// Invites a person, and returns the token of the link.
    private static func invite(_ server: AdministeredServer, _ name: String = "ada", role: ConsoleRole = .developer) async throws -> String {
        let answer = await server.administrate("POST", "/admin/1/team", #"{"name":"\#(name)","role":"\#(role.rawValue)"}"#)
        #expect(answer.status == 201 && answer.json?.at("member.passkeys")?.count == 0)
        let path = try #require(answer.json?["path"]?.text)
        return String(try #require(path.firstMatch(of: /^\/console\/#invitation=([0-9a-f]{64})$/)?.1))
    }

    private static func challenge(_ page: Page, invitation: String? = nil) async throws -> Answer {
        await page.ask("POST", "console/challenge", invitation.map { #"{"invitation":"\#($0)"}"# } ?? "{}")
    }

    /// Returns a JSON object of some fields of a form.
    private static func object(_ fields: [String: String], _ names: [String]) -> String {
        "{" + names.map { #""\#($0)":"\#(fields[$0] ?? "")""# }.joined(separator: ",") + "}"
    }

    /// Makes a passkey by an invitation.
    private static func accept(_ token: String, by authenticator: inout TestAuthenticator, on page: Page) async throws -> Answer {
        let asked = try await challenge(page, invitation: token)
        let text = asked.json?["challenge"]?.text ?? ""
        authenticator.user = asked.json?.at("member.id")?.text ?? authenticator.user
        var fields = try authenticator.creation(text)
        fields["token"] = token
        return await page.ask("POST", "console/sign-in", #"{"invitation":\#(object(fields, ["token", "client", "attestation"]))}"#)
    }

    private static func assertion(_ challenge: String, by authenticator: inout TestAuthenticator) throws -> String {
        let fields = try authenticator.assertion(challenge)
        return #"{"passkey":\#(object(fields, ["user", "credential", "client", "data", "signature"]))}"#
    }

    private static func signIn(by authenticator: inout TestAuthenticator, on page: Page) async throws -> Answer {
        let challenge = try await challenge(page).json?["challenge"]?.text ?? ""
        return await page.ask("POST", "console/sign-in", try assertion(challenge, by: &authenticator))
    }

    private static func authenticator() throws -> TestAuthenticator {
        var made = try TestAuthenticator()
        made.origin = "http://localhost:4000"
        return made
    }

    /// Returns a server with a member, and the member's passkey.
    private static func joined(_ role: ConsoleRole) async throws -> (server: AdministeredServer, authenticator: TestAuthenticator) {
        let server = try await AdministeredServer()
        var authenticator = try authenticator()
        let answer = try await accept(try await invite(server, role: role), by: &authenticator, on: page(server))
        #expect(answer.status == 200, "\(answer.text)")
        return (server, authenticator)
    }

    @Test func `an invitation makes a passkey once, which signs its person in, in their role and under their name`() async throws {
        let server = try await AdministeredServer()
        var (page, authenticator) = (Self.page(server), try Self.authenticator())
        let token = try await Self.invite(server)
        let invited = try await Self.challenge(page, invitation: token)
        #expect(invited.json?["relyingParty"]?.text == "localhost" && invited.json?.at("member.name")?.text == "ada")
        let begun = try await Self.accept(token, by: &authenticator, on: page)
        #expect(begun.status == 200 && begun.json?["role"]?.text == "developer" && begun.json?["name"]?.text == "ada")
        #expect(try await Self.challenge(page, invitation: token).status == 401)
        var other = try Self.authenticator()
        #expect(try await Self.accept(token, by: &other, on: page).status == 401)
        let again = try await Self.signIn(by: &authenticator, on: page)
        #expect(again.status == 200 && again.json?["role"]?.text == "developer", "\(again.text)")
        page.keep(again)
        #expect(await page.ask("GET", "server").status == 200)
        #expect(await page.ask("POST", "schema/deploy", "{}").status == 403)
        #expect(await page.ask("GET", "team").status == 403)
        let audit = await server.administrate("GET", "/admin/1/audit").text
        #expect(audit.contains("POST /admin/1/team") && audit.contains(" ada\"") && !audit.contains(token))
        let member = await server.administrate("GET", "/admin/1/team").json?.at("members[0]")
        #expect(member?["passkeys"]?.count == 1 && member?["used"] != nil)
    }

    @Test func `an invitation ends after thirty minutes, and with its member`() async throws {
        let server = try await AdministeredServer()
        let tokens = [try await Self.invite(server, "ada"), try await Self.invite(server, "bob")]
        #expect(await server.administrate("POST", "/admin/1/team/remove", #"{"name":"bob"}"#).status == 200)
        #expect(try await Self.challenge(Self.page(server), invitation: tokens[1]).status == 401)
        server.server.clock.advance(ConsoleSignIns.linkSeconds)
        #expect(try await Self.challenge(Self.page(server), invitation: tokens[0]).status == 401)
    }

    /// A change of a passkey's answer, after which it signs nobody in.
    enum Fault: CaseIterable {
        case replayed, otherOrigin, otherParty, otherChallenge, lateChallenge, otherKey, otherMember, unverified, challengeOfAnotherServer
    }

    @Test(arguments: Fault.allCases)
    func `an answer that is replayed, late or made for another page, server or person signs nobody in`(_ fault: Fault) async throws {
        let (server, made) = try await Self.joined(.owner)
        var authenticator = made
        let page = Self.page(server)
        var challenge = try #require(try await Self.challenge(page).json?["challenge"]?.text)
        switch fault {
        case .otherOrigin: authenticator.origin = "http://localhost:4001"
        case .otherParty: authenticator.host = "nacre.example"
        case .otherChallenge: challenge = String(challenge.reversed())
        case .otherKey: authenticator = try Self.authenticator(of: authenticator)
        case .otherMember: authenticator.user = String(authenticator.user.reversed())
        case .unverified: authenticator.flags = 0x01
        case .challengeOfAnotherServer:
            challenge = try #require(try await Self.challenge(Self.page(try await AdministeredServer())).json?["challenge"]?.text)
        case .lateChallenge: server.server.clock.advance(Limits.consentSeconds)
        case .replayed: break
        }
        let body = try Self.assertion(challenge, by: &authenticator)
        if fault == .replayed { #expect(await page.ask("POST", "console/sign-in", body).status == 200) }
        let answer = await page.ask("POST", "console/sign-in", body)
        #expect((400..<500).contains(answer.status) && answer.header("Set-Cookie") == nil, "\(answer.text)")
    }

    /// Returns an authenticator that claims another's passkey, with a key of its own.
    private static func authenticator(of other: TestAuthenticator) throws -> TestAuthenticator {
        var made = try TestAuthenticator(id: other.id)
        (made.user, made.origin) = (other.user, other.origin)
        return made
    }

    @Test func `a member who is removed or gets another role is signed out at once`() async throws {
        let (server, made) = try await Self.joined(.admin)
        var authenticator = made
        var page = Self.page(server)
        page.keep(try await Self.signIn(by: &authenticator, on: page))
        #expect(await page.ask("GET", "users").status == 200)
        #expect(await server.administrate("POST", "/admin/1/team/role", #"{"name":"ada","role":"viewer"}"#).json?["role"]?.text == "viewer")
        #expect(await page.ask("GET", "users").status == 401)
        // The session does not come back with the role.
        #expect(await server.administrate("POST", "/admin/1/team/role", #"{"name":"ada","role":"admin"}"#).status == 200)
        #expect(await page.ask("GET", "users").status == 401)
        page.keep(try await Self.signIn(by: &authenticator, on: page))
        #expect(await page.ask("GET", "users").status == 200)
        #expect(await server.administrate("POST", "/admin/1/team/remove", #"{"name":"ada"}"#).status == 200)
        #expect(await page.ask("GET", "users").status == 401)
        #expect(try await Self.signIn(by: &authenticator, on: page).status == 401)
    }

    /// Returns the token of an invitation's link.
    private static func token(of invited: Answer) throws -> String {
        let path = try #require(invited.json?["path"]?.text, "\(invited.text)")
        return String(try #require(path.split(separator: "=").last))
    }

    @Test func `a member is invited again, by a link that ends the one before, and keeps the passkeys`() async throws {
        let (server, made) = try await Self.joined(.developer)
        var (first, second) = (made, try Self.authenticator())
        let page = Self.page(server)
        let name = #"{"name":"ada"}"#
        let lost = try Self.token(of: await server.administrate("POST", "/admin/1/team/invite", name))
        let token = try Self.token(of: await server.administrate("POST", "/admin/1/team/invite", name))
        #expect(try await Self.challenge(page, invitation: lost).status == 401)
        #expect(try await Self.accept(token, by: &second, on: page).status == 200)
        for _ in 1...2 {
            #expect(try await Self.signIn(by: &first, on: page).status == 200)
            #expect(try await Self.signIn(by: &second, on: page).status == 200)
        }
        let member = await server.administrate("GET", "/admin/1/team").json?.at("members[0]")
        #expect(member?["passkeys"]?.count == 2 && member?["role"]?.text == "developer" && member?["invited"] == nil)
        #expect(await server.administrate("POST", "/admin/1/team/invite", #"{"name":"bob"}"#).status == 404)
        for _ in 2..<ConsoleSignIns.passkeysMax {
            var further = try Self.authenticator()
            let token = try Self.token(of: await server.administrate("POST", "/admin/1/team/invite", name))
            #expect(try await Self.accept(token, by: &further, on: page).status == 200)
        }
        let full = await server.administrate("POST", "/admin/1/team/invite", name)
        #expect(full.status == 413, "\(full.text)")
    }

    @Test func `a passkey that is removed signs nobody in, and its sessions end at once, and no others do`() async throws {
        let (server, made) = try await Self.joined(.developer)
        var (lost, kept) = (made, try Self.authenticator())
        let token = try Self.token(of: await server.administrate("POST", "/admin/1/team/invite", #"{"name":"ada"}"#))
        #expect(try await Self.accept(token, by: &kept, on: Self.page(server)).status == 200)
        var pages = [Self.page(server), Self.page(server)]
        pages[0].keep(try await Self.signIn(by: &lost, on: pages[0]))
        pages[1].keep(try await Self.signIn(by: &kept, on: pages[1]))
        let passkeys = await server.administrate("GET", "/admin/1/team").json?.at("members[0]")
        let id = try #require(passkeys?.at("passkeys[0].id")?.text)
        let removed = await server.administrate("POST", "/admin/1/team/passkeys/remove", #"{"name":"ada","id":"\#(id)"}"#)
        #expect(removed.status == 200 && removed.json?["passkeys"]?.count == 1, "\(removed.text)")
        #expect(await pages[0].ask("GET", "users").status == 401)
        #expect(await pages[1].ask("GET", "users").status == 200)
        #expect(try await Self.signIn(by: &lost, on: Self.page(server)).status == 401)
        #expect(try await Self.signIn(by: &kept, on: Self.page(server)).status == 200)
        #expect(await server.administrate("POST", "/admin/1/team/passkeys/remove", #"{"name":"ada","id":"\#(id)"}"#).status == 404)
        let audit = await server.administrate("GET", "/admin/1/audit").text
        #expect(audit.contains("POST /admin/1/team/passkeys/remove"))
    }

    @Test func `passkeys are for the console's own page, under a name`() async throws {
        let server = try await AdministeredServer()
        #expect(try await Self.challenge(Page(server)).status == 400)
        for changes in [["X-Nacre-Console": ""], ["Origin": "https://evil.example"], ["Sec-Fetch-Site": "cross-site"], ["Host": "evil.example"]] {
            #expect(await Self.page(server).ask("POST", "console/challenge", "{}", changes).status == 403, "\(changes)")
        }
    }

    @Test(arguments: [
        ("team", #"{"name":"ada","role":"viewer"}"#, 409), ("team", #"{"name":" ","role":"viewer"}"#, 400),
        ("team", #"{"name":"bob","role":"king"}"#, 400),
        ("team/role", #"{"name":"bob","role":"viewer"}"#, 404), ("team/remove", #"{"name":"bob"}"#, 404),
        ("team/invite", #"{"name":"bob"}"#, 404), ("team/passkeys/remove", #"{"name":"ada","id":"none"}"#, 404),
    ])
    func `a team has a member of a name once, in a role that there is`(_ path: String, _ body: String, _ status: Int) async throws {
        let server = try await AdministeredServer()
        _ = try await Self.invite(server)
        #expect(await server.administrate("POST", "/admin/1/" + path, body).status == status)
    }
}
