import Testing

@testable import NacreCloudServer

@Suite struct ListenAddressTests {
    @Test(arguments: [
        ("127.0.0.1:8787", "127.0.0.1", 8787), ("0.0.0.0:0", "0.0.0.0", 0), ("[::1]:8787", "::1", 8787), ("[::]:65535", "::", 65535),
        ("localhost:80", "localhost", 80),
    ])
    func `an address reads, and is written as it was`(_ text: String, _ host: String, _ port: Int) throws {
        let address = try #require(ListenAddress(text))
        #expect(address == ListenAddress(host: host, port: port))
        #expect(address.description == text)
    }

    @Test(arguments: [
        "", ":", ":80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:x", "::1:80", "[]:80", "a:b:80", "127.0.0.1:80 ",
        "[::1]",
    ])
    func `what is no address does not`(_ text: String) {
        #expect(ListenAddress(text) == nil)
    }

    @Test(arguments: [
        ("https://cloud.example", "cloud.example"), ("https://Cloud.Example:8443/path", "cloud.example"), ("http://[::1]:8787/", "[::1]"),
        ("http://localhost?x=1", "localhost"), ("https://cloud.example#top", "cloud.example"),
        ("https://user:secret@cloud.example/", "cloud.example"),
    ])
    func `the host of a URL is its name alone`(_ url: String, _ host: String) {
        #expect(Server.host(of: url) == host)
    }

    @Test(arguments: ["", "cloud.example", "https://", "https:///path", "://", "https://:80"])
    func `a text without a host has none`(_ url: String) {
        #expect(Server.host(of: url) == nil)
    }
}
