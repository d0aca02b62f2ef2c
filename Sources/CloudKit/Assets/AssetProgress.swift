import NacreLocks

/// Adds up the transferred bytes of a record's assets, and reports their fraction when it changes by a percent.
///
/// The end, 1.0, is reported with the record.
final class AssetProgress: Sendable {
    private struct State {
        var bytes: [Int]
        var percent = 0
    }

    private let total: Int
    private let state: Locked<State>
    private let tell: @Sendable (Double) -> Void

    /// - Parameter sizes: the assets' sizes in bytes.
    init(sizes: [Int], tell: @escaping @Sendable (Double) -> Void) {
        total = sizes.reduce(0) { $0.addingReportingOverflow($1).partialValue }
        state = Locked(State(bytes: sizes.map { _ in 0 }))
        self.tell = tell
    }

    /// - Parameter bytes: the asset's bytes so far; fewer than before if the transfer started again.
    func note(_ bytes: Int, of asset: Int) {
        guard total > 0 else { return }
        let fraction: Double? = state.withLock { state in
            state.bytes[asset] = bytes
            let fraction = Double(state.bytes.reduce(0, +)) / Double(total)
            let percent = Int(fraction * 100)
            guard percent != state.percent, fraction < 1 else { return nil }
            state.percent = percent
            return fraction
        }
        if let fraction { tell(fraction) }
    }
}
