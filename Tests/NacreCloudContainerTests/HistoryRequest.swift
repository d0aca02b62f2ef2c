import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire

/// One request of a history.
enum HistoryRequest: Equatable, Sendable {
    case modify(RecordsModifyRequest)
    case zones(ZonesModifyRequest)
    case lookup(RecordsLookupRequest)
    case query(RecordsQueryRequest)
    case changes(ChangesZoneRequest.Item)
    case database(ChangesDatabaseRequest)
}

/// The answer to a request.
enum HistoryAnswer: Equatable, Sendable {
    case records(RecordsResponse)
    case query(RecordsQueryResponse)
    case zones(ZonesResponse)
    case changes(ChangesZoneResponse.Result)
    case database(ChangesDatabaseResponse)
    case failure(ServerError)
}

struct HistoryEntry: Sendable {
    var id: Int
    var now: Timestamp
    var request: HistoryRequest
    var answer: HistoryAnswer
}

extension HistoryCloud {
    /// Sends a request, and returns errors as answers; only errors that no client may get are thrown.
    func ask(_ request: HistoryRequest) async throws -> HistoryAnswer {
        try await repeating { try await askOnce(request) }
    }

    private func askOnce(_ request: HistoryRequest) async throws -> HistoryAnswer {
        let (cloud, target, caller) = (user.cloud, user.target, user.caller)
        do {
            switch request {
            case .modify(let request):
                return .records(try await cloud.modifyRecords(request, in: target, by: caller, digest: Self.digest(of: request)))
            case .zones(let request):
                return .zones(try await cloud.modifyZones(request, in: target, by: caller))
            case .lookup(let request):
                return .records(try await cloud.lookupRecords(request, in: target, by: caller))
            case .query(let request):
                return .query(try await cloud.queryRecords(request, in: target, by: caller))
            case .changes(let item):
                let response = try await cloud.zoneChanges(ChangesZoneRequest(zones: [item]), in: target, by: caller)
                if case .failure(_, let error) = response.zones.first, error.isOfStore { throw error }
                return response.zones.first.map(HistoryAnswer.changes) ?? .failure(.internalError)
            case .database(let request):
                return .database(try await cloud.databaseChanges(request, in: cloud.database(target, for: .changes, by: caller)))
            }
        } catch let error as ServerError where !error.isOfStore {
            return .failure(error)
        }
    }

    /// Stands for the digest of the request's bytes: it need only be the same for the same request.
    private static func digest(of request: RecordsModifyRequest) -> [UInt8] {
        guard request.extension.operationID != nil else { return [] }
        return request.operations.compactMap { try? $0.get() }.flatMap { Array("\($0.type) \($0.change.recordName ?? "") ".utf8) }
    }
}

extension ServerError {
    /// Whether the error is one that `ServerError.init(_: StoreError)` makes of temporary failures.
    fileprivate var isOfStore: Bool { code == .tryAgainLater && internalCode == 2022 && field == nil }
}

/// Repeats a body where the store failed, as a client does that was told to retry.
func repeating<Value>(_ body: () async throws -> Value) async throws -> Value {
    // A store in which one call of ten fails never fails so often.
    for _ in 0..<100 {
        do {
            return try await body()
        } catch let error where error is StoreError || (error as? ServerError)?.isOfStore == true {}
    }
    return try await body()
}

/// The shared knowledge of a history: requests so far, and answered tags and tokens.
actor HistoryBook {
    private(set) var entries: [HistoryEntry] = []
    private var count = 0
    private var tags: [String: [String]] = [:]
    private var tokens: [String: [String]] = [:]
    private var retriable: [RecordsModifyRequest] = []

    func nextID() -> Int {
        count += 1
        return count
    }

    func write(_ entry: HistoryEntry) {
        entries.append(entry)
        switch (entry.request, entry.answer) {
        case (.modify(let request), .records(let response)):
            for case .record(let record) in response.records {
                tags["\(request.zoneID.zoneName)/\(record.recordName)", default: []].append(record.recordChangeTag)
            }
            if request.extension.operationID != nil { retriable.append(request) }
        case (_, .changes(.page(let page))): tokens[page.zoneID.zoneName, default: []].append(page.syncToken)
        default: break
        }
    }

    /// Returns the newest tag that was answered for a record, or an older one.
    func tag(of name: String, in zone: String, using random: inout SeededRandom) -> String? {
        let known = tags["\(zone)/\(name)"] ?? []
        return Int.random(in: 0..<4, using: &random) == 0 ? known.randomElement(using: &random) : known.last
    }

    func token(of zone: String, using random: inout SeededRandom) -> String? {
        tokens[zone]?.randomElement(using: &random)
    }

    func oldRequest(using random: inout SeededRandom) -> RecordsModifyRequest? {
        retriable.randomElement(using: &random)
    }
}
