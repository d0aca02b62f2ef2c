import NacreCloudContainer
import NacreCloudWire

extension AdminMessages {
    /// The largest quota that can be set.
    package static let largestQuota = Limits.quotaBytes

    /// `GET /admin/1/usage`
    package struct Usage: Codable, Hashable, Sendable {
        /// Absent where one user was asked for.
        package var `public`: PublicUsage?
        package var users: [UserUsage]
        /// Where the next page of users begins; absent: there is none. A page may be empty and not the last.
        package var next: String?

        package init(public: PublicUsage? = nil, users: [UserUsage], next: String? = nil) {
            self.public = `public`
            self.users = users
            self.next = next
        }
    }

    /// Of the container's public database.
    package struct PublicUsage: Codable, Hashable, Sendable {
        package var bytes: Int64
        /// Absent: as much as the disk.
        package var limit: Int64?
    }

    /// Of a user's private database.
    package struct UserUsage: Codable, Hashable, Sendable {
        /// The user record name.
        package var user: String
        package var bytes: Int64
        /// Absent: as much as the disk.
        package var limit: Int64?
    }

    /// `GET /admin/1/quotas` and `POST /admin/1/quotas/change`
    package struct Quotas: Codable, Hashable, Sendable {
        /// Of each user's private database; 0: as much as the disk.
        package var userBytes: Int64
        /// Of the public database; 0: as much as the disk.
        package var publicBytes: Int64
        /// It was set for this container and environment; else it is the server's.
        package var isUserBytesOwn: Bool
        package var isPublicBytesOwn: Bool
    }

    /// `POST /admin/1/quotas/change`
    package struct NewQuotas: Codable, Hashable, Sendable {
        package var container: String
        package var environment: String
        /// nil: it stays what it is.
        package var userBytes: Int64?
        package var publicBytes: Int64?
        /// true: the server's own holds again.
        package var resetsUserBytes: Bool?
        package var resetsPublicBytes: Bool?

        package init(
            container: String, environment: String, userBytes: Int64?, publicBytes: Int64?, resetsUserBytes: Bool?, resetsPublicBytes: Bool?
        ) {
            self.container = container
            self.environment = environment
            self.userBytes = userBytes
            self.publicBytes = publicBytes
            self.resetsUserBytes = resetsUserBytes
            self.resetsPublicBytes = resetsPublicBytes
        }
    }
}
