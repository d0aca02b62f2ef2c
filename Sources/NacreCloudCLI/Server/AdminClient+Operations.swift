import Foundation
import NacreCloudServer

/// Questions about the server itself: its backups, its mail, and the settings of its containers.
extension AdminClient {
    func limits() async throws -> AdminMessages.LimitTable {
        try await get(AdminMessages.LimitTable.self, "/admin/1/limits", [])
    }

    /// Returns a container with its settings.
    func container(_ name: String) async throws -> AdminMessages.ContainerLine {
        let found = try await get(AdminMessages.Containers.self, "/admin/1/containers", [("name", name)])
        guard let line = found.containers.first else {
            throw CommandFailure(.failure, "the server knows no such container", remedy: "See nacre container list.")
        }
        return line
    }

    /// Timeout of a container's deletion, which passes over all accounts and databases of the server.
    private static let deletionPatience: Duration = .seconds(3600)

    func delete(_ asked: AdminMessages.NewContainerDeletion) async throws -> AdminMessages.ContainerDeletion {
        let answer = try await web.send("POST", "/admin/1/containers/delete", bearer: token, body: asked, patience: Self.deletionPatience)
        return try read(AdminMessages.ContainerDeletion.self, answer)
    }

    func start(_ asked: AdminMessages.NewBackup) async throws -> AdminMessages.BackupStatus {
        try read(AdminMessages.BackupStatus.self, try await web.send("POST", "/admin/1/backup", bearer: token, body: asked))
    }

    func backupStatus() async throws -> AdminMessages.BackupStatus {
        try read(AdminMessages.BackupStatus.self, try await web.send("GET", "/admin/1/backup", bearer: token))
    }

    func cancelBackup() async throws -> AdminMessages.BackupStatus {
        try read(AdminMessages.BackupStatus.self, try await web.send("DELETE", "/admin/1/backup", bearer: token))
    }

    /// Returns the backups that the server makes by itself.
    func backups() async throws -> AdminMessages.Backups {
        try await get(AdminMessages.Backups.self, "/admin/1/backups", [])
    }

    func verify(_ asked: AdminMessages.NewBackupVerification) async throws -> AdminMessages.BackupStatus {
        try read(AdminMessages.BackupStatus.self, try await web.send("POST", "/admin/1/backups/verify", bearer: token, body: asked))
    }

    /// Returns what an account's private databases hold, in every container and environment.
    func usage(ofAccount email: String) async throws -> AccountMessages.AccountUsage {
        try await get(AccountMessages.AccountUsage.self, "/admin/1/users/usage", [("email", email)])
    }

    func mail() async throws -> AdminMessages.Mail {
        try await get(AdminMessages.Mail.self, "/admin/1/mail", [])
    }

    func test(_ asked: AdminMessages.NewMailTest) async throws -> AdminMessages.MailTest {
        try read(AdminMessages.MailTest.self, try await web.send("POST", "/admin/1/mail/test", bearer: token, body: asked))
    }
}

/// Questions about the webhooks and shares of a container.
extension AdminClient {
    func create(_ asked: AdminMessages.NewWebhook) async throws -> AdminMessages.CreatedWebhook {
        try read(AdminMessages.CreatedWebhook.self, try await web.send("POST", "/admin/1/webhooks", bearer: token, body: asked))
    }

    func webhooks(in container: String, _ environment: String) async throws -> AdminMessages.Webhooks {
        try await get(AdminMessages.Webhooks.self, "/admin/1/webhooks", [("container", container), ("environment", environment)])
    }

    func delete(_ asked: AdminMessages.WebhookName) async throws -> AdminMessages.WebhookLine {
        try read(AdminMessages.WebhookLine.self, try await web.send("POST", "/admin/1/webhooks/delete", bearer: token, body: asked))
    }

    func test(_ asked: AdminMessages.WebhookName) async throws -> AdminMessages.WebhookTest {
        try read(AdminMessages.WebhookTest.self, try await web.send("POST", "/admin/1/webhooks/test", bearer: token, body: asked))
    }

    func resume(_ asked: AdminMessages.WebhookName) async throws -> AdminMessages.WebhookResume {
        try read(AdminMessages.WebhookResume.self, try await web.send("POST", "/admin/1/webhooks/resume", bearer: token, body: asked))
    }

    func list(_ asked: AdminMessages.NewShareList) async throws -> AdminMessages.Shares {
        try read(AdminMessages.Shares.self, try await web.send("POST", "/admin/1/shares/list", bearer: token, body: asked))
    }

    func explain(_ asked: AdminMessages.NewShareQuestion) async throws -> AdminMessages.ShareAnswer {
        try read(AdminMessages.ShareAnswer.self, try await web.send("POST", "/admin/1/shares/who", bearer: token, body: asked))
    }
}
