import NacreCloudContainer
import NacreCloudStorage
import NacreTelemetry

/// Removes chunks that belong to no asset, after each start and once a day. They come from a process that ends between
/// storing chunks and its commit, and from a disk or bucket that fails a removal. On its way it counts the bytes of all
/// other chunks. Chunks of uploads under way stay.
struct OrphanSweep: Sendable {
    /// Time between two sweeps. Ours: a sweep lists every chunk, in at least 256 requests of a bucket.
    static let rest: Duration = .seconds(24 * 3600)

    let cloud: Cloud
    let clock: ServerClock
    let logger: Logger

    func run() async {
        while !Task.isCancelled {
            await look()
            try? await clock.sleep(Self.rest)
        }
    }

    private func look() async {
        var gone = AssetUsage()
        do {
            for part in UInt8.min ... .max {
                if Task.isCancelled { return }
                for chunk in try await cloud.orphans(in: part, removes: true) { gone.add(chunk.size) }
            }
        } catch {
            // The store has logged the cause; the next sweep, or nacre assets collect, finds the chunks.
            logger.log(.warning, "Chunks that no asset has were not looked for to the end", [.error: .string("\(error)")])
        }
        guard gone.chunks > 0 else { return }
        logger.log(.notice, "Chunks are removed that no asset has", [.count: .int(gone.chunks), .bytes: .int(Int(gone.bytes))])
    }
}
