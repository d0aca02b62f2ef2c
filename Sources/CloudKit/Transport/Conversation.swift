import Foundation
import NacreCloudWire
import NacreLocks

/// The exchange of one operation with a database on a server. Takes messages, and returns answers or throws a
/// `CKError`.
struct Conversation: Sendable {
    let line: ServerLine
    let scope: CKDatabase.Scope
    let patience: Patience
    /// Whether the server may hold its requests open.
    var mayWait = false
    /// The journal of a long-lived operation, with the results of its steps.
    var journal: OperationJournal?
    /// The operation's group, for the server's log.
    var group: OperationGroupNote?

    /// The server's URL; nil while a setting is missing.
    var serverURL: URL? { try? line.settings().url }

    // MARK: The endpoints

    func modify(_ request: RecordsModifyRequest) async throws(CKError) -> RecordsResponse {
        let start = line.timekeeper.now()
        let user = try await currentUser()
        var response: RecordsResponse = try await ask("records/modify", user.spellingOut(request), .change, since: start)
        response.records = user.showing(response.records, askedAs: request.operations.map { (try? $0.get())?.change.recordName })
        return response
    }

    func lookup(_ request: RecordsLookupRequest) async throws(CKError) -> RecordsResponse {
        let start = line.timekeeper.now()
        let user = try await currentUser()
        var response: RecordsResponse = try await ask("records/lookup", user.spellingOut(request), .read, since: start)
        response.records = user.showing(response.records, askedAs: request.records.map(\.recordName))
        return response
    }

    func query(_ request: RecordsQueryRequest) async throws(CKError) -> RecordsQueryResponse {
        let start = line.timekeeper.now()
        let user = try await currentUser()
        var response: RecordsQueryResponse = try await ask("records/query", user.spellingOut(request), .read, since: start)
        response.records = response.records.map(user.showing)
        return response
    }

    func upload(_ request: AssetsUploadRequest) async throws(CKError) -> AssetsUploadResponse {
        let start = line.timekeeper.now()
        let user = try await currentUser()
        return try await ask("assets/upload", user.spellingOut(request), .read, since: start)
    }

    func listZones() async throws(CKError) -> ZonesResponse {
        try await ask("zones/list", ZonesListRequest(), .read)
    }

    func lookup(_ request: ZonesLookupRequest) async throws(CKError) -> ZonesResponse {
        try await ask("zones/lookup", request, .read)
    }

    func modify(_ request: ZonesModifyRequest) async throws(CKError) -> ZonesResponse {
        let response: ZonesResponse = try await ask("zones/modify", request, .change)
        let deleted = response.zones.compactMap { if case .deleted(let zoneID) = $0 { zoneID.zoneName } else { nil } }
        forgetVersions(inZonesNamed: deleted)
        await forgetWishes(inZonesNamed: deleted)
        // A zone that was just made has no keys of an earlier one.
        for case .zone(let zone) in response.zones { forgetZoneKeys(named: zone.zoneID.zoneName) }
        return response
    }

    func changes(_ request: ChangesDatabaseRequest) async throws(CKError) -> ChangesDatabaseResponse {
        let response: ChangesDatabaseResponse = try await ask("changes/database", request, .read)
        try await checkReset(ofZonesNamed: response.zones.filter { $0.deletion == .encryptedDataReset }.map(\.zoneID.zoneName))
        forgetVersions(inZonesNamed: response.zones.filter { $0.deletion != nil }.map(\.zoneID.zoneName))
        return response
    }

    func changes(_ request: ChangesZoneRequest) async throws(CKError) -> ZoneChangesAnswer {
        let start = line.timekeeper.now()
        let user = try await currentUser()
        let moment = seenMoment
        return ZoneChangesAnswer(bytes: try await bytes("changes/zone", request, .read, since: start), user: user, moment: moment)
    }

    func caller() async throws(CKError) -> UserIdentity {
        let settings = try line.settings()
        let identity: UserIdentity = try Self.read(
            await Conversation(line: line, scope: .public, patience: patience, journal: journal, group: group).send(Self.callerPath, .get, [], .read))
        line.knownUser.withLock { $0 = ServerLine.KnownUser(settings: settings, recordName: identity.userRecordName) }
        return identity
    }

    /// Returns the caller. Errors about the account's status become `notAuthenticated`, for callers that only need the
    /// user.
    func requireCaller() async throws(CKError) -> UserIdentity {
        do throws(CKError) {
            return try await caller()
        } catch {
            guard error.code == .managedAccountRestricted || error.code == .permissionFailure else { throw error }
            throw CKError(.notAuthenticated, userInfo: error.userInfo)
        }
    }

