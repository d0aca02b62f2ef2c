import CloudKit
import Foundation
import NacreCloudTorture
import NacreCloudWire

/// `nacre torture`
enum TortureCommand {
    private static let url = Option.required("url", "url", "The public URL of the server.")
    private static let account = Option.value(
        "account-token", "token",
        "The account token of a device; given several times, several devices, of one account or of more (default: CLOUDKIT_ACCOUNT_TOKEN).")
    private static let seconds = Option.value("seconds", "n", fallback: "30", "How long to write.")
    private static let writers = Option.value("writers", "n", fallback: "8", "Writers in the zone of each account.")
    private static let readers = Option.value("readers", "n", fallback: "4", "Followers of the feed of each zone.")
    private static let seed = Option.value("seed", "n", "Makes the choices of an earlier run again.")
    private static let kill = Option.value("kill", "command", "Kills the server, again and again while it works; with --start.")
    private static let start = Option.value("start", "command", "Starts it again; the command may go on as long as the server does.")

    private static let copy = Option.value("copy", "command", "Copies the server's data while it works; with --put-back, --kill and --start.")
    private static let putBack = Option.value("put-back", "command", "Puts that copy in the place of the data, while the server is down.")

    private static let index = Option.value(
        "index", "command",
        "Makes and takes away indexes while the server works: nacre schema index with its --container and --data; what else it takes is added.")

    private static let signIn = Option.value(
        "sign-in", "command",
        "Prints an account token of a new device of the first account, which the run signs out again: nacre user sign-in --account …")
    private static let otherContainer = Option.value(
        "other-container", "name", "Another container, where a device is to hear nothing; with --other-token.")
    private static let otherToken = Option.value("other-token", "token", "The account token of that device, good for --other-container.")

    private static let encrypted = Option.flag(
        "encrypted", "Saves encrypted values too, with the keys that this machine's user has of the accounts; makes those of accounts that have none."
    )

    static let command = Command(
        "torture", "Look for broken promises of a server under load.",
        discussion: """
            Writers change records in atomic batches, each over the version that it knows; followers read the zone's feed, look records up, and go back \
            to old tokens. Some answers are not waited for, and some requests are sent twice. Then one order of all batches must explain what \
            everybody saw: no change lost, split, repeated, or out of order. With tokens of three accounts each shares a zone with the other two, who join, \
            leave, move and change at random: each must hear of all that is shared with them, and of nothing else. Devices subscribe to what others save, and hear of all of it until the \
            subscription is deleted, the share taken back or, with --sign-in, the device signed out, and of nothing that is saved later. Queries with filters and sorts, page after \
            page, must tell each record that passes throughout once, in order; with --index that command has indexes made and taken away meanwhile, in the \
            development environment. With --encrypted an app saves records with encrypted values and reads them back, also after it was started anew. It makes zones of its own and deletes them, unless they show \
            a violation. With --copy and --put-back an older copy of the data is put back after each round: use it only where nobody else's data is. Exit status: 0 nothing found, 1 a violation, 69 the server went away for a minute.

              nacre torture --url http://127.0.0.1:8787 --container iCloud.com.example.Notes \\
                --environment development --kill 'systemctl kill -s KILL nacre' \\
                --start 'systemctl start nacre'
            """,
        options: [
            url, SharedOptions.container, SharedOptions.environment, account, seconds, writers, readers, seed, kill, start, copy, putBack,
            index, signIn, otherContainer, otherToken, encrypted, SharedOptions.json,
        ]
    ) { call in
        let options = try options(call)
        Output.message("seed \(options.seed)")
        let isSilent = call.has(SharedOptions.json)
        do {
            let report = try await Torture(options).run { report in
                if !isSilent { Output.hint("round \(report.rounds): \(report.counts.batchesApplied) batches, \(report.restarts) restarts") }
            }
            if isSilent { try Output.json(report) } else { for line in report.lines { try Output.data(line) } }
            guard report.violations.isEmpty else {
                throw CommandFailure(.failure, "the server broke a promise", remedy: "Its zones torture-… are still there, as evidence.")
            }
        } catch let fault as TortureFault {
            throw CommandFailure(fault, url: options.url)
        }
    }

