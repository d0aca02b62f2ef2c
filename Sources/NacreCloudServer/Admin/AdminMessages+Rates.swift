import NacreCloudContainer
import NacreCloudWire

extension AdminMessages {
    /// The largest rate that can be set.
    package static let largestRate = Limits.ratePerSecond

    /// `GET /admin/1/rates` and `POST /admin/1/rates/change`: units of work a second.
    package struct Rates: Codable, Hashable, Sendable {
        /// Of each user; 0: as much as they like.
        package var userRate: Int
        /// Of all who use the container, together; 0: as much as they like.
        package var containerRate: Int
        /// It was set for this container; else it is the server's.
        package var isUserRateOwn: Bool
        package var isContainerRateOwn: Bool
    }

    /// `POST /admin/1/rates/change`
    package struct NewRates: Codable, Hashable, Sendable {
        package var container: String
        /// nil: it stays what it is.
        package var userRate: Int?
        package var containerRate: Int?
        /// true: the server's own holds again.
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
