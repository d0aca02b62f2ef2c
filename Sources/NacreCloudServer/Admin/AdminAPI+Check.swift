import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTasks
import NacreCloudWire
import NacreHTTPServer

extension AdminAPI {
    /// Steps of one request, so that other requests get their turn in between and the caller sees the progress.
    private static let checkSteps = 10

    /// `POST /admin/1/check`
    @Sendable func check(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewCheck.self, of: request)
        var cursor: CheckCursor? = .start
        if let after = asked.after {
            guard let known = Base64.decode(after).flatMap(CheckCursor.init) else {
                throw ServerError(.badRequest, "unknown place", field: "after", remedy: "Send next as it was given, or leave it out to begin.")
            }
            cursor = known
        }
        let mode: CheckMode = asked.removesLost ? .removeLost : asked.repairs ? .repair : .look
        var part = AdminMessages.CheckPart(findings: [], rows: 0, next: nil)
        for _ in 0..<Self.checkSteps {
            guard let here = cursor else { break }
            let slice = try await cloud.check(from: here, mode)
            part.findings += slice.findings.map(AdminMessages.CheckFinding.init)
            part.rows += slice.rows
            cursor = slice.next
        }
        part.next = cursor.map { Base64.encode($0.bytes) }
        return try answer(part)
    }
}

extension AdminMessages.CheckFinding {
    init(_ finding: CheckFinding) {
        let outcome: Outcome =
            switch finding.outcome {
            case .mendable: .mendable
            case .mended: .mended
            case .lost: .lost
            case .beyondRepair: .beyondRepair
            }
        self.init(
            table: finding.table, database: finding.database, zone: finding.zone, record: finding.record, what: finding.what, outcome: outcome)
    }
}
