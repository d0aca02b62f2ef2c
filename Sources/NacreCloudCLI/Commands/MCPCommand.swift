import Foundation
import Glibc
import NacreTelemetry

/// `nacre mcp`
enum MCPCommand {
    private static let allowPrivate = Option.flag(
        "allow-private", "Let tools show private databases, e-mail addresses and phone numbers. The audit log has each look.")
    private static let allowWrites = Option.flag("allow-writes", "Offer the tools that change something, in development alone.")

    static let command = Command(
        "mcp", "Let an agent look into the server, by the Model Context Protocol.",
        discussion: """
            Started by an agent's program, not by hand: it takes JSON-RPC on standard input, a message a line, and answers on standard output; its log goes to \
            standard error. It asks the admin API and nothing else. By default its tools only read, and show nothing of private databases. The server may be \
            started later, and started again. Tools, and how an agent is told of them: docs/agents.md.
            """,
        options: [allowPrivate, allowWrites] + AdminServer.options
    ) { call in
        do {
            _ = try AdminServer.named(by: call)
        } catch let error as CommandFailure {
            // The server may come later, and each call looks for it.
            Output.message("\(error.message). \(error.remedy ?? "")")
        }
        let context = ToolContext(connect: { try await AdminClient.connect(call) }, allowsPrivate: call.has(allowPrivate))
        let logger = Logger.standardError(level: call.has(Command.quiet) ? .warning : .info)
        let session = MCPSession(tools: ToolTable(allowsWrites: call.has(allowWrites)), context: context, logger: logger) { try Output.data($0) }
        var lines = InputLines()
        while let bytes = await StandardInput.bytes() {
            for line in lines.take(bytes) { await session.take(line) }
            if let failure = await session.failure { throw failure }
        }
        if let last = lines.end() { await session.take(last) }
        await session.finish()
        if let failure = await session.failure { throw failure }
    }
}

/// Standard input, read on a thread of its own: the read blocks.
private enum StandardInput {
    private static let queue = DispatchQueue(label: "nacre.input")
    /// Bytes of one read.
    private static let portion = 64 * 1024

    /// Returns the next bytes; nil at the end.
    static func bytes() async -> [UInt8]? {
        await withCheckedContinuation { continuation in
            queue.async {
                let bytes = [UInt8](unsafeUninitializedCapacity: portion) { buffer, count in
                    var read = -1
                    repeat { read = Glibc.read(STDIN_FILENO, buffer.baseAddress, buffer.count) } while read < 0 && errno == EINTR
                    count = max(read, 0)
                }
                continuation.resume(returning: bytes.isEmpty ? nil : bytes)
            }
        }
    }
}
