import Glibc
import Testing

@testable import NacreCloudServer

@Suite struct DescriptorLimitTests {
    @Test func `connections leave descriptors to the store, and there are always some`() {
        for (descriptors, wanted, connections) in [
            (1_048_576, 16_384, 16_384), (16_640, 16_384, 16_384), (16_639, 16_384, 16_383), (1024, 16_384, 768), (100, 16_384, 16), (0, 8, 8),
        ] {
            #expect(DescriptorLimit.connections(descriptors, wanted: wanted) == connections, "\(descriptors)")
        }
    }

    @Test func `the limit is raised to what the system allows`() {
        var limit = rlimit()
        #expect(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        #expect(DescriptorLimit.raise() == Int(clamping: limit.rlim_max))
        #expect(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 && limit.rlim_cur == limit.rlim_max)
    }
}
