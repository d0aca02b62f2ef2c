import NacreCloudWire

/// A page of one zone's changes in its raw form, before it is decoded.
struct ZoneChangesAnswer: Sendable {
    /// Bytes at the end of an answer that are searched: enough for a token and the keys behind it.
    private static let tailBytes = 4096
    private static let key = Array("\"syncToken\":\"".utf8)
    private static let more = Array("\",\"moreComing\":true".utf8)

    let bytes: [UInt8]
    let user: CurrentUser
    /// The value of `seenMoment` before the page was asked for.
    let moment: Int

    /// The page's token if the page's end says that more is coming. It is a hint that the decoded page confirms.
    ///
    /// Quotation marks in texts of records are escaped with a backslash, so a match is a key of the answer.
    var tokenOfMore: String? {
        let tail = bytes.suffix(Self.tailBytes)
        guard let key = tail.indices.last(where: { tail[$0...].starts(with: Self.key) }) else { return nil }
        let rest = tail[(key + Self.key.count)...]
        guard let end = rest.firstIndex(of: UInt8(ascii: "\"")), rest[end...].starts(with: Self.more) else { return nil }
        return rest[..<end].contains(UInt8(ascii: "\\")) ? nil : String(decoding: rest[..<end], as: UTF8.self)
    }

    func page() throws(CKError) -> ChangesZoneResponse.Page {
        let response: ChangesZoneResponse = try Conversation.read(bytes)
        guard response.zones.count == 1 else { throw .unexpectedAnswer }
        switch response.zones[0] {
        case .page(var page):
            page.records = user.showing(page.records)
            return page
        case .failure(_, let error): throw CKError(error)
        }
    }
}

extension Conversation {
    func changes(in zone: ChangesZoneRequest.Item, wantsTokenOnly: Bool = false) async -> Result<ZoneChangesAnswer, CKError> {
        do throws(CKError) {
            return .success(
                try await changes(ChangesZoneRequest(zones: [zone], extension: RequestExtension(wantsTokenOnly: wantsTokenOnly))))
        } catch {
            return .failure(error)
        }
    }

    /// Fetches the page after a token; nil without a token.
    func changes(in zone: ChangesZoneRequest.Item, after token: String?) async -> Result<ZoneChangesAnswer, CKError>? {
        guard let token else { return nil }
        var zone = zone
        zone.syncToken = token
        return await changes(in: zone)
    }
}
