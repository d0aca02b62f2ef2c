import NacreCloudContainer
import NacreTelemetry

/// Once after each start: takes chunks of assets away that no asset has, which a process leaves that ends between keeping them and its commit. It counts
/// what the others take on its way.
struct OrphanSweep: Sendable {
    let cloud: Cloud
    let logger: Logger

    func run() async {
        var gone = AssetUsage()
        do {
            for part in UInt8.min ... .max {
                if Task.isCancelled { return }
                for chunk in try await cloud.orphans(in: part, removes: true) { gone.add(chunk.size) }
            }
        } catch {
            // The store has said why; the next start, or nacre assets collect, looks again.
            logger.log(.warning, "Chunks that no asset has were not looked for to the end", [.error: .string("\(error)")])
        }
        guard gone.chunks > 0 else { return }
        logger.log(.notice, "Chunks are removed that no asset has", [.count: .int(gone.chunks), .bytes: .int(Int(gone.bytes))])
    }
}
