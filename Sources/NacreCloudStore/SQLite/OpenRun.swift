import NacreCloudStorage
import NacreLocks

/// The run of one opening of the file. Its number is drawn on opening, and written to the file no later than the first
/// change that carries it.
final class OpenRun: Sendable {
    let number: Int64
    private let state: Locked<State>

    private enum State {
        case drawn
        case recorded
        /// The file does not say which runs there were. Reads are served, but no change may be numbered.
        case unknown(StoreError)
    }

    /// Draws the number and writes it to the file. If there is no room, the first transaction writes it.
    /// - Parameter writer: The only connection to the file.
    init(beside runFile: RunFile, on writer: Connection, draw: (Int64) -> Int64) throws {
        do {
            let last = try Int64(writer.execute("SELECT run FROM runs") ?? "")
            guard let last else { throw StoreError(.corrupt, "The database file does not say in which run it is") }
            number = draw(last)
            state = Locked(.drawn)
        } catch  where StoreError(error).code == .corrupt {
            number = Run.none
            state = Locked(.unknown(StoreError(error)))
            return
        }
        do {
            try runFile.remove()
            try writer.run(.beginWrite)
            try record(on: writer)
            try writer.run(.commit)
            committed()
            // From here on the file without its log has the run.
            if try !writer.checkpoint(.truncate).wasBlocked { try runFile.write(number) }
        } catch {
            writer.abandonTransaction()
            guard StoreError(error).code != .corrupt, (error as? SQLiteFailure)?.isFsyncFailure != true else { throw error }
        }
    }

    /// Writes the number in the transaction that just began, unless the file has it.
    func record(on writer: Connection) throws {
        switch state.withLock({ $0 }) {
        case .recorded: return
        case .unknown(let error): throw error
        case .drawn:
            try writer.use(.runPut) { statement in
                statement.bind(number)
                _ = try statement.step()
            }
        }
    }

    /// Notes that a transaction that began with `record` is on the disk.
    func committed() {
        state.withLock { $0 = .recorded }
    }
}
