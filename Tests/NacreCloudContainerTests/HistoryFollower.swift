import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// A client that keeps a copy of every zone by following its changes, and checks each page.
struct HistoryFollower {
    struct Copy {
        var token: String?
        var records: [String: Record] = [:]
        /// Tags received, by record: none comes twice.
        var seen: Set<String> = []
    }

    var writer: HistoryWriter
    var limit: Int
    private(set) var copies: [String: Copy] = [:]
    private var databaseToken: String?
    private(set) var pages = 0

    init(_ writer: HistoryWriter, limit: Int) {
        self.writer = writer
        self.limit = limit
    }

    /// Follows the database to its end, and each zone in its pages to its end.
    mutating func catchUp() async throws {
        var changed: Set<String> = []
        var isMore = true
        while isMore {
            let answer = try await writer.ask(.database(ChangesDatabaseRequest(syncToken: databaseToken, resultsLimit: limit)))
            guard case .database(let response) = answer else { throw Surprise(text: "the database's feed ended: \(answer)") }
            #expect(Set(response.zones.map(\.zoneID)).count == response.zones.count, "a zone twice on one page")
            for zone in response.zones {
                let name = zone.zoneID.zoneName
                if zone.deletion == nil {
                    changed.insert(name)
                } else {
                    changed.remove(name)
                    copies[name] = nil
                }
            }
            databaseToken = response.syncToken
            isMore = response.moreComing
        }
        for zone in changed.sorted() { try await follow(zone) }
    }

    private mutating func follow(_ zone: String) async throws {
        var isMore = true
        while isMore {
            let before = copies[zone]?.token
            let answer = try await writer.ask(.changes(.init(zoneID: ZoneID(zoneName: zone), syncToken: before, resultsLimit: limit)))
            switch answer {
            case .changes(.page(let page)):
                try take(page, of: zone)
                isMore = page.moreComing
            case .changes(.failure(_, let error)) where error == .tokenExpired || error == .tokenOfAnotherZone: copies[zone] = nil
            case .changes(.failure(_, let error)) where error.code == .zoneNotFound:
                copies[zone] = nil
                isMore = false
            default: throw Surprise(text: "\(zone): \(answer)")
            }
        }
    }

    private mutating func take(_ page: ChangesZoneResponse.Page, of zone: String) throws {
        pages += 1
        var copy = copies[zone] ?? Copy()
        let start = try copy.token.map(Self.position) ?? .zero
        let end = try Self.position(page.syncToken)
        #expect(start <= end && !page.isMidCommit)
        var last = start
        for result in page.records {
            guard let name = result.recordName else { throw Surprise(text: "a change of no record") }
            copy.records[name] = result.record
            guard let record = result.record else { continue }
            let number = ChangeNumber(run: 1, seq: Int64(record.recordChangeTag, radix: 36) ?? 0)
            #expect(number > start && number >= last && number <= end, "\(zone)/\(name) out of its place")
            #expect(copy.seen.insert("\(name) \(record.recordChangeTag)").inserted, "\(zone)/\(name) came twice")
            last = number
        }
        copy.token = page.syncToken
        copies[zone] = copy
    }

    private static func position(_ token: String) throws -> ChangeNumber {
        guard let bytes = PlainTokens().open(token), case .zone(let token)? = ChangeToken(bytes) else { throw Surprise(text: "no token") }
        return token.position.number
    }
}

struct Surprise: Error {
    var text: String
}
