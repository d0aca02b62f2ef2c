import Glibc

/// The question before a command that takes data away.
enum Confirmation {
    /// Waits until a person types yes, unless the command has `--yes`.
    /// - Parameters:
    ///   - refusal: What is said if the answer is another one.
    ///   - unasked: What is said if nobody can be asked; nil: the refusal.
    /// - Throws: `CommandFailure` where standard input is no terminal, or the answer is not yes.
    static func require(_ question: String, else refusal: String, unasked: String? = nil, _ call: Call) throws {
        if call.has(SharedOptions.yes) { return }
        guard isatty(STDIN_FILENO) == 1 else { throw CommandFailure(.usage, unasked ?? refusal, remedy: "This takes data away: say --yes.") }
        try ask(question, else: refusal)
    }

    /// Waits until a person at a terminal types yes, unless the command has `--yes`. A script is not asked.
    /// - Throws: `CommandFailure` where the answer is not yes.
    static func atTerminal(_ question: String, else refusal: String, _ call: Call) throws {
        if call.has(SharedOptions.yes) || isatty(STDIN_FILENO) != 1 { return }
        try ask(question, else: refusal)
    }

    private static func ask(_ question: String, else refusal: String) throws {
        // --quiet leaves out messages, and a command that waits has to say for what.
        Output.error("\(question) Type yes:")
        guard readLine() == "yes" else { throw CommandFailure(.failure, refusal) }
    }
}