    private static func options(_ call: Call) throws -> TortureOptions {
        let fallback = ProcessInfo.processInfo.environment["CLOUDKIT_ACCOUNT_TOKEN"].map { [$0] } ?? []
        let tokens = call.isGiven(account) ? call.all(account) : fallback
        if tokens.isEmpty { throw UsageError(.missingOption(account.spelling), path: call.path) }
        var options = TortureOptions(
            url: try AdminServer.checked(try call.require(url), of: url, call), container: try call.require(SharedOptions.container),
            environment: try call.require(SharedOptions.environment), accountTokens: tokens,
            seconds: Double(try number(seconds, 1...604_800, call)), seed: try seedValue(call))
        options.writers = try number(writers, 1...BatchID.writersMax, call)
        options.readers = try number(readers, 1...BatchID.writersMax, call)
        switch (call.value(kill), call.value(start)) {
        case (let killing?, let starting?):
            let (killer, starter) = (ShellCommand(option: kill, text: killing), ShellCommand(option: start, text: starting))
            options.restarts = TortureRestarts(kill: { try await killer.run() }, start: { try starter.begin() })
        case (nil, nil): break
        case (_?, nil): throw UsageError(.missingOption(start.spelling), path: call.path)
        case (nil, _?): throw UsageError(.missingOption(kill.spelling), path: call.path)
        }
        options.indexes = call.value(index).map { text in
            TortureIndexes { change in try await ShellCommand(option: index, text: "\(text) \(arguments(of: change))", isSilent: true).run() }
        }
        if let text = call.value(signIn) {
            let command = ShellCommand(option: signIn, text: text)
            options.signIn = { try await command.line() }
        }
        switch (call.value(otherContainer), call.value(otherToken)) {
        case (let container?, let token?): options.stranger = (container, token)
        case (nil, nil): break
        case (_?, nil): throw UsageError(.missingOption(otherToken.spelling), path: call.path)
        case (nil, _?): throw UsageError(.missingOption(otherContainer.spelling), path: call.path)
        }
        if call.has(encrypted) { options.keys = .ambient }
        options.putBacks = try putBacks(call)
        if options.putBacks != nil, options.restarts == nil { throw UsageError(.missingOption(kill.spelling), path: call.path) }
        return options
    }

    /// Returns the arguments of `nacre schema index` for a change. None needs quoting in a shell.
    private static func arguments(of change: TortureIndexChange) -> String {
        let options = change.options.map { $0.isEmpty ? ["--none"] : $0.map { "--\($0.lowercased())" } } ?? []
        return (options + (change.isNow ? ["--now"] : []) + ["--json", change.recordType, change.field]).joined(separator: " ")
    }

    private static func putBacks(_ call: Call) throws -> TorturePutBacks? {
        switch (call.value(copy), call.value(putBack)) {
        case (let copying?, let puttingBack?):
            let (copier, putter) = (ShellCommand(option: copy, text: copying), ShellCommand(option: putBack, text: puttingBack))
            return TorturePutBacks(copy: { try await copier.run() }, putBack: { try await putter.run() })
        case (nil, nil): return nil
        case (_?, nil): throw UsageError(.missingOption(putBack.spelling), path: call.path)
        case (nil, _?): throw UsageError(.missingOption(copy.spelling), path: call.path)
        }
    }

    private static func number(_ option: Option, _ range: ClosedRange<Int>, _ call: Call) throws -> Int {
        guard let number = Int(try call.require(option)), range.contains(number) else {
            throw UsageError(.invalid("--\(option.name)", "give a number from \(range.lowerBound) to \(range.upperBound)"), path: call.path)
        }
        return number
    }

    private static func seedValue(_ call: Call) throws -> UInt64 {
        // Short enough to be typed again.
        guard let text = call.value(seed) else { return .random(in: 0...UInt64(UInt32.max)) }
        guard let value = UInt64(text) else { throw UsageError(.invalid("--\(seed.name)", "give a number"), path: call.path) }
        return value
    }
}

extension CommandFailure {
    fileprivate init(_ fault: TortureFault, url: String) {
        switch fault {
        case .notAURL: self.init(.usage, "\(url) is not a URL")
        case .silent(let text): self.init(.unreachable, "no server answers at \(url): \(text)")
        case .restart(let text): self.init(.failure, text)
        case .noKeys(let text): self.init(.failure, "this device has no keys of an account: \(text)")
        case .refused(let error):
            let isAboutWho = [.authenticationFailed, .authenticationRequired, .accessDenied].contains(error.code)
            self.init(
                isAboutWho ? .authentication : .failure, "the server refused: \(error.reason)",
                remedy: error.remedy ?? (isAboutWho ? "Check the account token, container and environment." : nil))
        }
    }
}
