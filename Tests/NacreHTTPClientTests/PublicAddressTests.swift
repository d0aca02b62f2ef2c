import Foundation
import Testing

@testable import NacreHTTPClient

/// Tests of requests that may only go to hosts of the Internet.
struct PublicAddressTests {
    @Test(arguments: [
        "0.0.0.0", "0.255.255.255", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.255", "169.254.169.254",
        "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.0.1", "192.168.255.255", "198.18.0.1", "198.19.255.255",
        "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1",
        "64:ff9b::7f00:1", "fe80::1", "fc00::1", "fdff::1", "fec0::1", "ff02::1", "2001::1", "2001:1ff::1", "2001:db8::1", "2002:7f00:1::1",
        "100::1", "3fff:fff::1", "4000::1",
    ])
    func `an address of a machine, a private network or a protocol is not public`(_ address: String) {
        #expect(Target.isPublic(address) == false)
    }

    @Test(arguments: [
        "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.1", "100.63.255.255", "100.128.0.1", "126.255.255.255", "128.0.0.1", "169.253.0.1",
        "172.15.255.255", "172.32.0.1", "192.0.1.1", "192.167.255.255", "192.169.0.1", "198.17.255.255", "198.20.0.1", "223.255.255.255",
        "2001:200::1", "2606:4700::1", "2a00:1450:4001::1", "3fff:1000::1",
    ])
    func `an address of the Internet is public`(_ address: String) {
        #expect(Target.isPublic(address) == true)
    }

    @Test(arguments: ["127.0.0.1", "localhost"])
    func `a request for public addresses reaches no private one, by number or by name, and any other request does`(_ host: String) async throws {
        let peer = try Peer { connection in
            while connection.request() != nil { connection.answer("here") }
        }
        defer { peer.close() }
        let client = HTTPClient()
        var request = HTTPClient.Request("GET", "http://\(host):\(peer.port)/")
        request.reachesPrivateAddresses = false
        let failure = await client.failure(request)
        #expect(failure?.cause == .cannotConnect && failure?.mayHaveArrived == false)
        #expect(peer.accepted == 0)
        request.reachesPrivateAddresses = true
        #expect(try await client.send(request).body == Array("here".utf8))
    }
}
