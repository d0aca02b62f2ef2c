import FoundationEssentials
import NacreCloudWire

extension ServerClock {
    package static let system = ServerClock(
        now: { Timestamp(secondsSince2001: Date().timeIntervalSinceReferenceDate) },
        sleep: { try await Task.sleep(for: $0) })
}
