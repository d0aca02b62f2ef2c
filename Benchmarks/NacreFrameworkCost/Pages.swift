import Foundation
import NacreHTTPClient

/// The pages of a zone's changes as libcurl receives them: all bytes, without decoding of records.
struct Pages {
    private struct NoAnswer: Error {}

    private let client = HTTPClient()
    private let environment = ProcessInfo.processInfo.environment

    /// Fetches all pages.
    /// - Returns: The number of bytes in them.
    func read(_ zone: String) async throws -> Int {
        guard let server = environment["CLOUDKIT_SERVER_URL"], let container = environment["CLOUDKIT_CONTAINER"],
            let token = environment["CLOUDKIT_ACCOUNT_TOKEN"]
        else { throw NoAnswer() }
        var request = HTTPClient.Request(
            "POST", "\(server)/database/1/\(container)/development/private/changes/zone",
            headers: [.init("Authorization", "Bearer \(token)"), .init("Content-Type", "application/json")])
        var bytes = 0
        var syncToken = ""
        while true {
            let since = syncToken.isEmpty ? "" : #","syncToken":"\#(syncToken)""#
            request.body = .bytes(
                Array(#"{"zones":[{"zoneID":{"zoneName":"\#(zone)"},"resultsLimit":200\#(since)}],"nacre":{"details":true}}"#.utf8))
            let answer = try await client.send(request)
            guard answer.status == 200 else { throw NoAnswer() }
            let page = Data(answer.body)
            bytes += page.count
            guard let mark = page.range(of: Data(#""syncToken":""#.utf8)), let end = page[mark.upperBound...].firstIndex(of: UInt8(ascii: "\""))
            else {
                throw NoAnswer()
            }
            syncToken = String(decoding: page[mark.upperBound..<end], as: UTF8.self)
            if page.range(of: Data(#""moreComing":true"#.utf8), in: end..<page.endIndex) == nil { return bytes }
        }
    }
}
