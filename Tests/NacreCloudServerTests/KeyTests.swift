import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudServer

/// Tests of the endpoints of keys over HTTP.
@Suite(.timeLimit(.minutes(1))) struct KeyTests {
    @Test func `a device's statement is kept and told, and what is sealed goes to its user alone`() async throws {
        let server = try await TestServer(doesTasks: false)
        let ada = try #require(server.names["ada.name"])
        let keys = try SampleKeyring(ada, container: TestServer.container)
        let request = try keys.request()
        let body = String(decoding: request.json(), as: UTF8.self)
        let kept = try await server.ask("ada", "private/keys/append", body)
        #expect(kept["place"] == .number(0))
        let own = try await server.ask("ada", "private/keys/log", "{}")
        #expect(own["wraps"]?.count == 2 && own["olderKeys"]?.count == 0)
        let told = try await server.ask("bob", "private/keys/log", #"{"user":"\#(ada)"}"#)
        #expect(told["statements"] == .array([.string(Base64.encode(request.statement))]))
        #expect(told["wraps"] == nil && told["olderKeys"] == nil)
        // Both are shown one tree, by one server.
        let tree = try #require(own["tree"])
        #expect(tree["index"] == .number(0) && tree["inclusion"]?.count == 0 && tree["consistency"] == nil)
        #expect(told["tree"]?["serverKey"] == tree["serverKey"] && told["tree"]?["head"] != nil)
        let grown = try await server.ask("bob", "private/keys/log", #"{"user":"\#(ada)","treeSize":1}"#)
        #expect(grown["tree"]?["consistency"]?.count == 0)
        // Another user's statement, and one that follows nothing here.
        for user in ["bob", "ada"] {
            let other =
                user == "bob"
                ? body : String(decoding: try SampleKeyring(ada, container: TestServer.container, named: "x").request().json(), as: UTF8.self)
            let refused = await server.respond(
                Question(
                    method: "POST", target: "/database/1/\(TestServer.container)/development/private/keys/append",
                    headers: ["Host": "localhost", "Authorization": "Bearer \(server.names["\(user).device"] ?? "")"], body: Array(other.utf8)))
            #expect(refused.status == (user == "bob" ? 400 : 409), "\(refused.text)")
        }
        await server.server.shutdown(grace: .zero)
    }
}
