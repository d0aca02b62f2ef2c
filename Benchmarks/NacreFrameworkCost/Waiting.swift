import Foundation
import NacreHTTPClient

/// Measures a client's cost of many requests that wait for changes.
///
/// A user may have only a few waiting requests at once: `WAITING_ACCOUNT_TOKENS` has account tokens, separated by
/// commas, which are used in turn.
struct Waiting {
    private struct NoAnswer: Error {}

    private let environment = ProcessInfo.processInfo.environment

    /// Waits for `seconds` with `count` requests at once, and prints the CPU time that this took.
    func wait(_ count: Int, seconds: Double, usage: () -> Double) async throws {
        guard let server = environment["CLOUDKIT_SERVER_URL"], let container = environment["CLOUDKIT_CONTAINER"],
            let tokens = environment["WAITING_ACCOUNT_TOKENS"]?.split(separator: ","), !tokens.isEmpty
        else { throw NoAnswer() }
        let client = HTTPClient(.init(transfersPerHostMax: max(count, 1)))
        var requests: [HTTPClient.Request] = []
        for token in tokens {
            var request = HTTPClient.Request(
                "POST", "\(server)/database/1/\(container)/development/private/changes/database",
                headers: [.init("Authorization", "Bearer \(token)"), .init("Content-Type", "application/json")])
            request.body = .bytes(Array("{}".utf8))
            let first = try JSONSerialization.jsonObject(with: Data(try await client.send(request).body)) as? [String: Any]
            guard let syncToken = first?["syncToken"] as? String else { throw NoAnswer() }
            request.body = .bytes(Array(#"{"syncToken":"\#(syncToken)","nacre":{"waitSeconds":30}}"#.utf8))
            requests.append(request)
        }
        let asked = requests
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<count { group.addTask { _ = try? await client.send(asked[number % asked.count]) } }
            // All requests have been sent by then and are idle.
            try? await Task.sleep(for: .seconds(3))
            let before = usage()
            try? await Task.sleep(for: .seconds(seconds))
            let spent = usage() - before
            // A request that was answered or refused does not wait.
            let running = await client.census().running
            print(#"{"waiting":\#(running),"cpu_ms_per_second":\#(spent / seconds * 1000),"resident_mb":\#(Self.residentMegabytes)}"#)
            group.cancelAll()
        }
    }

    private static var residentMegabytes: Double {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        let kilobytes = line?.split(separator: " ").compactMap { Double($0) }.first ?? 0
        return kilobytes * 1024 / 1e6
    }
}
