import Glibc

/// The question before a command that takes data away.
enum Confirmation {
    /// Waits until a person types yes, unless the command has `--yes`.
    /// - Parameter refusal: What is said if the answer is another one, or nobody can be asked.
    /// - Throws: `CommandFailure` where standard input is no terminal, or the answer is not yes.
    static func require(_ question: String, else refusal: String, _ call: Call) throws {
        if call.has(SharedOptions.yes) { return }
        guard isatty(STDIN_FILENO) == 1 else { throw CommandFailure(.usage, refusal, remedy: "This takes data away: say --yes.") }
        Output.message("\(question) Type yes:")
        guard readLine() == "yes" else { throw CommandFailure(.failure, refusal) }
    }
}
