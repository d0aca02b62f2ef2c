package import CloudKit
import Foundation
package import NacreCloudWire
import NacreRandom

/// Options of a run against a server.
package struct TortureOptions: Sendable {
    /// The server's URL, without a slash at the end.
    package var url: String
    package var container: String
    package var environment: String
    /// Account tokens of devices. Devices of one account share its zones; each account has its own. With three
    /// accounts, each shares a zone with the others.
    package var accountTokens: [String]
    package var seconds: Double
    /// nil: the run takes its `seconds`. Otherwise it is one round, which ends once the goal is reached, and after
    /// its `seconds` at the latest.
    package var goal: TortureGoal?
    /// Writers in each account's zone.
    package var writers = 8
    package var readers = 4
    /// Clients that query notes, in a separate zone of each account; 0: none.
    package var askers = 2
    /// Notes of each saver: enough that a server makes indexes for them.
    package var notes = 500
    /// nil: the server makes indexes by itself, and none is removed.
    package var indexes: TortureIndexes?
    /// Makes a token of a new device of the first account, which is signed out again; nil: no device is.
    package var signIn: (@Sendable () async throws -> String)?
    /// Another container and a device's token there; nil: no device listens in another one.
    package var stranger: (container: String, accountToken: String)?
    /// The keys of this device for encrypted values; nil: no value is encrypted.
    package var keys: KeyStore?
    /// Seconds that a notification may take. Ours: a worker that was killed is followed by another after a minute.
    package var tellingSeconds = 90.0
    package var seed: UInt64
    /// nil: the server is not restarted.
    package var restarts: TortureRestarts?
    /// With `restarts`: after each round an older copy of the data is put back. nil: none is.
    package var putBacks: TorturePutBacks?

    package init(url: String, container: String, environment: String, accountTokens: [String], seconds: Double, seed: UInt64) {
        self.url = url
        self.container = container
        self.environment = environment
        self.accountTokens = accountTokens
        self.seconds = seconds
        self.seed = seed
    }
}

/// The amount of work in each account's zone before a round may end.
package struct TortureGoal: Sendable {
    /// Batches that writers sent.
    package var batches: Int
    /// Steps of family writers.
    package var familySteps: Int
    /// Steps of file keepers.
    package var fileSteps: Int
    /// Steps of keepers of encrypted values, in runs with keys.
    package var secretSteps: Int
    /// Bursts of three accounts at a zone of each.
    package var shareBursts: Int
    /// Turns in which devices subscribe, are notified, and unsubscribe; and those of guests of a share.
    package var tellings: Int
    package var guestTellings: Int
    /// Queries for notes, from the first page to the last.
    package var questions: Int
    /// Changes of indexes, in arenas that change them.
    package var indexChanges: Int
    /// Kills, each with the start after it.
    package var restarts: Int

    package init(
        batches: Int, familySteps: Int, fileSteps: Int = 0, secretSteps: Int = 0, shareBursts: Int = 0, tellings: Int = 0, guestTellings: Int = 0,
        questions: Int = 0, indexChanges: Int = 0, restarts: Int = 0
    ) {
        self.batches = batches
        self.familySteps = familySteps
        self.fileSteps = fileSteps
        self.secretSteps = secretSteps
        self.shareBursts = shareBursts
        self.tellings = tellings
        self.guestTellings = guestTellings
        self.questions = questions
        self.indexChanges = indexChanges
        self.restarts = restarts
    }

    func reaches(_ goal: TortureGoal) -> Bool {
        batches >= goal.batches && familySteps >= goal.familySteps && fileSteps >= goal.fileSteps && secretSteps >= goal.secretSteps
            && shareBursts >= goal.shareBursts && tellings >= goal.tellings && guestTellings >= goal.guestTellings && questions >= goal.questions
            && indexChanges >= goal.indexChanges
            && restarts >= goal.restarts
    }
}

/// The operations that kill and start the server during a round.
package struct TortureRestarts: Sendable {
    package var kill: @Sendable () async throws -> Void
    package var start: @Sendable () async throws -> Void
    /// Returns when the server answers again.
    var isUp: @Sendable () async throws -> Void = {}

    package init(kill: @escaping @Sendable () async throws -> Void, start: @escaping @Sendable () async throws -> Void) {
        self.kill = kill
        self.start = start
    }
}

/// The operations that copy the server's data, and put the copy back.
package struct TorturePutBacks: Sendable {
    /// Copies the data while the server runs.
    package var copy: @Sendable () async throws -> Void
    /// Puts the copy back while the server does not run.
    package var putBack: @Sendable () async throws -> Void

    package init(copy: @escaping @Sendable () async throws -> Void, putBack: @escaping @Sendable () async throws -> Void) {
        self.copy = copy
        self.putBack = putBack
    }
}

/// The reason why there is no verdict.
package enum TortureFault: Error, Sendable {
    case notAURL
    /// The server refused the preparation of the run.
    case refused(ServerError)
    /// An account has keys, and this device has none; or there is no telling.
    case noKeys(String)
    /// No server answered for too long.
    case silent(String)
    /// The server was not killed or not started.
    case restart(String)
}

