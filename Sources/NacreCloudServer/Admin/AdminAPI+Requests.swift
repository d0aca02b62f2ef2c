import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

/// The request log, and the stand-ins in it.
struct RecordedRequests: Sendable {
    let log: any RequestLog
    let pseudonyms: Pseudonyms
}

extension AdminAPI {
    /// `GET /admin/1/requests`
    @Sendable func listRequests(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        guard let recorded else {
            throw ServerError(
                .notFound, "this server keeps no request log",
                remedy: "Start it with --request-log-days and --request-log-size above 0, as both are by default.")
        }
        let filter = try filter(of: request, recorded.pseudonyms)
        let page = try await recorded.log.page(filter)
        var lines = page.rows.map(AdminMessages.RequestLine.init)
        if filter.id != nil {
            for (index, row) in page.rows.enumerated() {
                if !row.telling.isEmpty {
                    lines[index].notifications = try await recorded.log.traces(of: row.telling).map(AdminMessages.RequestNotification.init)
                }
                lines[index].story = RequestStory.lines(of: lines[index])
            }
        }
        return try answer(
            AdminMessages.Requests(
                requests: lines, next: page.hasMore ? page.rows.last.map { String($0.number) } : nil, last: String(page.last), lost: page.lost))
    }

    private func filter(of request: HTTPRequest, _ pseudonyms: Pseudonyms) throws -> RequestFilter {
        var filter = RequestFilter()
        filter.since = try Self.number("since", of: request, "milliseconds since 1970")
        filter.until = try Self.number("until", of: request, "milliseconds since 1970")
        filter.container = Self.text("container", of: request)
        filter.environment = Self.text("environment", of: request)
        filter.database = Self.text("database", of: request)
        filter.operation = Self.text("operation", of: request)
        filter.client = Self.text("client", of: request)
        filter.code = Self.text("code", of: request)?.uppercased()
        filter.id = Self.text("request", of: request)?.lowercased()
        filter.user = Self.text("user", of: request).map { pseudonyms.meant(by: $0, .user) }
        filter.zone = Self.text("zone", of: request).map { zone in
            zone == ZoneID.defaultZone.zoneName || filter.database == DatabaseKey.Scope.public.rawValue ? zone : pseudonyms.meant(by: zone, .zone)
        }
        filter.status = try Self.text("status", of: request).map { text in
            guard let range = Self.statuses(text) else {
                throw ServerError(.badRequest, "invalid status", field: "status", remedy: "Give a status such as 404, or 4xx.")
            }
            return range
        }
        if let refused = Self.text("refused", of: request) {
            guard refused == "true" else {
                throw ServerError(.badRequest, "invalid value", field: "refused", remedy: "Give true, or leave it out.")
            }
            filter.isRefused = true
        }
        // The largest that becomes microseconds.
        if let slower = try Self.number("slowerThan", of: request, "milliseconds") { filter.slowerThan = Int(min(slower, 1 << 40)) * 1000 }
        filter.after = try Self.position("after", of: request)
        filter.following = try Self.position("following", of: request)
        if let limit = try Self.number("limit", of: request, "a number from 1 to \(RequestLogBounds.pageRows)") {
            guard (1...Int64(RequestLogBounds.pageRows)).contains(limit) else {
                throw ServerError(.badRequest, "invalid number", field: "limit", remedy: "Give a number from 1 to \(RequestLogBounds.pageRows).")
            }
            filter.limit = Int(limit)
        }
        return filter
    }

    /// A value of the query; nil if it is empty.
    private static func text(_ name: String, of request: HTTPRequest) -> String? { request.query(name).flatMap { $0.isEmpty ? nil : $0 } }

    private static func number(_ name: String, of request: HTTPRequest, _ wanted: String) throws -> Int64? {
        try text(name, of: request).map { text in
            guard let number = Int64(text), number >= 0 else {
                throw ServerError(.badRequest, "invalid number", field: name, remedy: "Give \(wanted).")
            }
            return number
        }
    }

    private static func position(_ name: String, of request: HTTPRequest) throws -> Int64? {
        try text(name, of: request).map { text in
            guard let number = Int64(text), number >= 0 else { throw ServerError.unknownPage }
            return number
        }
    }

    /// The statuses that a text means: `404`, or `4xx`; nil for other text.
    package static func statuses(_ text: String) -> ClosedRange<Int>? {
        let text = text.lowercased()
        let digits = text.hasSuffix("xx") ? text.prefix(1) + "00" : text[...]
        guard text.utf8.count == 3, digits.allSatisfy(\.isNumber), let first = Int(digits), (100...599).contains(first) else { return nil }
        return first...(text.hasSuffix("xx") ? first + 99 : first)
    }
}

extension AdminMessages.RequestLine {
    init(_ row: RequestRow) {
        func shown(_ text: String) -> String? { text.isEmpty ? nil : text }
        func milliseconds(_ microseconds: Int) -> Double { Double(microseconds) / 1000 }
        self.init(
            position: String(row.number), request: row.id, time: row.ended, status: row.status, milliseconds: milliseconds(row.took),
            waitMilliseconds: milliseconds(row.waited), storeMilliseconds: milliseconds(row.stored), encodeMilliseconds: milliseconds(row.encoded),
            bytesIn: row.bytesIn, bytesOut: row.bytesOut, asked: row.asked, answered: row.answered, refused: row.refused,
            operation: row.operation, operationID: shown(row.operationID), group: shown(row.group), groupName: shown(row.groupName),
            container: shown(row.container), environment: shown(row.environment), database: shown(row.database), zone: shown(row.zone),
            user: shown(row.user), client: row.client, code: shown(row.code),
            field: shown(row.field), reason: shown(row.reason), remedy: shown(row.remedy), index: shown(row.index))
    }
}

extension AdminMessages.RequestNotification {
    init(_ trace: RequestTrace) {
        func shown(_ text: String) -> String? { text.isEmpty ? nil : text }
        self.init(
            time: trace.time, notification: trace.notification, subscription: shown(trace.subscription), user: shown(trace.user),
            device: shown(trace.device), event: trace.event)
    }
}
