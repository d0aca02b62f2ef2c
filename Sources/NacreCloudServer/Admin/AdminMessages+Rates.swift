import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire

extension AdminMessages {
    /// The largest rate that can be set.
    package static let largestRate = Limits.ratePerSecond

    /// `GET /admin/1/rates` and `POST /admin/1/rates/change`, in units of work each second.
    package struct Rates: Codable, Hashable, Sendable {
        /// The rate of each user; 0: no limit.
        package var userRate: Int
        /// The rate of all callers of the container together; 0: no limit.
        package var containerRate: Int
        /// true: set for this container; false: the server's default.
        package var isUserRateOwn: Bool
        package var isContainerRateOwn: Bool
    }

    /// `POST /admin/1/rates/change`
    package struct NewRates: Codable, Hashable, Sendable {
        package var container: String
        /// nil leaves the rate as it is.
        package var userRate: Int?
        package var containerRate: Int?
        /// true returns to the server's default.
        package var resetsUserRate: Bool?
        package var resetsContainerRate: Bool?

        package init(container: String, userRate: Int?, containerRate: Int?, resetsUserRate: Bool?, resetsContainerRate: Bool?) {
            self.container = container
            self.userRate = userRate
            self.containerRate = containerRate
            self.resetsUserRate = resetsUserRate
            self.resetsContainerRate = resetsContainerRate
        }
    }
}
