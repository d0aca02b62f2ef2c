import NacreCloudWire
import NacreHTTPServer

extension AdminAPI {
    func addBackupRoutes(to router: inout Router, bodyBytesMax: Int) {
        router.post("/admin/1/backup", bodyBytesMax: bodyBytesMax, startBackup)
        router.get("/admin/1/backup") { _, _ in try answer(backups.status) }
        router.delete("/admin/1/backup") { _, _ in
            backups.cancel()
            return try answer(backups.status)
        }
        router.get("/admin/1/backups") { _, _ in
            try answer(try await scheduled?.list() ?? AdminMessages.Backups(backups: [], verification: AdminMessages.BackupStatus(state: .none)))
        }
        router.post("/admin/1/backups/verify", bodyBytesMax: bodyBytesMax, verifyBackup)
    }

    /// `POST /admin/1/backups/verify`
    @Sendable private func verifyBackup(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewBackupVerification.self, of: request)
        guard let scheduled else { throw ServerError.noSuchBackup }
        return try answer(try await scheduled.verify(asked.name), .accepted)
    }

    /// `POST /admin/1/backup`
    @Sendable private func startBackup(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewBackup.self, of: request)
        guard asked.path.hasPrefix("/") else {
            throw ServerError(.badRequest, "path is not absolute", field: "path", remedy: "Give the whole path of the file, on the server's machine.")
        }
        guard asked.bytesPerSecond.map({ $0 > 0 }) ?? true else {
            throw ServerError(.badRequest, "bytesPerSecond is not positive", field: "bytesPerSecond", remedy: "Give a positive number, or none.")
        }
        return try answer(try backups.start(asked.path, bytesPerSecond: asked.bytesPerSecond), .accepted)
    }
}
