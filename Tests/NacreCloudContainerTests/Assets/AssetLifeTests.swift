import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests of how long files are kept.
@Suite(.timeLimit(.minutes(5))) struct AssetLifeTests {
    private static let grace = Limits.assetGraceSeconds

    @Test func `what nobody saved goes with its chunks, and its receipt is refused then`() async throws {
        let scene = try await AssetCloud()
        let sent = try await scene.upload(someBytes(200_000, seed: 1), "r")
        try await scene.wait(Self.grace - 1)
        #expect(!scene.files.chunkNames.isEmpty)
        try await scene.wait(2)
        #expect(scene.files.chunkNames.isEmpty)
        #expect(try await scene.save(.asset(sent), in: "r").error?.reason == "receipt has expired")
    }

    @Test func `what a record has stays, and goes when it has been without for as long`() async throws {
        let scene = try await AssetCloud()
        let bytes = someBytes(200_000, seed: 1)
        _ = try await scene.save(.asset(try await scene.upload(bytes, "r")), in: "r")
        for _ in 0..<3 { try await scene.wait(Self.grace) }
        #expect(try await scene.download(scene.lookUp("r")) == bytes)
        _ = try await scene.save(.asset(try await scene.upload(someBytes(5, seed: 2), "r")), in: "r")
        try await scene.wait(Self.grace - 10)
        #expect(!scene.files.chunkNames.isEmpty)
        try await scene.wait(20)
        #expect(scene.files.chunkNames.isEmpty)
        #expect(try await scene.download(scene.lookUp("r")) == someBytes(5, seed: 2))
    }

    @Test func `a deleted record, one that went with another, and a deleted zone leave no chunk`() async throws {
        let scene = try await AssetCloud()
        for (index, record) in ["one", "root", "leaf"].enumerated() {
            _ = try await scene.save(.asset(try await scene.upload(someBytes(100_000, seed: UInt64(index)), record)), in: record)
        }
        _ = try await scene.save(.reference(Reference(recordName: "root", action: .deleteSelf)), in: "leaf", field: "root")
        try await scene.ada.modify([.delete("one"), .delete("root")], zone: "Z")
        #expect(try await scene.ada.lookup(["leaf"], zone: "Z")[0].error?.code == .notFound)
        try await scene.wait(Self.grace + 1)
        #expect(scene.files.chunkNames.isEmpty)
        _ = try await scene.save(.asset(try await scene.upload(someBytes(300_000, seed: 9), "r")), in: "r")
        let shown = try await scene.lookUp("r")
        try await scene.ada.deleteZone("Z")
        await #expect(throws: ServerError.self) { _ = try await scene.download(shown) }
        try await scene.cloud.runAllTasks()
        #expect(scene.files.chunkNames.isEmpty)
        #expect(try await scene.cloud.check().isEmpty)
    }

    @Test func `two records with the same bytes share chunks, and one keeps them`() async throws {
        let scene = try await AssetCloud()
        let bytes = someBytes(400_000, seed: 3)
        for record in ["a", "b"] { _ = try await scene.save(.asset(try await scene.upload(bytes, record)), in: record) }
        let count = scene.files.chunkNames.count
        try await scene.ada.modify([.delete("a")], zone: "Z")
        try await scene.wait(Self.grace + 1)
        #expect(scene.files.chunkNames.count == count)
        #expect(try await scene.download(scene.lookUp("b")) == bytes)
    }

    @Test func `a chunk that is not what was kept is an error before its first byte`() async throws {
        let scene = try await AssetCloud()
        _ = try await scene.save(.asset(try await scene.upload(someBytes(100_000, seed: 4), "r")), in: "r")
        let shown = try await scene.lookUp("r")
        for name in scene.files.chunkNames { scene.files.damage(name) { $0[50_000] ^= 1 } }
        await #expect(throws: ServerError.assetDamaged("f")) { _ = try await scene.download(shown) }
        #expect(scene.cloud.takeFaults().contains { $0.code == .corrupt })
    }

    @Test func `a file counts for the quota while a record has it`() async throws {
        let scene = try await AssetCloud(quotas: Quotas(userBytes: 300_000, publicBytes: 0))
        _ = try await scene.cloud.cloud.registry.createContainer(TestCloud.container)
        let sent = try await scene.upload(someBytes(200_000, seed: 5), "a")
        await #expect(throws: ServerError.quotaExceeded(isPublic: false)) { _ = try await scene.upload(someBytes(200_000, seed: 6), "b") }
        _ = try await scene.cloud.cloud.setQuotas(of: TestCloud.container, .development) { $0.userBytes = 500_000 }
        let other = try await scene.upload(someBytes(200_000, seed: 6), "b")
        _ = try await scene.cloud.cloud.setQuotas(of: TestCloud.container, .development) { $0.userBytes = nil }
        #expect(try await scene.save(.asset(sent), in: "a").error == nil)
        #expect(try await scene.save(.asset(other), in: "b").error?.code == .quotaExceeded)
        await #expect(throws: ServerError.quotaExceeded(isPublic: false)) { _ = try await scene.upload(someBytes(200_000, seed: 7), "c") }
        #expect(try await scene.cloud.check().isEmpty)
        try await scene.ada.modify([.delete("a")], zone: "Z")
        #expect(try await scene.save(.asset(other), in: "b").error == nil)
        #expect(try await scene.cloud.check().isEmpty)
        try await scene.wait(Self.grace + 1)
        // The refused save left nothing.
        #expect(try await scene.download(scene.lookUp("b")) == someBytes(200_000, seed: 6))
        try await scene.ada.modify([.delete("b")], zone: "Z")
        try await scene.wait(Self.grace + 1)
        #expect(scene.files.chunkNames.isEmpty)
    }

    /// Uploads, saves, deletions and waits in any order: files of records can be downloaded unchanged, and in the end
    /// no other file is kept.
    @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64]) func `collection never takes what a record has, and leaves nothing else`(
        seed: UInt64
    ) async throws {
        let scene = try await AssetCloud()
        var random = SeededRandom(seed: seed)
        let names = ["a", "b", "c"]
        var held: [String: UInt64] = [:]
        var waiting: [(record: String, seed: UInt64, asset: Asset)] = []
        for step in 0..<150 {
            let name = names.randomElement(using: &random) ?? "a"
            switch Int.random(in: 0..<6, using: &random) {
            case 0, 1:
                let content = UInt64.random(in: 0..<8, using: &random)
                waiting.append((name, content, try await scene.upload(Self.bytes(content), name)))
            case 2, 3:
                guard let next = waiting.randomElement(using: &random) else { continue }
                // A receipt may be expired: the save is refused as a whole.
                if try await scene.save(.asset(next.asset), in: next.record).error == nil { held[next.record] = next.seed }
            case 4:
                try await scene.ada.modify([.delete(name)], zone: "Z")
                held[name] = nil
            default: try await scene.wait(Double.random(in: 0..<Self.grace, using: &random))
            }
            for (record, content) in held {
                #expect(try await scene.download(scene.lookUp(record)) == Self.bytes(content), "step \(step) of seed \(seed)")
            }
        }
        for _ in 0..<3 { try await scene.wait(Self.grace) }
        for name in names { try await scene.ada.modify([.delete(name)], zone: "Z") }
        for _ in 0..<2 { try await scene.wait(Self.grace) }
        #expect(scene.files.chunkNames.isEmpty)
        #expect(try await scene.cloud.check().isEmpty)
    }

    private static func bytes(_ seed: UInt64) -> [UInt8] { someBytes(seed.isMultiple(of: 2) ? 100 : 150_000, seed: seed) }
}
