import Foundation
import FoundationNetworking

/// The pages of a zone's changes as URLSession brings them: every byte arrives, none is made into a record.
struct Pages {
    private struct NoAnswer: Error {}

    private let session = URLSession(configuration: .ephemeral)
    private let environment = ProcessInfo.processInfo.environment

    /// - Returns: how many bytes the pages have.
    func read(_ zone: String) async throws -> Int {
        guard let server = environment["CLOUDKIT_SERVER_URL"], let container = environment["CLOUDKIT_CONTAINER"],
            let url = URL(string: "\(server)/database/1/\(container)/development/private/changes/zone"),
            let token = environment["CLOUDKIT_ACCOUNT_TOKEN"]
        else { throw NoAnswer() }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        var bytes = 0
        var syncToken = ""
        while true {
            let since = syncToken.isEmpty ? "" : #","syncToken":"\#(syncToken)""#
            request.httpBody = Data(#"{"zones":[{"zoneID":{"zoneName":"\#(zone)"},"resultsLimit":200\#(since)}],"nacre":{"details":true}}"#.utf8)
            let (page, response) = try await session.data(for: request)
            guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw NoAnswer() }
            bytes += page.count
            guard let mark = page.range(of: Data(#""syncToken":""#.utf8)), let end = page[mark.upperBound...].firstIndex(of: UInt8(ascii: "\"")) else {
                throw NoAnswer()
            }
            syncToken = String(decoding: page[mark.upperBound..<end], as: UTF8.self)
            if page.range(of: Data(#""moreComing":true"#.utf8), in: end..<page.endIndex) == nil { return bytes }
        }
    }
}
