extension AdminMessages {
    /// `GET /admin/1/audit`
    package struct AuditLog: Codable, Hashable, Sendable {
        /// Newest first.
        package var entries: [AuditLine]
        /// Where the next page begins; absent: there is none.
        package var next: String?

        package init(entries: [AuditLine], next: String? = nil) {
            self.entries = entries
            self.next = next
        }
    }

    package struct AuditLine: Codable, Hashable, Sendable {
        package var number: Int64
        /// Milliseconds since 1970.
        package var time: Int64
        /// Method and path of the endpoint.
        package var action: String
        /// Whom and what the request named, by its fields.
        package var subject: [String: String]
        /// From where it came.
        package var address: String
        /// ID and name of the management token that it came with; absent: an administrator with the token of `admin.json`.
        package var author: String?
        /// HTTP status of the answer; absent: the server ended before there was one.
        package var status: Int?
        package var requestID: String
    }
}
