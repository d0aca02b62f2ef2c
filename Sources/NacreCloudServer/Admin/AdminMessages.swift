/// Requests and answers of the admin API: JSON objects with these keys. The server and the command line share them.
package enum AdminMessages {
    package struct Proof: Codable, Hashable, Sendable {
        package var proof: String
    }

    /// `GET /admin/1/server`
    package struct Server: Codable, Hashable, Sendable {
        package var version: String
        /// The URL by which apps reach the server.
        package var publicURL: String
        /// The same listener's URL on the server's machine.
        package var localURL: String
        /// Whether the server keeps its data in memory and takes orders for faults.
        package var isEmulator: Bool
        /// Storage of assets' files; absent until it has been counted.
        package var assets: AssetsKept?
    }

    /// Storage of assets' files, including those that no record refers to any more.
    package struct AssetsKept: Codable, Hashable, Sendable {
        package var chunks: Int
        package var bytes: Int64
    }

    /// `GET /admin/1/containers`
    package struct Containers: Codable, Hashable, Sendable {
        package var containers: [ContainerLine]
        /// The position of the next page; absent on the last.
        package var next: String?

        package init(containers: [ContainerLine], next: String? = nil) {
            self.containers = containers
            self.next = next
        }
    }

    package struct ContainerLine: Codable, Hashable, Sendable {
        package var name: String
        /// Time of creation, in milliseconds since 1970.
        package var created: Int64
        /// The clients whose saves create types and fields in development: `native` or `all`; absent unless the
        /// container was asked for by its name.
        package var justInTime: String?
        /// The app that pages of shares show; absent as `justInTime` is.
        package var sharing: ContainerSharing?
    }

    /// `POST /admin/1/containers`
    package struct NewContainer: Codable, Hashable, Sendable {
        package var name: String
        /// The clients whose saves create types and fields in development: `native`, the default, or `all`.
        package var justInTime: String?

        package init(name: String, justInTime: String? = nil) {
            self.name = name
            self.justInTime = justInTime
        }
    }

    package struct Container: Codable, Hashable, Sendable {
        package var name: String
        /// false if the container existed already.
        package var isNew: Bool
        /// The present setting; a container that existed keeps its own.
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
        /// The URL that opens a share in the app: `https` or a scheme of the app's own. nil leaves it as it is; an
        /// empty text removes it.
        package var app: String?
        /// The URL of a page about the app; nil and empty text as in `app`.
        package var fallback: String?
        /// Whether a browser goes to the fallback, an `https` URL, at once; nil leaves it as it is.
        package var redirects: Bool?
        /// The app's name; nil and empty text as in `app`.
        package var appName: String?
        /// The app's icon, a PNG in Base64; nil and empty text as in `app`.
        package var icon: String?

        package init(
            name: String, app: String? = nil, fallback: String? = nil, redirects: Bool? = nil, appName: String? = nil, icon: String? = nil
        ) {
            self.name = name
            (self.app, self.fallback, self.redirects) = (app, fallback, redirects)
            (self.appName, self.icon) = (appName, icon)
        }
    }

    /// The present setting; nil: none.
    package struct ContainerSharing: Codable, Hashable, Sendable {
        package var name: String
        package var app: String?
        package var fallback: String?
        package var redirects: Bool
        package var appName: String?
        package var hasIcon: Bool
    }

    /// `POST /admin/1/tokens`
    package struct NewToken: Codable, Hashable, Sendable {
        package var container: String
        /// `development` or `production`; nil for a management token, which covers both.
        package var environment: String?
        /// `api`, `server` for a server-to-server key, or `management`.
        package var kind: String
        /// The purpose of the token, to tell it from others.
        package var name: String?
        /// The public key of a server-to-server key, in PEM.
        package var publicKey: String?
        /// true: grants do not restrict the server-to-server key in the public database.
        package var isAdministrator: Bool?
        /// Origins of the pages that may use the API token; nil: any.
        package var origins: [String]?
        /// The API token's sign-in callback; nil: a message to the page that asks.
        package var redirect: String?
        /// Seconds that a management token is valid; nil: a year, which is the maximum.
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
        /// The value of `X-Apple-CloudKit-Request-KeyID` in requests.
        package var keyID: String
    }

    /// `GET /admin/1/tokens`
    package struct Tokens: Codable, Hashable, Sendable {
        package var tokens: [TokenLine]
        /// The position of the next page; absent on the last. A page before the last may be empty.
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
        /// Absent for a management token, which covers both environments.
        package var environment: String?
        package var name: String
        /// Time of creation, in seconds since 2001.
        package var created: Double
        /// true for a server-to-server key that grants do not restrict.
        package var isAdministrator: Bool
        /// Origins of the pages that may use an API token; absent: any.
        package var origins: [String]?
        /// The sign-in callback of an API token; absent: a message to the page that asks.
        package var redirect: String?
        /// Milliseconds since 1970: the end of a management token, or of an API token that was replaced.
        package var ends: Int64?
        /// Milliseconds since 1970: the last use, exact to ten minutes; absent: never, or before uses were recorded.
        package var used: Int64?
    }

    /// `POST /admin/1/tokens/rotate`
    package struct NewRotation: Codable, Hashable, Sendable {
        /// The API token that is replaced.
        package var id: String
        /// Seconds for which the old token stays valid beside the new one; nil: it ends at once.
        package var graceSeconds: Int?

        package init(id: String, graceSeconds: Int?) {
            self.id = id
            self.graceSeconds = graceSeconds
        }
    }

    package struct Rotation: Codable, Hashable, Sendable {
        /// The new token.
        package var token: String
        /// Milliseconds since 1970: the end of the old token; absent: it has ended.
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
        /// `public`, `private` or `shared`.
        package var database: String
        /// The owner of the private database: an e-mail address or a user record name.
        package var user: String?
        /// The body of a `records/query`.
        package var request: String
        /// true: the answer has the page's records too. nil means false.
        package var showsRecords: Bool?
        /// true: fields are asked and sorted by that have no index, as an app cannot. nil means false.
        package var withoutIndexes: Bool?

        package init(
            container: String, environment: String, database: String, user: String?, request: String, showsRecords: Bool? = nil,
            withoutIndexes: Bool? = nil
        ) {
            self.container = container
            self.environment = environment
            self.database = database
            self.user = user
            self.request = request
            self.showsRecords = showsRecords
            self.withoutIndexes = withoutIndexes
        }
    }

    package struct Explanation: Codable, Hashable, Sendable {
        /// The plan in words.
        package var lines: [String]
        /// The answer of the `records/query`, as JSON; absent unless the request wants it.
        package var answer: String?
    }

    /// A request of the Web Services API to a database, which an administrator sends: `POST /admin/1/records/lookup`,
    /// `records/modify`, `zones/list` and `zones/changes`. Each is a `POST`, because requests that read a database are
    /// logged.
    package struct NewDatabaseRequest: Codable, Hashable, Sendable {
        package var container: String
        package var environment: String
        /// `public`, `private` or `shared`.
        package var database: String
        /// The user of the private or shared database, or in whose name the public database is changed: an e-mail
        /// address or a user record name.
        package var user: String?
        /// The body of a `records/lookup`, `records/modify`, `zones/list` or `changes/zone`.
        package var request: String

        package init(container: String, environment: String, database: String, user: String?, request: String) {
            (self.container, self.environment, self.database) = (container, environment, database)
            (self.user, self.request) = (user, request)
        }
    }

    package struct DatabaseAnswer: Codable, Hashable, Sendable {
        /// The answer of the Web Services API, as JSON.
        package var answer: String
    }

    /// `POST /admin/1/check`: the next part of a check.
    package struct NewCheck: Codable, Hashable, Sendable {
        package var repairs: Bool
        /// With `repairs`: removes lost records.
        package var removesLost: Bool
        /// The `next` of the previous part; nil for the first.
        package var after: String?

        package init(repairs: Bool, removesLost: Bool, after: String?) {
            self.repairs = repairs
            self.removesLost = removesLost
            self.after = after
        }
    }

    /// A fault in the stored data.
    package struct CheckFinding: Codable, Hashable, Sendable {
        package enum Outcome: String, Codable, Hashable, Sendable, CaseIterable {
            /// A repair corrects it.
            case mendable
            case mended
            /// Lost until the app saves it again.
            case lost
            /// Only a backup helps.
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
        /// The number of rows that were checked.
        package var rows: Int
        /// The position of the next part; nil after the last.
        package var next: String?
    }

    /// The findings of all parts, as `nacre check --json` prints them.
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
        /// The ID of the task for `retry`.
        package var id: String
        package var kind: String
        /// `container/environment/scope/owner`; nil if the database's row is gone.
        package var database: String?
        /// true: the task failed too often and waits for `retry`.
        package var isParked: Bool
        /// Time of the next attempt, or of the end of the lease while it runs: `2026-01-31T12:00:00Z`; nil for a parked
        /// task.
        package var due: String?
        /// Attempts since the task last made progress.
        package var attempts: Int64
        /// Records done by a task that adds or removes index rows.
        package var recordsDone: Int?
    }

    /// `GET /admin/1/tasks?after=…`: a page of the outbox.
    package struct TaskPage: Codable, Hashable, Sendable {
        package var tasks: [ListedTask]
        /// The value for `after`; present while there may be more.
        package var next: String?
    }

    /// The whole outbox, as `nacre task list --json` prints it.
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

    /// The tasks that became due again, as `nacre task retry --json` prints them.
    package struct Retries: Codable, Hashable, Sendable {
        package var ids: [String]

        package init(ids: [String]) {
            self.ids = ids
        }
    }

    /// `POST /admin/1/backup`
    package struct NewBackup: Codable, Hashable, Sendable {
        /// A path on the server's machine: a file, or a folder in which a file is created.
        package var path: String
        /// The speed limit; nil: none.
        package var bytesPerSecond: Int?

        package init(path: String, bytesPerSecond: Int?) {
            self.path = path
            self.bytesPerSecond = bytesPerSecond
        }
    }

    /// `GET /admin/1/backup`: the backup under way, or the outcome of the last one.
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
        /// The backup, once it is done.
        package var backup: Backup?
        /// The reason of a failure.
        package var problem: String?
        package var remedy: String?
    }

    /// The description of a backup.
    package struct Backup: Codable, Hashable, Sendable {
        package var path: String
        /// The version of Nacre that made the backup.
        package var nacre: String
        package var schemaVersion: Int32
        /// The point in time that the backup shows: `2026-01-31T12:00:00Z`.
        package var time: String
        /// The data folder that was backed up.
        package var folder: String
        package var containers: Int
        package var databases: Int
        /// Size of the backup's database.
        package var bytes: Int64
        package var sha256: String
        /// The number of records' files with chunks that are missing beside the backup.
        package var lostFiles: Int
    }

    /// An error: RFC 9457, "Problem Details for HTTP APIs", with members of this server after the standard ones.
    package struct Problem: Codable, Hashable, Sendable {
        package var type = "about:blank"
        package var title: String
        package var status: Int
        package var detail: String
        /// A code of CloudKit's, such as `EXISTS`.
        package var code: String
        /// The key of the request that is at fault.
        package var field: String?
        /// The remedy, one line for people.
        package var remedy: String?
        /// The request's ID in the server's log.
        package var requestID: String

        /// The media type of a problem. RFC 9457, 3.
        package static let contentType = "application/problem+json"
    }
}
