import NacreCloudContainer
import NacreTelemetry

/// After each start, and each day: takes chunks of assets away that no asset has. A process leaves them that ends between keeping them and its
/// commit, and a disk or a bucket that fails a removal. It counts what the others take on its way. Chunks that a receiver has stay.
struct OrphanSweep: Sendable {
    /// From the end of one look to the next. Ours: a look lists all there is, 256 requests of a bucket at least.
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
            // The store has said why; the next look, or nacre assets collect, finds them.
            logger.log(.warning, "Chunks that no asset has were not looked for to the end", [.error: .string("\(error)")])
        }
        guard gone.chunks > 0 else { return }
        logger.log(.notice, "Chunks are removed that no asset has", [.count: .int(gone.chunks), .bytes: .int(Int(gone.bytes))])
    }
}
