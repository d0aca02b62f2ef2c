import NacreCloudContainer
import NacreLocks

/// The run of one opening of the file. It is drawn on opening, and kept in the file no later than the first change that is numbered by it.
final class OpenRun: Sendable {
    let number: Int64
    private let state: Locked<State>

    private enum State {
        case drawn
        case recorded
        /// The file does not say which runs there were: what is read is served, and nothing may be numbered.
        case unknown(StoreError)
    }

    /// Draws the number and writes it down, where there is room for it: else the first transaction does.
    /// - Parameter writer: nobody else has the file open.
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
            // From here on the file alone says which run it is in.
            if try !writer.checkpoint(.truncate).wasBlocked { try runFile.write(number) }
        } catch {
            writer.abandonTransaction()
            guard StoreError(error).code != .corrupt, (error as? SQLiteFailure)?.isFsyncFailure != true else { throw error }
        }
    }

    /// Puts the number into the transaction that was just begun, unless the file has it.
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

    /// A transaction that began with `record` is on the disk.
    func committed() {
        state.withLock { $0 = .recorded }
    }
}
