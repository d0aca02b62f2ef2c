import NacreCloudWire
import NacreRandom

/// A device that follows a zone of its own user, or one that is shared with them.
struct ShareFollower: Sendable {
    private static let pageSizes = [3, 40, 200]

    let asker: Asker
    let zoneID: ZoneID
    private(set) var records: [String: Record] = [:]
    private var token: String?
    private var databaseToken: String?
    /// Whether the zone exists, as the changes of the database say.
    private(set) var isThere = false
    private(set) var pages = 0

    init(_ asker: Asker, _ zoneID: ZoneID) {
        (self.asker, self.zoneID) = (asker, zoneID)
    }

    /// Reads one page.
    /// - Returns: The names of its records, in its order, and whether there is more.
    /// - Throws: `Violation`, `AskFault`.
    mutating func turn(_ random: inout SeededRandom) async throws -> (names: [String], more: Bool) {
        let item = ChangesZoneRequest.Item(zoneID: zoneID, syncToken: token, resultsLimit: Self.pageSizes.randomElement(using: &random))
        let request = ChangesZoneRequest(zones: [item], extension: RequestExtension(wantsDetails: true))
        pages += 1
        switch try await asker.ask("changes/zone", request.json(), as: ChangesZoneResponse.self).answer.zones.first {
        case .page(let page)?:
            var names: [String] = []
            for result in page.records {
                switch result {
                case .record(let record):
                    records[record.recordName] = record
                    names.append(record.recordName)
                case .deleted(let tombstone):
                    records[tombstone.recordName] = nil
                    names.append(tombstone.recordName)
                case .failure(_, let error): throw Violation.unexpected(error, asked: "a page of a shared zone")
                }
            }
            token = page.syncToken
            return (names, page.moreComing)
        case .failure(_, let error)?:
            guard error.code == .zoneNotFound || error.isExpiry && token != nil else { throw AskFault.refused(error) }
            // The zone is no longer shared, or shared otherwise: a device drops its copy, and begins again.
            (records, token) = ([:], nil)
            return ([], error.code != .zoneNotFound)
        case nil: throw Violation(.unexpectedAnswer, "one zone was asked for, and none answered")
        }
    }

    /// Reads on to the end.
    /// - Returns: The names of the records in the pages.
    mutating func follow(_ random: inout SeededRandom) async throws -> [String] {
        var told: [String] = []
        var more = true
        while more {
            let page = try await turn(&random)
            told += page.names
            more = page.more
        }
        return told
    }

    /// Reads the changes of the database, which say whether the zone is there.
    mutating func followDatabase() async throws {
        var more = true
        while more {
            let request = ChangesDatabaseRequest(syncToken: databaseToken, extension: RequestExtension(wantsDetails: true))
            let page = try await asker.ask("changes/database", request.json(), as: ChangesDatabaseResponse.self).answer
            for zone in page.zones where zone.zoneID == zoneID { isThere = zone.deletion == nil }
            (databaseToken, more) = (page.syncToken, page.moreComing)
        }
    }

    var held: [String: ShareCheck.Held] { records.mapValues(ShareCheck.Held.init) }
}
