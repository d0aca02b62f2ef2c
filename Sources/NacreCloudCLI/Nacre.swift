import Foundation
import Glibc
import NacreCloudServer

/// The `nacre` executable: reads the command line, runs the command, and reports how it ended.
@main
struct Nacre {
    static let root: Command = Command(
        "nacre", "The CloudKit that you can run yourself: server and tools in one.",
        discussion: """
            Data goes to standard output, messages to standard error. Exit status: 0 done, 1 failed, 2 damaged, 64 wrong usage, 69 no server answers, \
            77 not allowed, 130 interrupted.
            """,
        subcommands: [
            Serve.command, StatusCommand.command, LimitsCommand.command, ConsoleCommand.command, TeamCommands.command, Up.command, Run.command,
            PrintEnvironment.command,
            Exec.command,
            FaultCommands.command,
            Agent.command, Listen.command, Demo.command, TortureCommand.command, ContainerCommands.command, TokenCommands.command,
            UserCommands.command,
            SessionCommands.command, RoleCommands.command, QuotaCommands.command, UsageCommand.command, RateCommands.command, PushCommands.command,
            SubscriptionCommands.command, WebhookCommands.command, ShareCommands.command, WebCommands.command,
            AuditCommands.command, AlertCommands.command, MailCommands.command, Logs.command, Why.command, TelemetryCommand.command,
            MCPCommand.command,
            SchemaCommands.command, CktoolCommands.command, RecordCommands.command, ZoneCommands.command, QueryCommands.command,
            DatabaseCommands.command, KeysCommands.command, CheckCommand.command,
            AssetCommands.command, TaskCommands.command,
            BackupCommands.command, Migrate.command, Explain.command, ConfigCommands.command, Completions.command, Manual.command,
            ShowVersion.command,
        ])

    static func main() async {
        Output.openStandardDescriptors()
        let words = Array(CommandLine.arguments.dropFirst())
        let report = ErrorReport(root: root, isJSON: words.prefix { $0 != "--" }.contains(SharedOptions.json.spelling))
        do {
            let request = try Parser(root: root).parse(words)
            exit(await answer(request, report))
        } catch {
            exit(report.print(error).rawValue)
        }
    }

    private static func answer(_ request: Request, _ given: ErrorReport) async -> Int32 {
        var report = given
        do {
            switch request {
            case .help(let path): try Output.data(HelpText(path: path).text)
            case .version: try ShowVersion.show()
            case .run(let command, let call):
                if call.has(Command.quiet) { Output.beQuiet() }
                var call = call
                try Settings.add(to: &call, of: command, all: Settings.all, environment: ProcessInfo.processInfo.environment)
                report.settings = call.settings
                try Parser.checkSettings(of: command, call)
                try await command.action?(call)
            }
            return ExitCode.success.rawValue
        } catch let child as Run.Ended {
            return child.status
        } catch let error as UsageError {
            return report.print(error).rawValue
        } catch let failure as CommandFailure {
            return report.print(failure).rawValue
        } catch let error as PrivateFileError {
            return report.print(CommandFailure(error)).rawValue
        } catch let fault as BackupFault {
            return report.print(CommandFailure(fault)).rawValue
        } catch {
            return report.print(CommandFailure(.failure, "\(error)")).rawValue
        }
    }
}
