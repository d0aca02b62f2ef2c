import CloudContainer
import CloudStore
import CloudTestSupport

enum Engine: CaseIterable { case memory
    func makeStore() throws -> any Store { MemoryStore() }
}

extension TestCloud {
    convenience init(_ engine: Engine, seed: UInt64 = 1) async throws {
        self.init(try engine.makeStore(), seed: seed)
    }
}
