import NacreCloudTestSupport
import NacreCloudWire
import Testing

extension TestServer {
    /// Sends a request with a user's device, after making the types of the body's records.
    /// - Returns: An answer without an error.
    @discardableResult
    func ask(_ user: String, _ path: String, _ body: String) async throws -> JSON {
        try await prepareTypes(for: body, in: Self.container)
        let answer = await respond(
            Question(
                method: "POST", target: "/database/1/\(Self.container)/development/\(path)",
                headers: ["Host": "localhost", "Authorization": "Bearer \(names["\(user).device"] ?? "")"], body: Array(body.utf8)))
        #expect(answer.status == 200, "\(answer.text)")
        return try #require(answer.json)
    }

    /// Makes a user's log of keys, unless it is there, and the `SampleScope` of a zone, which has none.
    func makeScope(of user: String, in zone: String) async throws {
        let scope = try SampleScope(SampleKeyring(names["\(user).name"] ?? "", container: Self.container), zone: zone)
        try await ask(user, "private/keys/append", String(decoding: scope.keys.request().json(), as: UTF8.self))
        try await ask(user, "private/keys/scopes/modify", String(decoding: scope.request(isNewKey: true).json(), as: UTF8.self))
    }
}