/// A run against a server: rounds in separate zones, each judged at its end, so that memory is bounded.
package struct Torture: Sendable {
    /// Seconds of one round. Ours: its history fits in memory and is judged in a second or two.
    private static let roundSeconds: Double = 15
    private static let zonePrefix = "torture"

    private let options: TortureOptions
    private let web: Web
    private let root: URL
    /// The part of names on the server that is this run's own; another run with its seed has another one.
    private let name: String

    /// Makes a run.
    /// - Throws: `TortureFault.notAURL`.
    package init(_ options: TortureOptions) throws(TortureFault) {
        let base = URL(string: options.url)?.appendingPathComponent("database/1")
        guard let base, base.host != nil else { throw .notAURL }
        self.options = options
        root = base.appendingPathComponent(options.container).appendingPathComponent(options.environment).appendingPathComponent("private")
        web = Web(connections: max(1, options.accountTokens.count) * (options.writers + options.readers + options.askers + Round.others))
        name = String(UInt64.random(in: .min ... .max), radix: 36)
    }

    /// Runs the rounds.
    /// - Parameter onRound: Called with the report after each round.
    /// - Throws: `TortureFault`, where no violation was found before.
    package func run(onRound: @Sendable (TortureReport) throws -> Void = { _ in }) async throws -> TortureReport {
        let began = ContinuousClock.now
        let end = began + .seconds(options.seconds)
        let accounts = try await accounts()
        for account in accounts { try await expectKeys(of: account) }
        var report = TortureReport(seed: options.seed, accounts: accounts.count)
        repeat {
            let deadline = options.goal == nil ? min(end, ContinuousClock.now + .seconds(Self.roundSeconds)) : end
            let silence = try await round(report.rounds + 1, accounts, until: deadline, &report)
            let time = (ContinuousClock.now - began).components
            report.seconds = Double(time.seconds) + Double(time.attoseconds) / 1e18
            try onRound(report)
            if let silence, report.violations.isEmpty { throw TortureFault.silent(silence) }
        } while options.goal == nil && ContinuousClock.now < end && report.violations.isEmpty
        return report
    }

    private var stranger: Asker? {
        options.stranger.map { stranger in
            let container = root.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
                .appendingPathComponent(stranger.container)
            return Asker(
                web: web, root: container.appendingPathComponent(options.environment).appendingPathComponent("private"), token: stranger.accountToken)
        }
    }

    private struct Account {
        let user: String
        var devices: [Asker]
    }

    private func accounts() async throws(TortureFault) -> [Account] {
        var accounts: [Account] = []
        for token in options.accountTokens {
            let asker = Asker(web: web, root: root, token: token)
            let user = try await asked { () async throws(AskFault) in try await asker.ask("users/caller", nil, as: UserIdentity.self) }
            if let index = accounts.firstIndex(where: { $0.user == user.userRecordName }) {
                accounts[index].devices.append(asker)
            } else {
                accounts.append(Account(user: user.userRecordName, devices: [asker]))
            }
        }
        return accounts
    }

    /// Returns the container of an app that was just started on an account's first device; nil in runs without keys.
    private func startedApp(of account: Account) -> (@Sendable () -> CKContainer)? {
        guard let keys = options.keys, let url = URL(string: options.url) else { return nil }
        let server = CloudKitServer(
            url: url, environment: CloudKitServer.Environment(rawValue: options.environment), accountToken: account.devices[0].token)
        return { [container = options.container] in CKContainer(identifier: container, server: server, keyStore: keys) }
    }

    /// Checks that this device has an account's keys, or may make them.
    private func expectKeys(of account: Account) async throws(TortureFault) {
        guard let app = startedApp(of: account) else { return }
        let status: UserKeys.Status
        do throws(CKError) {
            status = try await app().userKeys().status()
        } catch {
            throw .noKeys("\(error.localizedDescription)")
        }
        guard [.none, .here].contains(status.keys) else { throw .noKeys("\(account.user): \(status.keys.rawValue). \(status.next)") }
    }

    private func asked<Answer>(_ body: () async throws(AskFault) -> Asker.Asked<Answer>) async throws(TortureFault) -> Answer {
        do throws(AskFault) {
            return try await body().answer
        } catch {
            switch error {
            case .refused(let error): throw .refused(error)
            case .silent(let text): throw .silent(text)
            }
        }
    }

    /// Runs one round.
    /// - Returns: The reason why no server answered any more, if so.
    private func round(
        _ number: Int, _ accounts: [Account], until deadline: ContinuousClock.Instant, _ report: inout TortureReport
    ) async throws(TortureFault) -> String? {
        let zone = ZoneID(zoneName: "\(Self.zonePrefix)-\(name)-\(number)")
        let families = ZoneID(zoneName: zone.zoneName + "-families")
        let files = ZoneID(zoneName: zone.zoneName + "-files")
        let told = ZoneID(zoneName: zone.zoneName + "-told")
        let shared = ZoneID(zoneName: zone.zoneName + "-shared")
        let heard = ZoneID(zoneName: zone.zoneName + "-heard")
        let asked = ZoneID(zoneName: zone.zoneName + "-asked")
        let sealed = ZoneID(zoneName: zone.zoneName + "-sealed")
        let zones =
            [zone, families, files, told, shared, heard] + (options.askers > 0 ? [asked] : []) + (options.keys == nil ? [] : [sealed])
        for account in accounts {
            for zone in zones { try await change(.create, zone, account.devices[0]) }
        }
        let closures = IndexClosures()
        // Alternately, because a listening guest is notified of everything that is shared with them.
        let isTelling = options.goal.map { $0.guestTellings > 0 } ?? number.isMultiple(of: 2)
        let arenas = accounts.enumerated().map { index, account in
            // The next two accounts, cyclically.
            let guests = accounts.count < 3 ? [] : (1...2).map { accounts[(index + $0) % accounts.count] }
            var goal = options.goal
            if index > 0 { goal?.guestTellings = 0 }
            return Arena(
                zoneID: zone, familyZoneID: families, fileZoneID: files, sealedZoneID: sealed, toldZoneID: told, sharedZoneID: shared,
                heardZoneID: heard,
                sharing: guests.isEmpty ? .nothing : !isTelling ? .allAtOnce : index == 0 ? .telling : .nothing,
                askedZoneID: asked, askers: options.askers, notes: options.notes, indexes: index == 0 ? options.indexes : nil, closures: closures,
                tellingPatience: .seconds(options.tellingSeconds), signIn: index == 0 ? options.signIn : nil,
                stranger: index == 0 ? stranger : nil, startApp: startedApp(of: account), mayDie: options.restarts != nil, place: index,
                user: account.user,
                guests: guests.map { Arena.Guest(user: $0.user, asker: $0.devices[0]) }, devices: account.devices,
                board: Board(goal: goal), run: "\(name)-\(number)")
        }
        var restarts = options.restarts
        restarts?.isUp = {
            for account in accounts { _ = try await account.devices[0].ask("users/caller", nil, as: UserIdentity.self) }
        }
        let round = Round(
            arenas: arenas, writers: options.writers, readers: options.readers, seed: options.seed &+ UInt64(number) << 48, deadline: deadline,
            restarts: restarts)
        let outcome = try await round.run()
        report.rounds += 1
        report.restarts += outcome.restarts
        var silence: String?
        for testimony in outcome.testimonies {
            report.counts.add(testimony.counts)
            report.violations += HistoryCheck.violations(of: testimony.history)
            silence = silence ?? testimony.silence
        }
        // After a violation the zones stay on the server for inspection.
        guard report.violations.isEmpty, silence == nil else { return silence }
        for account in accounts {
            for zone in zones { try await change(.delete, zone, account.devices[0]) }
        }
        if let restarts, let putBacks = options.putBacks { return try await putBack(number, accounts[0].devices[0], restarts, putBacks, &report) }
        return nil
    }

    /// Runs a round in a separate zone, of which a copy is put back. Earlier rounds' zones are not used any more.
    private func putBack(
        _ number: Int, _ device: Asker, _ restarts: TortureRestarts, _ putBacks: TorturePutBacks, _ report: inout TortureReport
    ) async throws(TortureFault) -> String? {
        let zone = ZoneID(zoneName: "\(Self.zonePrefix)-\(name)-\(number)-copy")
        try await change(.create, zone, device)
        var round = PutBackRound(
            asker: device, zoneID: zone, restarts: restarts, putBacks: putBacks,
            random: SeededRandom(seed: options.seed &+ UInt64(number) << 48 &+ 1))
        do {
            let outcome = try await round.run()
            report.restarts += 1
            report.copiesPutBack += 1
            report.counts.tokensExpired += outcome.told
            report.violations += outcome.violations
        } catch let fault as TortureFault {
            throw fault
        } catch AskFault.silent(let text) {
            return text
        } catch AskFault.refused(let error) {
            report.violations.append(.unexpected(error, asked: "a device, after an older copy was put back,"))
        } catch {
            throw .restart("\(error)")
        }
        if report.violations.isEmpty { try await change(.delete, zone, device) }
        return nil
    }

    private func change(_ type: ZoneOperation.OperationType, _ zone: ZoneID, _ device: Asker) async throws(TortureFault) {
        let request = ZonesModifyRequest(operations: [ZoneOperation(type, zone)], extension: RequestExtension(wantsDetails: true))
        let answer = try await asked { () async throws(AskFault) in
            try await device.ask("zones/modify", request.json(), as: ZonesResponse.self)
        }
        // A retry of a deletion finds nothing, which is fine.
        if case .failure(_, let error)? = answer.zones.first, error.code != .zoneNotFound { throw .refused(error) }
    }
}
