import Foundation
import NacreCloudWire
import Testing

@testable import CloudKit

/// Tests of the sources of a container's settings, and of the secrecy of tokens.
@Suite struct SettingsTests {
    private func settings(
        _ identifier: String? = "iCloud.a", swift: SettingsLayer? = nil, environment: [String: String] = [:], file: String? = nil
    ) throws(CKError) -> ServerSettings {
        let ambient = AmbientSettings(environment: environment) { _ in file.map { Data($0.utf8) } }
        return try ServerSettings(container: identifier, layers: (swift.map { [$0] } ?? []) + ambient.layers(for: identifier))
    }

    private func failure(_ body: () throws -> ServerSettings) -> CKError? {
        do {
            _ = try body()
            return nil
        } catch {
            return error as? CKError
        }
    }

    @Test func `a Swift call wins over the environment, and that over the file`() throws {
        let file = "{\"server\": \"http://file\", \"environment\": \"production\", \"apiToken\": \"f\", \"accountToken\": \"g\"}"
        let fromFile = try settings(file: file)
        #expect(fromFile.url.absoluteString == "http://file" && fromFile.environment == .production)
        #expect(fromFile.apiToken == "f" && fromFile.accountToken == "g")
        let variables = ["CLOUDKIT_SERVER_URL": "http://env", "CLOUDKIT_API_TOKEN": "e"]
        #expect(try settings(environment: variables, file: file).url.absoluteString == "http://env")
        let swift = SettingsLayer(url: "http://swift")
        #expect(try settings(swift: swift, environment: variables, file: file).url.absoluteString == "http://swift")
    }

    @Test func `tokens never go to another server than their source names`() throws {
        let file = "{\"server\": \"http://file\", \"environment\": \"production\", \"apiToken\": \"f\", \"accountToken\": \"g\"}"
        let elsewhere = try settings(environment: ["CLOUDKIT_SERVER_URL": "http://env"], file: file)
        #expect(elsewhere.apiToken == nil && elsewhere.accountToken == nil && elsewhere.environment == .development)
        let same = try settings(environment: ["CLOUDKIT_SERVER_URL": "http://file", "CLOUDKIT_ACCOUNT_TOKEN": "e"], file: file)
        #expect(same.apiToken == "f" && same.accountToken == "e")
        let free = try settings(swift: SettingsLayer(url: "http://swift"), environment: ["CLOUDKIT_ACCOUNT_TOKEN": "e"])
        #expect(free.accountToken == "e")
    }

    @Test func `a container has its own entry in the file`() throws {
        let file = """
            {"server": "http://one", "container": "iCloud.b", "apiToken": "all",
             "containers": {"iCloud.a": {"server": "http://two", "apiToken": "own"}, "iCloud.c": {"accountToken": "mine"}}}
            """
        let own = try settings("iCloud.a", file: file)
        #expect(own.url.absoluteString == "http://two" && own.apiToken == "own")
        let other = try settings("iCloud.c", file: file)
        #expect(other.url.absoluteString == "http://one" && other.apiToken == "all" && other.accountToken == "mine")
        #expect(try settings(nil, file: file).container == "iCloud.b")
        #expect(try settings(nil, environment: ["CLOUDKIT_CONTAINER": "iCloud.e"], file: file).container == "iCloud.e")
    }

    @Test func `a file that does not read takes the default container back from nobody`() {
        func container(_ variables: [String: String], _ file: String?) -> String? {
            AmbientSettings(environment: variables) { _ in file.map { Data($0.utf8) } }.container
        }
        #expect(container(["CLOUDKIT_CONTAINER": "iCloud.e"], "{no JSON") == "iCloud.e")
        #expect(container([:], "{no JSON") == nil)
        #expect(container([:], #"{"container": "iCloud.f"}"#) == "iCloud.f")
        #expect(container(["CLOUDKIT_CONTAINER": "iCloud.e"], #"{"container": "iCloud.f"}"#) == "iCloud.e")
    }

    @Test func `what is missing or wrong is said with what to set`() {
        let url = ["CLOUDKIT_SERVER_URL": "http://env"]
        let cases: [(CKError?, String)] = [
            (failure { try settings() }, "CLOUDKIT_SERVER_URL"),
            (failure { try settings(environment: ["CLOUDKIT_SERVER_URL": "ftp://x"]) }, "CLOUDKIT_SERVER_URL"),
            (failure { try settings(environment: ["CLOUDKIT_SERVER_URL": "not a url"]) }, "CLOUDKIT_SERVER_URL"),
            (failure { try settings(environment: ["CLOUDKIT_SERVER_URL": "localhost:8080"]) }, "http://localhost:8080"),
            (failure { try settings(environment: ["CLOUDKIT_SERVER_URL": "ftp://x"]) }, "'ftp://x' was found"),
            (failure { try settings(nil, environment: url) }, "CLOUDKIT_CONTAINER"),
            (failure { try settings(environment: url.merging(["CLOUDKIT_ENVIRONMENT": "Staging"]) { $1 }) }, "CLOUDKIT_ENVIRONMENT"),
            (failure { try settings(environment: url, file: "{") }, "config.json"),
        ]
        for (error, word) in cases {
            #expect(error?.code == .badContainer)
            #expect(error?.description.contains(word) == true, "\(word)")
        }
    }

    @Test func `an empty variable says nothing, and the folder is XDG's if that is absolute`() throws {
        let file = "{\"server\": \"http://file\"}"
        #expect(try settings(environment: ["CLOUDKIT_SERVER_URL": ""], file: file).url.absoluteString == "http://file")
        #expect(SettingsFile.path(environment: ["XDG_CONFIG_HOME": "/x", "HOME": "/h"]) == "/x/nacre/config.json")
        #expect(SettingsFile.path(environment: ["XDG_CONFIG_HOME": "x", "HOME": "/h"]) == "/h/.config/nacre/config.json")
    }

    @Test func `containers are configured apart, and a call may come after the container was made`() throws {
        let first = CKContainer(identifier: "iCloud.settings.first")
        let second = CKContainer(identifier: "iCloud.settings.second")
        for (name, token) in [("first", "1"), ("second", "2")] {
            let url = try #require(URL(string: "http://\(name).test"))
            CloudKitServer.configure(CloudKitServer(url: url, accountToken: token), forContainer: "iCloud.settings.\(name)")
        }
        #expect(try first.line.settings().url.host == "first.test")
        #expect(try second.line.settings().accountToken == "2")
        CloudKitServer.configure(nil, forContainer: "iCloud.settings.first")
    }

    @Test func `two containers of one identifier can be two devices`() throws {
        let url = try #require(URL(string: "http://cloud.test"))
        let devices = ["one", "two"].map { CKContainer(identifier: "iCloud.x", server: CloudKitServer(url: url, accountToken: $0)) }
        #expect(try devices.map { try $0.line.settings().accountToken } == ["one", "two"])
        #expect(devices.allSatisfy { $0.containerIdentifier == "iCloud.x" })
    }
}
