import NacreCloudContainer
import NacreCloudStore
import NacreCloudTestSupport
import Testing

@Suite struct FailedSync {
    @Test func `a sync that fails ends the process with code 70, and the next start finds what was acknowledged`() async throws {
        let folder = try TemporaryFolder()
        await #expect(processExitsWith: .exitCode(70)) { [path = folder.path as String] in
            let disk = try #require(FaultyDisk())
            var options = SQLiteOptions.inFirstRun
            options.vfs = disk.name
            let store = try await SQLiteStore.open(folder: path, options: options)
            try await FaultScript.run(1, on: store)
            try await FaultScript.run(2, on: store)
            disk.set(.syncOnce)
            try await FaultScript.run(3, on: store)
        }
        let store = try await SQLiteStore.open(folder: folder.path)
        let found = try await FaultScript.found(in: store)
        #expect(found.contradictions.isEmpty)
        #expect(found.transactions.isSuperset(of: [1, 2]))
        try await FaultScript.run(4, on: store)
        await store.close()
    }
}
