import Foundation
import NacreHTTPClient
import Testing

/// Tests of a process without free descriptors.
struct DescriptorTests {
    @Test func `a first request without descriptors fails, and the next one with some is carried`() async {
        await #expect(processExitsWith: .success) {
            let client = HTTPClient()
            var limit = rlimit()
            #expect(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            var none = limit
            none.rlim_cur = 0
            #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &none) == 0)
            let refused = await client.failure(.init("GET", "http://127.0.0.1:1/"))
            #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            #expect(refused?.cause == .noResources)
            // No server listens at port 1: a loop that sleeps for ever would not notice that.
            let unanswered = await client.failure(.init("GET", "http://127.0.0.1:1/"))
            #expect(unanswered != nil && unanswered?.cause != .noResources)
        }
    }
}