    /// Returns the current user. It costs a request the first time, and again when the line changes its server or
    /// account. An account that is not available has no user, but the public database can still be read.
    func currentUser() async throws(CKError) -> CurrentUser {
        // The user is a step of the journal, because a process that resumes the operation does not know it.
        guard let journal else { return try await knownUser() }
        return CurrentUser(recordName: try await journal.step("user") { () throws(CKError) in try await knownUser().recordName })
    }

    private func knownUser() async throws(CKError) -> CurrentUser {
        let settings = try line.settings()
        guard settings.accountToken != nil else { return CurrentUser(recordName: nil) }
        if let known = line.knownUser.withLock({ $0 }), known.settings == settings { return CurrentUser(recordName: known.recordName) }
        do throws(CKError) {
            return CurrentUser(recordName: try await requireCaller().userRecordName)
        } catch {
            guard scope == .public, error.code == .notAuthenticated || error.code == .accountTemporarilyUnavailable else { throw error }
            return CurrentUser(recordName: nil)
        }
    }

    /// Throws the error that any request would fail with before it is sent: a missing setting, or no account.
    func checkAccess() throws(CKError) {
        _ = try line.address().request(.get, "", [], scope)
    }

    // MARK: One request

    /// Sends a request that asks for this framework's details. A change has an operation ID, which its retries keep.
    func ask<Answer: AnswerMessage>(
        _ path: String, _ request: some RequestMessage, _ kind: RetryState.Kind, since start: Double? = nil
    ) async throws(CKError) -> Answer {
        let bytes = try await bytes(path, request, kind, since: start)
        do throws(CKError) {
            return try Self.read(bytes)
        } catch {
            throw error.naming(version: line.serverVersion.withLock { $0 })
        }
    }

    private func bytes(
        _ path: String, _ request: some RequestMessage, _ kind: RetryState.Kind, since start: Double?
    ) async throws(CKError) -> [UInt8] {
        var request = request
        request.extension.wantsDetails = true
        if kind == .change { request.extension.operationID = journal?.nextChange() ?? line.timekeeper.operationID() }
        do throws(CKError) {
            return try await send(path, .post, request.json(), kind, since: start)
        } catch {
            if error.tellsReset {
                // The check asks for the log itself, and an answer to that tells of no zone.
                guard path != Self.logPath else { throw .resetIsNotSigned }
                try await checkReset(ofZonesNamed: nil)
            }
            throw error
        }
    }

    static func read<Answer: AnswerMessage>(_ bytes: [UInt8]) throws(CKError) -> Answer {
        do throws(ServerError) {
            return try Answer(json: bytes)
        } catch {
            throw CKError(error)
        }
    }

    /// Sends the same bytes until there is an answer, or until `RetryState` gives up.
    ///
    /// - Parameter start: the time at which the request's limit began, if another request came first.
    func send(
        _ path: String, _ method: TransportRequest.Method, _ body: [UInt8], _ kind: RetryState.Kind, since start: Double? = nil
    ) async throws(CKError) -> [UInt8] {
        guard let journal else { return try await sendNow(path, method, body, kind, since: start) }
        let answer = try await journal.step(OperationJournal.key(of: path, body)) { () throws(CKError) in
            Data(try await sendNow(path, method, body, kind, since: start))
        }
        return [UInt8](answer)
    }

    private func sendNow(
        _ path: String, _ method: TransportRequest.Method, _ body: [UInt8], _ kind: RetryState.Kind, since start: Double?
    ) async throws(CKError) -> [UInt8] {
        let address = try line.address(mayWait: mayWait)
        var request = try address.request(method, path, body, scope)
        if let group { request.headers[OperationGroupNote.header] = group.text }
        let plain = request
        // An earlier process may have sent the request.
        let earlier = journal?.takenOverAfter
        return try await repeated(kind, since: start) { attempt in
            var request = plain
            request.limit(by: attempt)
            if kind == .change, attempt.number > 0 || earlier != nil {
                request.headers[OperationAge.header] = OperationAge(seconds: attempt.age + (earlier ?? 0)).text
            }
            let answer = await Self.result { () throws(TransportFailure) in try await address.transport.send(request) }
            let ending = answered(answer, by: address)
            if scope != .public || path == Self.callerPath { note(ending, address) }
            return ending.map(\.body)
        }
    }

    /// One try of a request.
    struct Attempt: Sendable {
        /// The number of the attempt; the first is 0.
        var number: Int
        /// Seconds since the first attempt began.
        var age: Double
        var timeout: Double
        var totalTimeout: Double?
    }

