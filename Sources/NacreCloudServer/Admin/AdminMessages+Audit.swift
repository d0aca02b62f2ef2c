extension AdminMessages {
    /// `GET /admin/1/audit`
    package struct AuditLog: Codable, Hashable, Sendable {
        /// Entries, the newest first.
        package var entries: [AuditLine]
        /// The position of the next page; absent on the last.
        package var next: String?

        package init(entries: [AuditLine], next: String? = nil) {
            self.entries = entries
            self.next = next
        }
    }

    package struct AuditLine: Codable, Hashable, Sendable {
        package var number: Int64
        /// Time of the request, in milliseconds since 1970.
        package var time: Int64
        /// Method and path of the endpoint.
        package var action: String
        /// The request's fields that name its subject.
        package var subject: [String: String]
        /// The client's address.
        package var address: String
        /// ID and name of the request's management token, or of its session of the console after the word `console`;
        /// absent if it had the token of `admin.json`.
        package var author: String?
        /// HTTP status of the answer; absent if the server ended before there was one.
        package var status: Int?
        package var requestID: String
    }
}
