import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import NacreHTTPServer
import NacreTelemetry
import Testing

@testable import NacreCloudServer

@Suite struct ReadinessTests {
    @Test func `a server that starts or ends lives and is not ready`() async throws {
        let registry = Registry(store: MemoryStore(), clock: { Timestamp(secondsSince2001: 0) }, random: { 1 })
        for isRunning in [false, true] {
            var router = Router()
            router.onError = { ErrorAnswer(logger: .silent).response(to: $0, $1) }
            Health(registry: registry, requestRate: nil, isRunning: { isRunning }).addRoutes(to: &router)
            let ready = await router.respond(to: HTTPRequest(method: .get, target: "/readyz"))
            #expect(ready.status == (isRunning ? .ok : .serviceUnavailable))
            #expect(ready.headers["Retry-After"] == (isRunning ? nil : "1"))
            #expect(await router.respond(to: HTTPRequest(method: .get, target: "/healthz")).status == .ok)
        }
    }
}
