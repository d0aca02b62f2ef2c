import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import Testing

@testable import NacreCloudServer

/// Tests of an app's access: its API token beside the user's account token, and the container that it names.
@Suite struct AppAccessTests {
    private func ask(_ server: TestServer, _ container: String = TestServer.container, apiToken: String? = nil, device: String? = nil) async -> Answer
    {
        let query = apiToken.map { "?ckAPIToken=\($0)" } ?? ""
        return await server.respond(
            Question(
                method: "GET", target: "/database/1/\(container)/development/private/users/caller\(query)",
                headers: device.map { ["Authorization": "Bearer \($0)"] } ?? [:]))
    }

    @Test func `a revoked or unknown API token ends the access of an app whose account token is good`() async throws {
        let server = try await TestServer()
        let (token, device) = (try #require(server.names["api"]), try #require(server.names["ada.device"]))
        #expect(await ask(server, apiToken: token, device: device).status == 200)
        #expect(await ask(server, device: device).status == 200)
        for other in ["unknown", server.names["api.production"], server.names["api.other"]] {
            #expect(await ask(server, apiToken: other, device: device).status == 401, "\(other ?? "")")
        }
        _ = try await server.cloud.registry.revokeAppCredential(token)
        server.clock.advance(Remembered<String, APITokenEntry>.secondsMax)
        let refused = await ask(server, apiToken: token, device: device)
        #expect(refused.status == 401 && refused.json?.at("serverErrorCode")?.text == "AUTHENTICATION_FAILED")
        #expect(await ask(server, apiToken: server.names["api.second"], device: device).status == 200)
    }

    @Test func `a container that does not exist is told as such, and one that does by no more than before`() async throws {
        let server = try await TestServer()
        let (token, device) = (server.names["api"], server.names["ada.device"])
        for answer in [await ask(server, "iCloud.no.such", apiToken: token), await ask(server, "iCloud.no.such", device: device)] {
            #expect(answer.status == 404 && answer.json?.at("reason")?.text == "container does not exist")
            #expect(answer.header("X-Nacre-Remedy")?.contains("nacre container create") == true)
            #expect(answer.header("X-Nacre-Version") == ServerVersion.current)
        }
        let other = await ask(server, TestServer.otherContainer, apiToken: token)
        #expect(other.status == 401 && other.json?.at("reason")?.text == "Authentication failed")
        let signIn =
            #"{"email":"ada@example.com","password":"\#(TestServer.password)","container":"iCloud.no.such","environment":"development","apiToken":"\#(token ?? "")"}"#
        let refused = await server.respond(Question(method: "POST", target: "/account/1/sign-in", body: Array(signIn.utf8)))
        #expect(refused.status == 404 && refused.json?.at("reason")?.text == "container does not exist")
    }
}