    /// Tries until there is an answer, or until `RetryState` gives up.
    ///
    /// - Parameter start: the time at which the limit began, if another request came first.
    func repeated<Value>(
        _ kind: RetryState.Kind, since start: Double? = nil, _ attempt: (Attempt) async -> Result<Value, Failure>
    ) async throws(CKError) -> Value {
        var retries = RetryState(kind: kind, patience: patience)
        let start = start ?? line.timekeeper.now()
        var number = 0
        while true {
            if patience.isDiscretionary { await line.discretion.standBack(line.timekeeper.pause) }
            if Task.isCancelled { throw .cancelled }
            let age = line.timekeeper.now() - start
            let limits = Attempt(
                number: number, age: age, timeout: patience.requestTimeout,
                totalTimeout: patience.resourceTimeout.map { max($0 - age, RetryState.shortestAttempt) })
            let failure: Failure
            // A request that the server holds open does not count as work.
            switch await line.discretion.during(discretionary: patience.isDiscretionary || mayWait, { await attempt(limits) }) {
            case .success(let value): return value
            case .failure(let failed): failure = failed
            }
            guard let ending = failure.ending else { throw failure.error }
            if failure.hasMoved { retries = RetryState(kind: kind, patience: patience) }
            let elapsed = line.timekeeper.now() - start
            switch retries.decide(after: ending, elapsed: elapsed, spread: line.timekeeper.spread()) {
            case .fail: throw failure.error
            case .failAsLost(let retryAfter): throw .lostResponse(retryAfter: retryAfter)
            case .retry(let pause): try await wait(pause)
            }
            number += 1
        }
    }

    private func wait(_ seconds: Double) async throws(CKError) {
        do {
            try await line.timekeeper.pause(seconds)
        } catch {
            throw .cancelled
        }
    }

    /// The failure of an attempt: its error, and its kind if a retry may help (nil: never).
    struct Failure: Error {
        var ending: RetryState.Ending?
        var error: CKError
        /// Whether bytes of a file arrived before the failure: the next attempt continues there.
        var hasMoved = false
    }

    static func result<Value, Problem: Error>(_ body: () async throws(Problem) -> Value) async -> Result<Value, Problem> {
        do throws(Problem) {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }

    private static let callerPath = "users/caller"
    static let logPath = "keys/log"
    /// The header in which a server tells its version, in lower case.
    private static let versionHeader = "x-nacre-version"

    /// Tells the account watch what an answer about the account's own data reveals of the account.
    private func note(_ ending: Result<TransportAnswer, Failure>, _ address: ServerAddress) {
        guard address.settings.accountToken != nil else { return }
        switch ending {
        case .success: line.accountWatch.heard(nil, with: address.settings)
        case .failure(let failure): line.accountWatch.heard(failure.error, with: address.settings)
        }
    }

    /// Returns the answer of an attempt if it is a success, otherwise the failure.
    func answered(
        _ result: Result<TransportAnswer, TransportFailure>, by address: ServerAddress, hasMoved: Bool = false
    ) -> Result<TransportAnswer, Failure> {
        if case .success(let answer) = result { line.serverVersion.withLock { $0 = answer.headers[Self.versionHeader] } }
        switch result {
        case .success(let answer) where (200..<300).contains(answer.status): return .success(answer)
        case .success(let answer): return .failure(refusal(answer, by: address))
        case .failure(let failure):
            let ending: RetryState.Ending? =
                switch failure {
                case .notSent: .notSent
                case .answerLost: .answerLost
                case .fileFailed: nil
                case .cancelled: .cancelled
                }
            return .failure(Failure(ending: ending, error: CKError(failure), hasMoved: hasMoved))
        }
    }

    private func refusal(_ answer: TransportAnswer, by address: ServerAddress) -> Failure {
        let retryAfter = answer.retryAfter
        guard var error = (try? ErrorResponse(json: answer.body))?.error else {
            let error = CKError.unreadable(
                status: answer.status, retryAfter: retryAfter, headers: answer.headers, at: address.settings.url
            ).naming(version: answer.headers[Self.versionHeader])
            // A gateway got no answer, so it is unknown what the server did.
            if answer.status == 502 || answer.status == 504 { return Failure(ending: .answerLost, error: error) }
            return Failure(ending: error.code.saysLater ? .busy(retryAfter: retryAfter) : nil, error: error)
        }
        error.retryAfter = error.retryAfter ?? retryAfter.map { Int($0.rounded(.up)) }
        if error.code == .authenticationFailed, address.apiToken == nil {
            error.remedy = error.remedy ?? ServerSetting.apiToken.remedy
        }
        let ckError = CKError(error).naming(version: answer.headers[Self.versionHeader])
        return Failure(ending: ckError.code.saysLater ? .busy(retryAfter: ckError.retryAfterSeconds) : nil, error: ckError)
    }
}

extension CKError.Code {
    /// Whether the server is reachable and asks to try again later.
    fileprivate var saysLater: Bool {
        self == .serviceUnavailable || self == .requestRateLimited || self == .zoneBusy
    }
}
