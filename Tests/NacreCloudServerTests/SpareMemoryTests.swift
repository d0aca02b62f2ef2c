import Testing

@testable import NacreCloudServer

/// Tests of when the allocator's free memory is returned to the system.
@Suite struct SpareMemoryTests {
    @Test func `memory goes back at the first rest after work, without a rest at the tenth look, and not where there was little work`() {
        for (looks, work, recentWork, isDue) in [
            (1, 0.2, 0.0, true), (1, 0.2, 0.019, true), (1, 0.2, 0.02, false), (9, 20, 2, false), (10, 20, 2, true), (100, 20, 2, true),
            (1, 0.19, 0, false), (100, 0.19, 0, false), (100, 0.19, 0.19, false),
        ] as [(Int, Double, Double, Bool)] {
            #expect(SpareMemory.isDue(looks, work: work, recentWork: recentWork) == isDue, "\((looks, work, recentWork))")
        }
    }
}
