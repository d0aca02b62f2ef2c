import NacreCloudTestSupport
import NacreCloudWire

@testable import NacreCloudStorage

/// Two servers over one store, which was opened first by the first. Each has a memory of its own.
struct ServerPair {
    let first: TestCloud
    let second: TestCloud

    init(fault: SideBySideStore.PlantedFault? = nil) {
        let stores = SideBySideStore.servers(2, fault: fault)
        (first, second) = (TestCloud(stores[0]), TestCloud(stores[1], seed: 2))
    }

    /// The same user at each server.
    func user(_ name: String) -> (first: TestCloudUser, second: TestCloudUser) {
        (first.user(name), second.user(name))
    }

    func move(bySeconds seconds: Double) {
        for test in [first, second] { test.clock.move(bySeconds: seconds) }
    }
}
