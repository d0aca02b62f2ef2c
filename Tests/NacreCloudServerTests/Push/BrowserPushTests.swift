import Foundation
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudServer

/// The server for `make browsers`: it sends to a push service on this machine, which no other server does. It prints
/// its URL for the script, and ends with the script, which checks the browser's notification.
@Suite(.enabled(if: BrowserPushService.url != nil, "NACRE_PUSH_SERVICE names no push service; see `make browsers`"), .timeLimit(.minutes(5)))
struct BrowserPushTests {
    @Test func `a real browser subscribes, and is sent what it can open`() async throws {
        let service = try #require(BrowserPushService.url)
        var services = PushServices()
        services.allows = { $0.hasPrefix(service) }
        services.reachesPrivateAddresses = true
        let server = try await TestServer(pushServices: services)
        let port = try await server.startListening()
        try await server.prepareTypes(for: Body.modify("create", Body.note("n")), in: TestServer.container)
        let names = ["port": "\(port)", "container": TestServer.container].merging(
            ["api", "ada", "ada.device"].map { ($0, server.names[$0] ?? "") }, uniquingKeysWith: { first, _ in first })
        let scene = try #require(ProcessInfo.processInfo.environment["NACRE_PUSH_SCENE"])
        try JSONEncoder().encode(names).write(to: URL(filePath: scene), options: .atomic)
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                // The script closes it.
                _ = FileHandle.standardInput.readDataToEndOfFile()
                continuation.resume()
            }
        }
        await server.server.shutdown()
    }
}

enum BrowserPushService {
    /// The beginning of the push service's endpoints.
    static let url = ProcessInfo.processInfo.environment["NACRE_PUSH_SERVICE"]
}
