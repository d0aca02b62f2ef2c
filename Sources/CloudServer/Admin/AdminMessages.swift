package import CloudContainer

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
    }

    /// `POST /admin/1/containers`
    package struct NewContainer: Codable, Hashable, Sendable {
        package var name: String

        package init(name: String) {
            self.name = name
        }
    }

    package struct Container: Codable, Hashable, Sendable {
        package var name: String
        /// false where it was there before.
        package var isNew: Bool
    }

    /// `POST /admin/1/tokens`
    package struct NewToken: Codable, Hashable, Sendable {
        package var container: String
        /// `development` or `production`.
        package var environment: String
        /// `api` is the only kind in this version.
        package var kind: String
        /// What the token is for, to tell it from others.
        package var name: String?

        package init(container: String, environment: String, kind: String, name: String?) {
            self.container = container
            self.environment = environment
            self.kind = kind
            self.name = name
        }
    }

    package struct Token: Codable, Hashable, Sendable {
        package var token: String
    }

    /// `POST /admin/1/users`
    package struct NewUser: Codable, Hashable, Sendable {
        package var email: String
        package var password: String

        package init(email: String, password: String) {
            self.email = email
            self.password = password
        }
    }

    package struct User: Codable, Hashable, Sendable {
        package var id: String
        package var email: String
    }

    /// `GET /admin/1/schema`
    package struct Schema: Codable, Hashable, Sendable {
        /// How often it changed.
        package var version: Int64
        /// In CloudKit's schema language.
        package var text: String
        /// Fields with an index that is not built yet, as `Type.field`.
        package var building: [String]
    }

    /// `POST /admin/1/schema/deploy`
    package struct NewDeployment: Codable, Hashable, Sendable {
        package var container: String
        /// Only say what would come.
        package var isDryRun: Bool

        package init(container: String, isDryRun: Bool) {
            self.container = container
            self.isDryRun = isDryRun
        }
    }

    package struct Deployment: Codable, Hashable, Sendable {
        package var isDryRun: Bool
        package var gains: [Gain]
    }

    /// One thing that production gains.
    package struct Gain: Codable, Hashable, Sendable {
        package var kind: SchemaGain.Kind
        package var recordType: String
        package var field: String?
        /// In CloudKit's schema language: a field's type and options, or the options that are new.
        package var declaration: String
    }

    /// `POST /admin/1/schema/indexes`
    package struct NewIndexes: Codable, Hashable, Sendable {
        package var container: String
        package var recordType: String
        package var field: String
        package var queryable: Bool
        package var sortable: Bool
        package var searchable: Bool

        package init(container: String, recordType: String, field: String, queryable: Bool, sortable: Bool, searchable: Bool) {
            self.container = container
            self.recordType = recordType
            self.field = field
            self.queryable = queryable
            self.sortable = sortable
            self.searchable = searchable
        }
    }

    package struct Indexes: Codable, Hashable, Sendable {
        package var recordType: String
        /// By its name in the schema.
        package var field: String
        /// Those that it has now.
        package var options: [String]
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
