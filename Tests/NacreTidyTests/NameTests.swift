import Testing

struct NameTests {
    @Test(arguments: [
        ("CKRecord+ZoneIDs", ["CK", "Record", "Zone", "I", "Ds"]), ("NacreHTTPServer", ["Nacre", "HTTP", "Server"]),
        ("CoreLocation", ["Core", "Location"]),
        ("decoreManager", ["decore", "Manager"]), ("module-map", ["module", "map"]),
    ])
    func `a name is cut into words`(name: String, words: [String]) {
        #expect(Names.words(of: name) == words)
    }

    @Test(arguments: [
        "struct ZoneHelper {}", "final class RecordManager {}", "enum StringUtils {}", "actor CommonState {}", "protocol ServiceImpl {}",
        "typealias CoreRecord = Int",
    ])
    func `a type with an empty name is found`(text: String) {
        #expect(Names.findings(SwiftText(text)).count == 1)
    }

    @Test(arguments: [
        "Sources/NacreCloudWire/Helpers/A.swift", "Sources/NacreCloudWire/ZoneUtils.swift", "Tests/CommonTests/A.swift",
        "Sources/A/Extensions/B.swift",
    ])
    func `a file or folder with an empty name is found`(path: String) {
        #expect(Names.findings(SwiftText("", path: path)).count == 1)
    }

    @Test(arguments: ["struct Scored {}", "class func managerFor() {}", "// struct ZoneHelper", "struct Commonwealth {}", "let coreManager = 1"])
    func `other names are not`(text: String) {
        #expect(Names.findings(SwiftText(text, path: "Sources/CoreLocation/CLLocation.swift")) == [])
    }

    @Test func `no file and no type has an empty name`() throws {
        try report(Names.findings)
    }
}
