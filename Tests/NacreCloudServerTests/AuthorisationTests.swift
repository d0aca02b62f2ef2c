import NacreHTTPServer
import NacreLocks
import Testing

@testable import NacreCloudServer

/// Tests every route of both listeners with every credential and every database, against `AuthorisationTable`.
@Suite(.timeLimit(.minutes(5))) struct AuthorisationTests {
    private static func router(_ table: AuthorisationTable, _ server: AdministeredServer) -> Router {
        table.listener == .public ? server.server.router : server.admin
    }

    @Test(arguments: AuthorisationTable.all) func `each route answers each credential as its row says`(_ table: AuthorisationTable) async throws {
        let rows = try table.rows()
        let shared = try await CredentialServer(isEmulator: table.listener == .emulator)
        var asked: Set<AuthorisationTable.Place> = []
        for route in Self.router(table, shared.server).routes where table.covers(route.pattern) {
            for place in AuthorisationTable.Place.all(method: route.method.rawValue, pattern: route.pattern) {
                asked.insert(place)
                var given: [Credential: String] = [:]
                for credential in Credential.allCases {
                    // A route that ends a sign-in ends other credentials too.
                    let ends = AuthorisationTable.ending.contains(place.pattern) && AuthorisationTable.signIns.contains(credential)
                    let credentials = ends ? try await CredentialServer() : shared
                    given[credential] = try await Self.given(credential, place, by: credentials, Self.router(table, credentials.server))
                }
                guard let row = rows[place] else {
                    Issue.record(
                        """
                        \(place.route) has no row. If SECURITY.md and docs/wire.md want these answers, add this line to the table `\(table.name)`:
                        \(table.line(place, given))
                        """)
                    continue
                }
                let wrong = table.columns.flatMap { column in
                    column.credentials.filter { given[$0] != row[column.name] }.map { "\($0) gets \(given[$0] ?? "nothing")" }
                }
                #expect(
                    wrong.isEmpty,
                    """
                    \(place.route) \(place.database): \(wrong.joined(separator: ", ")). The row in the table `\(table.name)` would be
                    \(table.line(place, given))
                    """)
            }
        }
        for place in rows.keys where !asked.contains(place) {
            Issue.record("\(place.route) \(place.database) is in the table `\(table.name)` and is no route: take its line out.")
        }
    }

    /// Returns the outcome of a credential at a place. `HEAD` must give the same as `GET`, and a refusal must not
    /// show stored data.
    /// - Parameter body: the body of `POST`; nil: the table's.
    private static func given(
        _ credential: Credential, _ place: AuthorisationTable.Place, by credentials: CredentialServer, _ router: Router, body: String? = nil
    ) async throws -> String {
        func ask(_ method: String) async throws -> Answer {
            let body = method == "POST" ? body ?? AuthorisationTable.bodies[place.pattern] ?? "{}" : ""
            let question = try credentials.question(credential, method, place.path, query: AuthorisationTable.queries[place.pattern] ?? [:], body)
            return Answer(await router.respond(to: question.inProcess))
        }
        let answer = try await ask(place.method)
        let outcome = AuthorisationTable.outcome(answer)
        if answer.status != 200 {
            for secret in CredentialServer.secrets { #expect(!answer.text.contains(secret), "\(place.route) tells \(credential): \(answer.text)") }
        }
        if place.method == "GET" {
            let head = AuthorisationTable.outcome(try await ask("HEAD"))
            #expect(head == outcome, "HEAD \(place.path) by \(credential)")
        }
        return outcome
    }

    @Test func `a sender who may not ask hears so first, whatever is wrong with the body`() async throws {
        let (table, server) = (AuthorisationTable.databases, try await CredentialServer())
        for (place, row) in try table.rows() where place.method == "POST" {
            for (column, credential) in [("stranger", Credential.nothing), ("signedOut", .endedSession), ("apiToken", .apiToken), ("key", .key)] {
                guard let outcome = row[column], outcome == "401" || outcome == "421" else { continue }
                let given = try await Self.given(credential, place, by: server, Self.router(table, server.server), body: "{")
                #expect(given == outcome, "\(place.route) \(place.database) by \(credential)")
            }
        }
    }

    @Test(arguments: AuthorisationTable.all) func `each credential stands in one column of each table`(_ table: AuthorisationTable) {
        #expect(table.columns.flatMap(\.credentials).map(\.rawValue).sorted() == Credential.allCases.map(\.rawValue).sorted())
    }

    @Test func `an emulator has its routes for faults, which no other server has, beside what each has`() async throws {
        let (emulator, other) = (try await CredentialServer(isEmulator: true), try await CredentialServer())
        for (routes, others) in [
            (emulator.server.admin.routes, other.server.admin.routes), (emulator.server.server.router.routes, other.server.server.router.routes),
        ] {
            let more = Set(routes.map { "\($0.method) \($0.pattern)" }).subtracting(others.map { "\($0.method) \($0.pattern)" })
            let faults = AuthorisationTable.faults
            let isOfAdministration = others.contains { $0.pattern == "/admin/1/server" }
            #expect(more == (isOfAdministration ? Set(try faults.rows().keys.map { "\($0.method) \($0.pattern)" }) : []))
            #expect(routes.count == others.count + more.count)
        }
        for place in try AuthorisationTable.faults.rows().keys {
            let question = try other.question(.administrator, place.method, place.path, place.method == "POST" ? "{}" : "")
            #expect(AuthorisationTable.outcome(Answer(await other.server.admin.respond(to: question.inProcess))) == "404", "\(place.route)")
        }
    }

    @Test func `each route is in one table, and none is on the other listener`() async throws {
        let credentials = try await CredentialServer()
        for (listener, router, other) in [
            (AuthorisationTable.Listener.public, credentials.server.server.router, credentials.server.admin),
            (.admin, credentials.server.admin, credentials.server.server.router),
        ] {
            #expect(!router.routes.isEmpty)
            for route in router.routes {
                let tables = AuthorisationTable.all.filter { $0.listener == listener && $0.covers(route.pattern) }
                #expect(tables.count == 1, "\(route.method) \(route.pattern) belongs to \(tables.map(\.name)): extend the roots of one table.")
                guard let place = AuthorisationTable.Place.all(method: route.method.rawValue, pattern: route.pattern).first else { continue }
                for credential in Credential.allCases {
                    let question = try credentials.question(credential, place.method, place.path, place.method == "POST" ? "{}" : "")
                    let outcome = AuthorisationTable.outcome(Answer(await other.respond(to: question.inProcess)))
                    // Non-administrators get the same answer for every path on the admin listener, and a schema's
                    // manager for every other path.
                    let isManager = credential == .manager || credential == .managerOfOtherContainer
                    let expected = listener == .admin || credential == .administrator ? "404" : isManager ? "403" : "401"
                    #expect(outcome == expected, "\(place.route) on the other listener, by \(credential)")
                }
            }
        }
    }
}
