import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire

extension AdminMessages {
    /// Bytes of the largest quota that can be set.
    package static let largestQuota = Limits.quotaBytes

    /// `GET /admin/1/usage`
    package struct Usage: Codable, Hashable, Sendable {
        /// The public database's use; absent if the request names a user.
        package var `public`: PublicUsage?
        package var users: [UserUsage]
        /// The position of the next page of users; absent on the last. A page before the last may be empty.
        package var next: String?

        package init(public: PublicUsage? = nil, users: [UserUsage], next: String? = nil) {
            self.public = `public`
            self.users = users
            self.next = next
        }
    }

    /// The use of the container's public database.
    package struct PublicUsage: Codable, Hashable, Sendable {
        package var bytes: Int64
        /// The quota in bytes; absent: no limit but the disk.
        package var limit: Int64?
    }

    /// The use of a user's private database.
    package struct UserUsage: Codable, Hashable, Sendable {
        /// The user record name.
        package var user: String
        package var bytes: Int64
        /// The quota in bytes; absent: no limit but the disk.
        package var limit: Int64?
    }

    /// `GET /admin/1/quotas` and `POST /admin/1/quotas/change`
    package struct Quotas: Codable, Hashable, Sendable {
        /// Bytes for each user's private database; 0: no limit but the disk.
        package var userBytes: Int64
        /// Bytes for the public database; 0: no limit but the disk.
        package var publicBytes: Int64
        /// true: set for this container and environment; false: the server's default.
        package var isUserBytesOwn: Bool
        package var isPublicBytesOwn: Bool
    }

    /// `POST /admin/1/quotas/change`
    package struct NewQuotas: Codable, Hashable, Sendable {
        package var container: String
        package var environment: String
        /// nil leaves the quota as it is.
        package var userBytes: Int64?
        package var publicBytes: Int64?
        /// true returns to the server's default.
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
