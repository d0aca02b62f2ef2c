import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudTestSupport
import Testing

/// Tests in which the disk fails at one call after the other of a short history, with every fault: at each call in a
/// whole search.
@Suite struct EveryDiskCall {
    /// The most calls of the script, which is a short history.
    private static let callsMax = 1000

    @Test(arguments: CountdownDisk.Fault.allCases)
    func `whichever call of the disk fails, each transaction is there or not, and acknowledged ones are`(fault: CountdownDisk.Fault) async throws {
        let disk = try #require(CountdownDisk())
        for call in LongSearch.calls(upTo: Self.callsMax, every: 8) {
            disk.arm(fault, at: call)
            let folder = try TemporaryFolder(on: .memory)
            let run = try await Self.run(on: disk, in: folder)
            let context = "call \(call): acknowledged \(run.acknowledged.sorted()), refused \(run.refused.sorted())"
            #expect(run.surprises.isEmpty, "\(context)")
            if fault.isOnce, !disk.hasFailedToSync { #expect(run.refused.count <= 1, "\(context)") }
            disk.heal()
            let store = try await SQLiteStore.open(folder: folder.path)
            let found = try await FaultScript.found(in: store)
            await store.close()
            #expect(found.contradictions.isEmpty, "\(context)")
            #expect(found.transactions.isSuperset(of: run.acknowledged), "\(context), found \(found.transactions.sorted())")
            // A commit whose sync failed may still be on the disk. Any other refused commit did not happen.
            let unexplained = found.transactions.subtracting(run.acknowledged)
            #expect(disk.hasFailedToSync ? unexplained.isSubset(of: run.refused) : unexplained.isEmpty, "\(context), found \(unexplained)")
            if disk.callsMade < call { return }
        }
        Issue.record("a history of more than \(Self.callsMax) calls")
    }

    private struct Run {
        var acknowledged: Set<UInt8> = []
        var refused: Set<UInt8> = []
        var surprises: [String] = []
    }

    /// Runs the script once, on a disk that may fail, and checks the store after each refusal.
    private static func run(on disk: CountdownDisk, in folder: TemporaryFolder) async throws -> Run {
        var run = Run()
        guard let store = await opened(folder, disk, &run) else { return run }
        for number in FaultScript.transactions {
            await play(number, on: store, &run)
        }
        if disk.hasFailedToSync, disk.callsAfterFailedSync > 0 {
            run.surprises.append("the disk was asked again after a sync had failed")
        }
        disk.heal()
        if !disk.hasFailedToSync {
            // There is room again, or the fault has passed: no restart is needed.
            let last = FaultScript.transactions.upperBound + 1
            await play(last, on: store, &run)
            if run.refused.contains(last) { run.surprises.append("writing did not resume by itself") }
        }
        await store.close()
        return run
    }

    /// Opens the store. A failed opening reports an error, and a second one finds nothing half made.
    private static func opened(_ folder: TemporaryFolder, _ disk: CountdownDisk, _ run: inout Run) async -> SQLiteStore? {
        do {
            return try await SQLiteStore.open(folder: folder.path, options: FaultScript.options(disk.name))
        } catch let error as StoreError where [.full, .unavailable].contains(error.code) {
            if disk.failures == 0 { run.surprises.append("refused to open without a fault: \(error)") }
        } catch {
            run.surprises.append("refused to open: \(error)")
        }
        return nil
    }

    private static func play(_ number: UInt8, on store: SQLiteStore, _ run: inout Run) async {
        do {
            try await FaultScript.run(number, on: store)
            run.acknowledged.insert(number)
        } catch let error as StoreError where [.full, .unavailable].contains(error.code) {
            run.refused.insert(number)
        } catch {
            run.refused.insert(number)
            run.surprises.append("refused \(number): \(error)")
        }
        do {
            // Readers see exactly the acknowledged commits, whatever the disk does.
            let found = try await FaultScript.found(in: store)
            if found.transactions != run.acknowledged { run.surprises.append("read \(found.transactions.sorted()) after \(number)") }
            run.surprises += found.contradictions
        } catch {
            run.surprises.append("could not read after \(number): \(error)")
        }
    }
}
