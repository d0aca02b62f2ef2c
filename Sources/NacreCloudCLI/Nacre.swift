import Glibc
import NacreCloudServer

/// The `nacre` executable: reads the command line, runs the command, and says how it ended.
@main
struct Nacre {
    static let root = Command(
        "nacre", "The CloudKit that you can run yourself: server and tools in one.",
        discussion: """
            Data goes to standard output, messages to standard error. Exit status: 0 done, 1 failed, 2 damaged, 64 wrong usage, 69 no server answers, \
            77 not allowed, 130 interrupted.
            """,
        subcommands: [
            Serve.command, Up.command, PrintEnvironment.command,
            Agent.command, Listen.command, Demo.command, TortureCommand.command, ContainerCommands.command, TokenCommands.command,
            UserCommands.command,
            SessionCommands.command, RoleCommands.command, QuotaCommands.command, UsageCommand.command, RateCommands.command, PushCommands.command,
            SubscriptionCommands.command, ShareCommands.command,
            AuditCommands.command,
            SchemaCommands.command, CktoolCommands.command, RecordCommands.command, ZoneCommands.command, QueryCommands.command, CheckCommand.command,
            AssetCommands.command, TaskCommands.command,
            BackupCommands.command, Migrate.command, Explain.command, ShowVersion.command,
        ])

    static func main() async {
        do {
            let request = try Parser(root: root).parse(Array(CommandLine.arguments.dropFirst()))
            exit(await answer(request).rawValue)
        } catch {
            exit(report(error).rawValue)
        }
    }

    private static func answer(_ request: Request) async -> ExitCode {
        do {
            switch request {
            case .help(let path): try Output.data(HelpText(path: path).text)
            case .version: try ShowVersion.show()
            case .run(let command, let call): try await command.action?(call)
            }
            return .success
        } catch let error as UsageError {
            return report(error)
        } catch let failure as CommandFailure {
            return report(failure)
        } catch let error as PrivateFileError {
            return report(CommandFailure(error))
        } catch let fault as BackupFault {
            return report(CommandFailure(fault))
        } catch {
            return report(CommandFailure(.failure, "\(error)"))
        }
    }

    private static func report(_ failure: CommandFailure) -> ExitCode {
        Output.message("Error: \(Output.withoutControls(failure.message))")
        if let remedy = failure.remedy { Output.message("  \(remedy)") }
        return failure.code
    }

    private static func report(_ error: UsageError) -> ExitCode {
        var path = [root]
        for name in error.path.dropFirst() {
            if let next = path.last?.subcommands.first(where: { $0.name == name }) { path.append(next) }
        }
        Output.message("Error: \(error.message)")
        Output.message("Usage: \(HelpText(path: path).usage)")
        Output.message("  See '\(error.path.joined(separator: " ")) --help' for more information.")
        return .usage
    }
}
