import NacreLocks

/// The server's cursors that an agent got, each under a number: a cursor may have the name of a private record in it.
final class ToolCursors: Sendable {
    /// Cursors that are kept; the oldest goes first. Ours: an agent goes on with the last answer, or one of few.
    static let kept = 200

    private let state = Locked((first: 1, cursors: [String]()))

    /// Keeps a cursor.
    /// - Returns: Its number.
    func keep(_ cursor: String) -> Int {
        state.withLock { state in
            if let index = state.cursors.firstIndex(of: cursor) { return state.first + index }
            state.cursors.append(cursor)
            if state.cursors.count > Self.kept {
                state.cursors.removeFirst()
                state.first += 1
            }
            return state.first + state.cursors.count - 1
        }
    }

    /// Returns the cursor of a number; nil: there is none, or it is kept no more.
    func cursor(_ number: Int) -> String? {
        state.withLock { state in
            (state.first..<state.first + state.cursors.count).contains(number) ? state.cursors[number - state.first] : nil
        }
    }
}
