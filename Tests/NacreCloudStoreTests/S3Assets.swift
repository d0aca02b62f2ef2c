import Foundation
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import NacreCrypto
import NacreLocks
import Testing

@testable import NacreCloudStore

/// Tests of a bucket of a real S3 server, with all faults of networks and servers.
@Suite(.enabled(if: mayRun(S3Server.program != nil), "\(S3Server.absent)"), .timeLimit(.minutes(5))) struct S3AssetsTests {
    private static let key = [UInt8](repeating: 7, count: 32)

    /// A bucket whose requests go through a proxy, with a clock that counts pauses and makes none.
    private struct Scene {
        let server: S3Server
        let proxy: S3Proxy
        let assets: S3Assets
        let pauses: Locked<[Duration]>

        func keep(_ bytes: [UInt8]) async throws -> ReceivedAsset {
            let receiver = assets.receiver(under: key)
            do {
                try await receiver.add(bytes)
                let kept = try await receiver.finish()
                await receiver.release()
                return kept
            } catch {
                await receiver.release()
                throw error
            }
        }

        func read(_ asset: ReceivedAsset) async throws -> [UInt8] {
            var bytes: [UInt8] = []
            for chunk in asset.chunks { bytes += try await assets.chunk(chunk, under: key) }
            return bytes
        }
    }

    private func withScene(_ body: (Scene) async throws -> Void) async throws {
        let server = try S3Server()
        let proxy = try S3Proxy(before: server.port)
        defer { proxy.close() }
        let pauses = Locked<[Duration]>([])
        let clock = S3Clock(now: S3Clock.system.now) { pause in pauses.withLock { $0.append(pause) } }
        var patience = S3Patience()
        patience.idle = .seconds(2)
        let assets = try await S3Assets.open(
            try S3Server.bucket(proxy.port), owner: "me", mayBegin: true, clock: clock, patience: patience)
        proxy.forget()
        try await body(Scene(server: server, proxy: proxy, assets: assets, pauses: pauses))
        await assets.close()
    }

    private func bytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var random = SeededRandom(seed: seed)
        var bytes: [UInt8] = []
        while bytes.count < count { withUnsafeBytes(of: random.next()) { bytes += $0 } }
        return Array(bytes.prefix(count))
    }

    private static let passing: [S3Proxy.Fault] = [
        .answer(status: "500 Internal Server Error"), .answer(status: "503 Slow Down", headers: "Retry-After: 1\r\n"),
        .answer(status: "429 Too Many Requests"), .dead, .lost, .short, .silent,
    ]

    @Test(arguments: passing) func `what fails twice and works then is not seen by anybody`(fault: S3Proxy.Fault) async throws {
        try await withScene { scene in
            let bytes = bytes(300_000)
            scene.proxy.fail(fault, times: 2) { $0.method == "PUT" }
            let kept = try await scene.keep(bytes)
            scene.proxy.mend()
            scene.proxy.fail(fault, times: 2) { $0.method == "GET" }
            #expect(try await scene.read(kept) == bytes)
            scene.proxy.mend()
            if fault == .answer(status: "503 Slow Down", headers: "Retry-After: 1\r\n") {
                #expect(scene.pauses.withLock { $0.allSatisfy { $0 >= .seconds(1) } })
            }
            #expect(scene.pauses.withLock { $0.count } == (fault == .short ? 2 : 4))
        }
    }

    @Test(arguments: passing) func `what goes on failing is a retryable error after a few attempts, and nothing of the file stays`(
        fault: S3Proxy.Fault
    ) async throws {
        // Half of an empty body is all of it: the answer to a PUT has no body.
        guard fault != .short else { return }
        try await withScene { scene in
            scene.proxy.fail(fault) { $0.method == "PUT" }
            let error = await #expect(throws: StoreError.self) { _ = try await scene.keep(bytes(80_000)) }
            #expect(error?.code == .unavailable)
            #expect(scene.proxy.asked.filter { $0.method == "PUT" }.count == S3Patience().attempts)
            scene.proxy.mend()
            _ = try await scene.keep(bytes(80_000))
        }
    }

    @Test func `a server that wants to be left alone for long is not waited for`() async throws {
        try await withScene { scene in
            scene.proxy.fail(.answer(status: "503 Slow Down", headers: "Retry-After: 600\r\n"))
            let error = await #expect(throws: StoreError.self) { _ = try await scene.keep(bytes(80_000)) }
            #expect(error?.code == .unavailable && error?.values["status"] == "503")
            #expect(scene.pauses.withLock { $0.isEmpty } && scene.proxy.asked.count == 1)
        }
    }

    @Test func `bytes that are altered on their way are asked for again, and are damage where they stay so`() async throws {
        try await withScene { scene in
            let bytes = bytes(80_000)
            let kept = try await scene.keep(bytes)
            scene.proxy.fail(.altered, times: 1)
            #expect(try await scene.read(kept) == bytes)
            scene.proxy.fail(.altered)
            let error = await #expect(throws: StoreError.self) { _ = try await scene.read(kept) }
            #expect(error?.code == .corrupt)
            scene.proxy.mend()
            scene.proxy.fail(.answer(status: "200 OK", body: String(repeating: "x", count: 2_000_000)))
            #expect(await #expect(throws: StoreError.self) { _ = try await scene.read(kept) }?.code == .corrupt)
        }
    }

    @Test func `a server that has died is a retryable error, and a refusal says its reason and is not repeated`() async throws {
        try await withScene { scene in
            let kept = try await scene.keep(bytes(80_000))
            scene.proxy.forget()
            scene.proxy.fail(.answer(status: "403 Forbidden", body: "<?xml?><Error><Code>AccessDenied</Code></Error>"), times: 1)
            let refusal = await #expect(throws: StoreError.self) { _ = try await scene.read(kept) }
            #expect(refusal?.code == .unavailable && refusal?.values["reason"] == "AccessDenied" && scene.proxy.asked.count == 1)
            // The whole bucket is missing, not the chunk: that is no damage.
            scene.proxy.fail(.answer(status: "404 Not Found", body: "<Error><Code>NoSuchBucket</Code></Error>"), times: 1)
            #expect(await #expect(throws: StoreError.self) { _ = try await scene.read(kept) }?.code == .unavailable)
            scene.server.end()
            #expect(await #expect(throws: StoreError.self) { _ = try await scene.read(kept) }?.code == .unavailable)
            #expect(await #expect(throws: StoreError.self) { _ = try await scene.keep(bytes(80_000, seed: 2)) }?.code == .unavailable)
            await #expect(throws: StoreError.self) { _ = try await scene.assets.chunks(in: 1) }
        }
    }

    @Test func `chunks of one file go some at a time, and those of all files no more than there are turns`() async throws {
        try await withScene { scene in
            let bytes = bytes(6_000_000)
            #expect(try await scene.read(try await scene.keep(bytes)) == bytes)
            #expect((2...4).contains(scene.proxy.mostAtOnce), "\(scene.proxy.mostAtOnce)")
            scene.proxy.forget()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for seed in 10..<22 as Range<UInt64> { group.addTask { _ = try await scene.keep(self.bytes(1_500_000, seed: seed)) } }
                try await group.waitForAll()
            }
            #expect(scene.proxy.mostAtOnce <= S3Bucket.transfers)
        }
    }

    @Test func `who takes a chunk up while it is removed waits, and keeps it`() async throws {
        try await withScene { scene in
            let bytes = bytes(80_000)
            let kept = try await scene.keep(bytes)
            let names = kept.chunks.map(\.name)
            for _ in 0..<10 {
                async let removing: Void = scene.assets.remove(names) { _ in [] }
                async let keeping = scene.keep(bytes)
                _ = try await (removing, keeping)
                #expect(try await scene.read(kept) == bytes)
            }
        }
    }

    @Test func `a chunk whose removal was not answered is not kept again before that can come about`() async throws {
        try await withScene { scene in
            let bytes = bytes(80_000)
            let kept = try await scene.keep(bytes)
            scene.proxy.fail(.dead) { $0.method == "DELETE" }
            await #expect(throws: StoreError.self) { try await scene.assets.remove(kept.chunks.map(\.name)) { _ in [] } }
            #expect(await #expect(throws: StoreError.self) { _ = try await scene.keep(bytes) }?.code == .unavailable)
            #expect(try await scene.read(kept) == bytes)
        }
    }

    @Test func `a place has one owner, and a copy of it has the same`() async throws {
        let server = try S3Server()
        let place = try S3Server.bucket(server.port)
        let mine = try await S3Assets.open(place, owner: "me", mayBegin: true)
        let other = await #expect(throws: StoreError.self) { _ = try await S3Assets.open(place, owner: "you", mayBegin: true) }
        #expect(other?.code == .inUse && other?.values["remedy"] != nil)
        _ = try await S3Assets.open(place, owner: "me", mayBegin: false)
        // Another place without the assets is refused, and accepted once they were copied.
        let copy = try S3Server.bucket(server.port, prefix: "copy")
        #expect(await #expect(throws: StoreError.self) { _ = try await S3Assets.open(copy, owner: "me", mayBegin: false) }?.code == .inUse)
        let objects = S3Bucket(copy, clock: .system, patience: S3Patience())
        try await objects.put(try #require(try await mine.bucket.get("owner", bytesMax: 100)), as: "owner")
        _ = try await S3Assets.open(copy, owner: "me", mayBegin: false)
        await mine.close()
        await #expect(throws: StoreError.self) { _ = try await mine.chunks(in: 0) }
    }

    @Test func `a bucket that cannot be reached at the start is asked again with the first chunk`() async throws {
        let server = try S3Server()
        let proxy = try S3Proxy(before: server.port)
        defer { proxy.close() }
        let clock = S3Clock(now: S3Clock.system.now) { _ in }
        proxy.fail(.answer(status: "500 Internal Server Error"))
        let assets = try await S3Assets.open(try S3Server.bucket(proxy.port), owner: "me", mayBegin: true, clock: clock)
        proxy.mend()
        let other = try await S3Assets.open(try S3Server.bucket(proxy.port), owner: "you", mayBegin: true, clock: clock)
        let receiver = assets.receiver(under: Self.key)
        try await receiver.add(bytes(80_000))
        #expect(await #expect(throws: StoreError.self) { _ = try await receiver.finish() }?.code == .inUse)
        await receiver.release()
        proxy.fail(.answer(status: "403 Forbidden", body: "<Error><Code>SignatureDoesNotMatch</Code></Error>"))
        #expect(
            await #expect(throws: StoreError.self) {
                _ = try await S3Assets.open(try S3Server.bucket(proxy.port), owner: "me", mayBegin: true, clock: clock)
            }?.values["reason"] == "SignatureDoesNotMatch")
        await other.close()
    }

    @Test func `a part with more chunks than a page is listed whole`() async throws {
        let server = try S3Server()
        let folder = server.objects + "/some/place/ab"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for number in 0..<1203 {
            let name = ChunkName([0xab] + SHA256.digest(Array("\(number)".utf8)).dropFirst())
            try Data([1, 2, 3]).write(to: URL(fileURLWithPath: "\(folder)/\(name.text)"))
        }
        try Data([1]).write(to: URL(fileURLWithPath: "\(folder)/not a chunk"))
        let proxy = try S3Proxy(before: server.port)
        defer { proxy.close() }
        let assets = try await S3Assets.open(try S3Server.bucket(proxy.port), owner: "me", mayBegin: true)
        proxy.forget()
        #expect(try await assets.chunks(in: 0xab).count == 1203)
        #expect(proxy.asked.count == 2 && proxy.asked.allSatisfy { $0.path.contains("list-type=2") })
    }

    @Test func `chunks are copied beside backups once`() async throws {
        try await withScene { scene in
            let folder = try TemporaryFolder()
            let kept = try await scene.keep(bytes(700_000))
            try await scene.assets.copy(to: folder.path + "/assets") { false }
            scene.proxy.forget()
            try await scene.assets.copy(to: folder.path + "/assets") { false }
            #expect(scene.proxy.asked.count == 256)
            let files = try await AssetFiles.open(folder: folder.path + "/assets")
            for chunk in kept.chunks { #expect(try await files.chunk(chunk, under: Self.key).count == chunk.size) }
            await files.close()
            #expect(throws: StoreError.self) { try AssetHome(folder: folder.path).mayBegin(try S3Server.bucket(1)) }
        }
    }
}
