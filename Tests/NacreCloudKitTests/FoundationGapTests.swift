import Foundation
import NacreFoundationGaps
import Testing

/// Tests of the opt-in module.
@Suite struct FoundationGapTests {
    @Test func `defaults are set by key-value coding`() throws {
        let name = "nacre.tests.\(UUID().uuidString)"
        let defaults = try #require(UserDefaults(suiteName: name))
        defer { defaults.removePersistentDomain(forName: name) }
        defaults.setValue("x", forKey: "a")
        #expect(defaults.value(forKey: "a") as? String == "x" && defaults.string(forKey: "a") == "x")
        defaults.setValue(nil, forKey: "a")
        #expect(defaults.value(forKey: "a") == nil)
    }
}
