import CloudKit
import Foundation
import NacreCloudTestSupport
import Testing

/// Tests of `nacre check` with the executable, against a running server.
struct CheckTests {
    @Test func `a check of a sound server finds nothing, with and without repair, and ends with 0`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            _ = try await administrator.preparedWithUser()
            for options in [[], ["--repair"], ["--remove-lost"]] as [[String]] {
                let run = try await administrator.run(["check"] + options)
                #expect(run.status == 0 && run.output.contains("rows, 0 wrong"), "\(run.output) \(run.messages)")
            }
            let run = try await administrator.run(["check", "--json"])
            let report = try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any]
            #expect((report?["rows"] as? Int ?? 0) > 0 && (report?["findings"] as? [Any])?.isEmpty == true)
        }
    }
}
