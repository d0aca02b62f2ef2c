import NacreCloudContainer
import NacreCloudTestSupport
import NacreCloudWire

/// A client that sends random requests.
struct HistoryWriter {
    static let zones = ["A", "B", "C"]
    /// All fields that it saves into records, of one type.
    static let fields: [String: FieldType] = [
        "a": .int64, "b": .int64, "c": .int64, "made": .int64, "owner": .reference, "owners": .referenceList, "validates": .reference,
    ]

    var cloud: HistoryCloud
    var book: HistoryBook
    var random: SeededRandom
    /// Operations on records that are still to be sent.
    var operations: Int

    mutating func run() async throws {
        while operations > 0 {
            let request = try await next()
            if case .modify(let request) = request { operations -= request.operations.count }
            try await ask(request)
        }
    }

    @discardableResult
    mutating func ask(_ request: HistoryRequest) async throws -> HistoryAnswer {
        let id = await book.nextID()
        let now = HistoryCloud.start + Double(id) / 100 + Double.random(in: -10...1, using: &random)
        let answer = try await HistoryContext.$current.withValue(HistoryContext(id: id, now: now)) { try await cloud.ask(request) }
        await book.write(HistoryEntry(id: id, now: now, request: request, answer: answer))
        return answer
    }

    private mutating func next() async throws -> HistoryRequest {
        let zone = Self.zones.randomElement(using: &random) ?? "A"
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<2: return zones(Int.random(in: 0..<3, using: &random) == 0 ? [] : [zone])
        case 2..<14:
            var names: [String] = []
            for _ in 0..<6 {
                let name = name()
                if !names.contains(name) { names.append(name) }
            }
            return .lookup(RecordsLookupRequest(records: names.map { .init(recordName: $0) }, zoneID: ZoneID(zoneName: zone)))
        case 14..<22:
            let token = await book.token(of: zone, using: &random)
            return .changes(.init(zoneID: ZoneID(zoneName: zone), syncToken: token, resultsLimit: .random(in: 1...20, using: &random)))
        case 22..<30: return .query(query(in: zone))
        case 30..<33:
            if let request = await book.oldRequest(using: &random) { return .modify(request) }
            fallthrough
        default: return .modify(await batch(in: Int.random(in: 0..<10, using: &random) == 0 ? ZoneID.defaultZoneName : zone))
        }
    }

    private mutating func query(in zone: String) -> RecordsQueryRequest {
        let number = FieldValue.int64(.random(in: 0..<1000, using: &random))
        let filter =
            switch Int.random(in: 0..<5, using: &random) {
            case 0: QueryFilter(.lessThan, fieldName: "a", value: number)
            case 1: QueryFilter(.greaterThanOrEquals, fieldName: "b", value: number)
            case 2: QueryFilter(.notEquals, fieldName: "c", value: number)
            case 3: QueryFilter(.equals, fieldName: "owner", value: .reference(reference(.none)))
            default: QueryFilter(.listContains, fieldName: "owners", value: .reference(reference(.none)))
            }
        let sort = QuerySort(["a", "b"].randomElement(using: &random) ?? "a", isAscending: Bool.random(using: &random))
        return RecordsQueryRequest(
            query: Query(recordType: "Note", filters: [filter], sorts: Bool.random(using: &random) ? [sort] : []),
            zoneID: ZoneID(zoneName: zone), resultsLimit: .random(in: 1...40, using: &random))
    }

    /// Returns a request that deletes and makes zones; it always remakes the named ones.
    private mutating func zones(_ deleted: [String]) -> HistoryRequest {
        let isMaking = deleted.isEmpty || Bool.random(using: &random)
        let names = isMaking ? Self.zones : deleted
        return .zones(ZonesModifyRequest(operations: names.map { ZoneOperation(isMaking ? .create : .delete, ZoneID(zoneName: $0)) }))
    }

    private mutating func name() -> String {
        "r\(Int.random(in: 0..<30, using: &random))"
    }

    private mutating func batch(in zone: String) async -> RecordsModifyRequest {
        var names: Set<String> = []
        for _ in 0..<Int.random(in: 1...12, using: &random) { names.insert(name()) }
        var operations: [RecordOperation] = []
        for name in names.sorted() { operations.append(await operation(on: name, in: zone)) }
        if Int.random(in: 0..<8, using: &random) == 0 { operations.append(.create(nil, ["made": .int64(1)])) }
        operations.shuffle(using: &random)
        let hasID = Int.random(in: 0..<4, using: &random) == 0
        let atomic: Bool? = [nil, false, false, false].randomElement(using: &random) ?? nil
        return RecordsModifyRequest(
            operations: operations, zoneID: ZoneID(zoneName: zone), atomic: atomic,
            extension: RequestExtension(operationID: hasID ? "\(random.next())" : nil))
    }

    private mutating func operation(on name: String, in zone: String) async -> RecordOperation {
        // Some kinds are more frequent: a history of refusals would test nothing.
        let kinds: [NacreCloudWire.OperationType] = NacreCloudWire.OperationType.allCases + [.update, .forceUpdate, .forceUpdate, .create]
        let type = kinds.randomElement(using: &random) ?? .update
        var fields: RecordFields = [:]
        for field in ["a", "b", "c"] where Bool.random(using: &random) { fields[field] = .int64(.random(in: 0..<1000, using: &random)) }
        switch Int.random(in: 0..<12, using: &random) {
        case 0, 1: fields["owner"] = .reference(reference(.deleteSelf))
        case 2: fields["owners"] = .referenceList([reference(.deleteSelf), reference(.none), reference(.deleteSelf)])
        case 3: fields["validates"] = .reference(reference(.validate))
        default: break
        }
        let parent: RecordChange.ParentChange =
            switch Int.random(in: 0..<8, using: &random) {
            case 0: .set(Reference(recordName: self.name(), action: .none))
            case 1: .clear
            default: .keep
            }
        let tag = await book.tag(of: name, in: zone, using: &random)
        return .make(type, name, tag: tag, fields, cleared: cleared(besides: fields), parent: parent)
    }

    private mutating func reference(_ action: Reference.Action) -> Reference {
        Reference(recordName: name(), action: action)
    }

    private mutating func cleared(besides fields: RecordFields) -> [String] {
        ["b", "owner", "validates"].filter { name in fields[name] == nil && Int.random(in: 0..<3, using: &random) == 0 }
    }
}
