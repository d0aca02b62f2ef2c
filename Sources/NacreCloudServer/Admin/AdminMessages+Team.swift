import NacreCloudAccounts
import NacreCloudWire

extension AdminMessages {
    /// `POST /admin/1/team` and `POST /admin/1/team/role`
    package struct NewTeamRole: Codable, Hashable, Sendable {
        /// The member's name.
        package var name: String
        /// A raw value of `ConsoleRole`.
        package var role: String

        package init(name: String, role: String) {
            (self.name, self.role) = (name, role)
        }
    }

    /// `POST /admin/1/team/remove` and `POST /admin/1/team/invite`
    package struct TeamMemberName: Codable, Hashable, Sendable {
        package var name: String

        package init(name: String) {
            self.name = name
        }
    }

    /// `POST /admin/1/team/passkeys/remove`
    package struct NewTeamPasskeyRemoval: Codable, Hashable, Sendable {
        /// The member's name.
        package var name: String
        /// The passkey's ID.
        package var id: String

        package init(name: String, id: String) {
            (self.name, self.id) = (name, id)
        }
    }

    /// An invitation to the team, or to a further passkey.
    package struct InvitedTeamMember: Codable, Hashable, Sendable {
        package var member: TeamLine
        /// The path of the console's page, with the token in its fragment.
        package var path: String
        /// The URL that the path follows; nil: the one at which the invitation was asked for.
        package var consoleURL: String?
        /// The time at which the invitation ends, in milliseconds since 1970.
        package var expires: Int64
    }

    /// `GET /admin/1/team`
    package struct Team: Codable, Hashable, Sendable {
        package var members: [TeamLine]
    }

    package struct TeamLine: Codable, Hashable, Sendable {
        package var id: String
        package var name: String
        package var role: String
        /// Milliseconds since 1970.
        package var created: Int64
        /// The passkeys, the oldest first: none before an invitation is used.
        package var passkeys: [AccountMessages.Passkey]
        /// The time at which an unused invitation ends, in milliseconds since 1970; nil: there is none.
        package var invited: Int64?
        /// The last sign-in, in milliseconds since 1970; nil: none.
        package var used: Int64?

        init(_ member: TeamMember) {
            (id, name, role, passkeys) = (member.id, member.name, member.role.rawValue, member.passkeys.map { AccountMessages.Passkey($0) })
            created = Timestamp(secondsSince2001: member.created).millisecondsSince1970
            invited = member.invitation.map { Timestamp(secondsSince2001: $0.expires).millisecondsSince1970 }
            used = member.passkeys.compactMap(\.used).max().map { Timestamp(secondsSince2001: $0).millisecondsSince1970 }
        }
    }

    /// `POST /admin/1/console/challenge`
    package struct NewConsoleChallenge: Codable, Hashable, Sendable {
        /// The token of an invitation: the text after `#invitation=`; nil: a member signs in.
        package var invitation: String?
    }

    /// The question that a browser asks a passkey.
    package struct ConsoleChallenge: Codable, Hashable, Sendable {
        /// Base64 for URLs.
        package var challenge: String
        /// The host for which the browser keeps the passkey.
        package var relyingParty: String
        /// The member whom the invitation is for; nil without an invitation.
        package var member: TeamLine?
    }

    /// The answer of a passkey that signs in. All fields are in base64 for URLs.
    package struct ConsolePasskey: Codable, Hashable, Sendable {
        package var user: String
        package var credential: String
        package var client: String
        package var data: String
        package var signature: String
    }

    /// The answer of a passkey that is made by an invitation.
    package struct ConsoleInvitation: Codable, Hashable, Sendable {
        /// The token of the invitation.
        package var token: String
        /// Base64 for URLs, as the next.
        package var client: String
        package var attestation: String
    }
}
