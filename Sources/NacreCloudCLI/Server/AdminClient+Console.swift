import NacreCloudServer

/// Requests about the console and its team.
extension AdminClient {
    /// Returns a link as a person opens it.
    /// - Parameter consoleURL: The console's URL, if the server names one.
    func url(of path: String, at consoleURL: String?) -> String { (consoleURL ?? url) + path }

    func makeConsoleLink(_ asked: AdminMessages.NewConsoleLink) async throws -> AdminMessages.ConsoleLink {
        try read(AdminMessages.ConsoleLink.self, try await web.send("POST", "/admin/1/console/links", bearer: token, body: asked))
    }

    func signOutOfConsole() async throws -> AdminMessages.ConsolesSignedOut {
        let asked = AdminMessages.ConsoleSignOut()
        return try read(AdminMessages.ConsolesSignedOut.self, try await web.send("POST", "/admin/1/console/sign-out-all", bearer: token, body: asked))
    }

    func team() async throws -> AdminMessages.Team { try await get(AdminMessages.Team.self, "/admin/1/team", []) }

    func invite(_ asked: AdminMessages.NewTeamRole) async throws -> AdminMessages.InvitedTeamMember {
        try read(AdminMessages.InvitedTeamMember.self, try await web.send("POST", "/admin/1/team", bearer: token, body: asked))
    }

    func setTeamRole(_ asked: AdminMessages.NewTeamRole) async throws -> AdminMessages.TeamLine {
        try read(AdminMessages.TeamLine.self, try await web.send("POST", "/admin/1/team/role", bearer: token, body: asked))
    }

    func removeTeamMember(_ asked: AdminMessages.TeamMemberName) async throws -> AdminMessages.TeamLine {
        try read(AdminMessages.TeamLine.self, try await web.send("POST", "/admin/1/team/remove", bearer: token, body: asked))
    }

    func inviteAgain(_ asked: AdminMessages.TeamMemberName) async throws -> AdminMessages.InvitedTeamMember {
        try read(AdminMessages.InvitedTeamMember.self, try await web.send("POST", "/admin/1/team/invite", bearer: token, body: asked))
    }

    func remove(_ asked: AdminMessages.NewTeamPasskeyRemoval) async throws -> AdminMessages.TeamLine {
        try read(AdminMessages.TeamLine.self, try await web.send("POST", "/admin/1/team/passkeys/remove", bearer: token, body: asked))
    }
}
