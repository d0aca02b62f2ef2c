/// What the admin API takes and gives: JSON objects with these keys. Server and command line share them.
package enum AdminMessages {
    package struct Proof: Codable, Hashable, Sendable {
        package var proof: String
    }

    /// `GET /admin/1/server`
    package struct Server: Codable, Hashable, Sendable {
        package var version: String
        /// Where apps reach the server.
        package var publicURL: String
        /// Where the same listener is reached on the server's machine.
        package var localURL: String
        /// Absent: not counted yet.
        package var assets: AssetsKept?
    }

    /// What the files of assets take, those that no record has any more included.
    package struct AssetsKept: Codable, Hashable, Sendable {
        package var chunks: Int
        package var bytes: Int64
    }

    /// `GET /admin/1/containers`
    package struct Containers: Codable, Hashable, Sendable {
        package var containers: [ContainerLine]
        /// Where the next page begins; absent: there is none.
        package var next: String?

        package init(containers: [ContainerLine], next: String? = nil) {
            self.containers = containers
            self.next = next
        }
    }

    package struct ContainerLine: Codable, Hashable, Sendable {
        package var name: String
        /// Milliseconds since 1970.
        package var created: Int64
    }

    /// `POST /admin/1/containers`
    package struct NewContainer: Codable, Hashable, Sendable {
        package var name: String
        /// Whose saves bring types and fields in development: `native`, as nil, or `all`.
        package var justInTime: String?

        package init(name: String, justInTime: String? = nil) {
            self.name = name
            self.justInTime = justInTime
        }
    }

    package struct Container: Codable, Hashable, Sendable {
        package var name: String
        /// false where it was there before.
        package var isNew: Bool
        /// What holds: of a container that was there, what it was made with or changed to.
        package var justInTime: String
    }

    /// `POST /admin/1/containers/change`
    package struct NewContainerChange: Codable, Hashable, Sendable {
        package var name: String
        package var justInTime: String

        package init(name: String, justInTime: String) {
            self.name = name
            self.justInTime = justInTime
        }
    }

    package struct ContainerChange: Codable, Hashable, Sendable {
        package var name: String
        package var before: String
        package var justInTime: String
    }

    /// `POST /admin/1/containers/sharing`
    package struct NewContainerSharing: Codable, Hashable, Sendable {
        package var name: String
        /// What brings a share into the app: an `https` URL or one of a scheme of the app's own. nil leaves it, and an empty text takes it away.
        package var app: String?
        /// A page about the app. As `app`.
        package var fallback: String?

        package init(name: String, app: String? = nil, fallback: String? = nil) {
            self.name = name
            self.app = app
            self.fallback = fallback
        }
    }

    /// What holds from now on; nil: there is none.
    package struct ContainerSharing: Codable, Hashable, Sendable {
        package var name: String
        package var app: String?
        package var fallback: String?
    }

    /// `POST /admin/1/tokens`
    package struct NewToken: Codable, Hashable, Sendable {
        package var container: String
        /// `development` or `production`; nil: of a management token, which is for both.
        package var environment: String?
        /// `api`, `server` for a server-to-server key, or `management`.
        package var kind: String
        /// What the token is for, to tell it from others.
        package var name: String?
        /// PEM, of a server-to-server key.
        package var publicKey: String?
        /// true: no grant holds the server-to-server key in the public database.
        package var isAdministrator: Bool?
        /// Of the pages that may use the API token; nil: of any.
        package var origins: [String]?
        /// The API token's sign-in callback; nil: a message to the page that asks.
        package var redirect: String?
        /// For which a management token is good; nil: a year, which is the most.
        package var lifeSeconds: Int?

        package init(
            container: String, environment: String?, kind: String, name: String?, publicKey: String? = nil, isAdministrator: Bool? = nil,
            origins: [String]? = nil, redirect: String? = nil, lifeSeconds: Int? = nil
        ) {
            self.origins = origins
            self.redirect = redirect
            self.lifeSeconds = lifeSeconds
            self.publicKey = publicKey
            self.isAdministrator = isAdministrator
            self.container = container
            self.environment = environment
            self.kind = kind
            self.name = name
        }
    }

    package struct Token: Codable, Hashable, Sendable {
        package var token: String
    }

    package struct ServerKey: Codable, Hashable, Sendable {
        /// What requests send as `X-Apple-CloudKit-Request-KeyID`.
        package var keyID: String
    }

    /// `GET /admin/1/tokens`
    package struct Tokens: Codable, Hashable, Sendable {
        package var tokens: [TokenLine]
        /// Where the next page begins; absent: there is none. A page may be empty and not the last.
        package var next: String?

        package init(tokens: [TokenLine], next: String? = nil) {
            self.tokens = tokens
            self.next = next
        }
    }

    package struct TokenLine: Codable, Hashable, Sendable {
        /// `api`, `server` or `management`.
        package var kind: String
        /// The API token itself, or the ID of a key or of a management token.
        package var id: String
        package var container: String
        /// Absent: of a management token, which is for both.
        package var environment: String?
        package var name: String
        /// Seconds since 2001.
        package var created: Double
        /// true of a server-to-server key that no grant holds.
        package var isAdministrator: Bool
        /// Of the pages that may use an API token; absent: of any.
        package var origins: [String]?
        /// The sign-in callback of an API token; absent: a message to the page that asks.
        package var redirect: String?
        /// Milliseconds since 1970: when a management token ends, or an API token that another took the place of.
        package var ends: Int64?
        /// Milliseconds since 1970: when it was used last, within ten minutes; absent: it was not, or before that was kept.
        package var used: Int64?
    }

    /// `POST /admin/1/tokens/rotate`
    package struct NewRotation: Codable, Hashable, Sendable {
        /// The API token.
        package var id: String
        /// For which it goes on beside the new one; nil: it ends at once.
        package var graceSeconds: Int?

        package init(id: String, graceSeconds: Int?) {
            self.id = id
            self.graceSeconds = graceSeconds
        }
    }

    package struct Rotation: Codable, Hashable, Sendable {
        /// The new one.
        package var token: String
        /// Milliseconds since 1970: when the old one ends; absent: it has ended.
        package var oldEnds: Int64?
    }

    /// `POST /admin/1/tokens/revoke`
    package struct TokenRevocation: Codable, Hashable, Sendable {
        /// The API token, or the ID of a key or of a management token.
        package var id: String

        package init(id: String) {
            self.id = id
        }
    }

    /// `POST /admin/1/query/explain`
    package struct NewExplanation: Codable, Hashable, Sendable {
        package var container: String
        package var environment: String
        /// `public` or `private`.
        package var database: String
        /// Whose private database: an e-mail address or a user record name.
        package var user: String?
        /// The body of a `records/query`.
        package var request: String

        package init(container: String, environment: String, database: String, user: String?, request: String) {
            self.container = container
            self.environment = environment
            self.database = database
            self.user = user
            self.request = request
        }
    }

    package struct Explanation: Codable, Hashable, Sendable {
        /// The plan, for people.
        package var lines: [String]
    }

    /// `POST /admin/1/check`: the next part of a check.
    package struct NewCheck: Codable, Hashable, Sendable {
        package var repairs: Bool
        /// With `repairs`: takes lost records away.
        package var removesLost: Bool
        /// `next` of the part before; nil: from the beginning.
        package var after: String?

        package init(repairs: Bool, removesLost: Bool, after: String?) {
            self.repairs = repairs
            self.removesLost = removesLost
            self.after = after
        }
    }

    /// Something that is wrong.
    package struct CheckFinding: Codable, Hashable, Sendable {
        package enum Outcome: String, Codable, Hashable, Sendable, CaseIterable {
            /// A repair puts it right.
            case mendable
            case mended
            /// Until the app saves it again.
            case lost
            /// But with a backup.
            case beyondRepair
        }

        package var table: String
        package var database: String
        package var zone: String
        package var record: String
        package var what: String
        package var outcome: Outcome

        package init(table: String, database: String, zone: String, record: String, what: String, outcome: Outcome) {
            self.table = table
            self.database = database
            self.zone = zone
            self.record = record
            self.what = what
            self.outcome = outcome
        }
    }

    package struct CheckPart: Codable, Hashable, Sendable {
        package var findings: [CheckFinding]
        /// Looked at.
        package var rows: Int
        /// Present while there is more.
        package var next: String?
    }

    /// All parts, as `nacre check --json` prints them.
    package struct CheckReport: Codable, Hashable, Sendable {
        package var rows: Int
        package var findings: [CheckFinding]

        package init(rows: Int, findings: [CheckFinding]) {
            self.rows = rows
            self.findings = findings
        }
    }

    /// A task of the outbox.
    package struct ListedTask: Codable, Hashable, Sendable {
        /// Names it for `retry`.
        package var id: String
        package var kind: String
        /// `container/environment/scope/owner`; nil where the database's row is gone.
        package var database: String?
        /// It failed too often and waits for `retry`.
        package var isParked: Bool
        /// When it is done next, or looked for again while it is under way: `2026-01-31T12:00:00Z`; nil of one that is parked.
        package var due: String?
        /// Since it last got on.
        package var attempts: Int64
        /// Of a walk that puts index rows, or takes them away.
        package var recordsDone: Int?
    }

    /// `GET /admin/1/tasks?after=…`: some of the outbox.
    package struct TaskPage: Codable, Hashable, Sendable {
        package var tasks: [ListedTask]
        /// For `after`; present while there may be more.
        package var next: String?
    }

    /// All of it, as `nacre task list --json` prints it.
    package struct TaskList: Codable, Hashable, Sendable {
        package var tasks: [ListedTask]

        package init(tasks: [ListedTask]) {
            self.tasks = tasks
        }
    }

    /// `POST /admin/1/tasks/retry`: makes a parked task due.
    package struct NewRetry: Codable, Hashable, Sendable {
        package var id: String

        package init(id: String) {
            self.id = id
        }
    }

    /// The tasks that were put back, as `nacre task retry --json` prints them.
    package struct Retries: Codable, Hashable, Sendable {
        package var ids: [String]

        package init(ids: [String]) {
            self.ids = ids
        }
    }

    /// `POST /admin/1/backup`
    package struct NewBackup: Codable, Hashable, Sendable {
        /// On the server's machine: a file, or a folder that gets one.
        package var path: String
        /// nil for no limit.
        package var bytesPerSecond: Int?

        package init(path: String, bytesPerSecond: Int?) {
            self.path = path
            self.bytesPerSecond = bytesPerSecond
        }
    }

    /// `GET /admin/1/backup`: the backup under way, or how the last one ended.
    package struct BackupStatus: Codable, Hashable, Sendable {
        package enum State: String, Codable, Sendable, CaseIterable {
            case none
            case running
            case done
            case failed
        }

        package var state: State
        package var path: String?
        /// `copying` or `checking`.
        package var phase: String?
        package var bytes: Int64?
        package var bytesInAll: Int64?
        /// Of one that is done.
        package var backup: Backup?
        /// Of one that failed.
        package var problem: String?
        package var remedy: String?
    }

    /// What a backup says of itself.
    package struct Backup: Codable, Hashable, Sendable {
        package var path: String
        /// The version that made it.
        package var nacre: String
        package var schemaVersion: Int32
        /// When its moment was: `2026-01-31T12:00:00Z`.
        package var time: String
        /// The data folder that it is of.
        package var folder: String
        package var containers: Int
        package var databases: Int
        /// Of the database in it.
        package var bytes: Int64
        package var sha256: String
        /// Files of records of which chunks are not beside it.
        package var lostFiles: Int
    }

    /// What went wrong: RFC 9457, "Problem Details for HTTP APIs", with members of ours behind those of the standard.
    package struct Problem: Codable, Hashable, Sendable {
        package var type = "about:blank"
        package var title: String
        package var status: Int
        package var detail: String
        /// One of CloudKit's codes, such as `EXISTS`.
        package var code: String
        /// The request's key at fault.
        package var field: String?
        /// One line for people: what to do.
        package var remedy: String?
        /// The server's log knows the request by it.
        package var requestID: String

        /// RFC 9457, 3.
        package static let contentType = "application/problem+json"
    }
}
