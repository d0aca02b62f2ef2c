import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

@Suite struct NameTests {
    static let longest = String(repeating: "n", count: 255)

    @Test(arguments: ["a", "0", "A b.c-d:e/f", "~", " ", "x_", "0B5E6A30-9A1F-4A0B-8D53-000000000000", longest])
    func `printable ASCII that does not begin with an underscore is a name`(name: String) {
        #expect(Names.recordNameFault(name, field: "recordName") == nil)
    }

    @Test(arguments: ["", "_a", "_", "a\u{7f}", "a\u{0}", "tab\t", "line\n", "é", "日本", "\u{212A}", longest + "n"])
    func `anything else is none, and the fault names the key`(name: String) throws {
        let fault = try #require(Names.recordNameFault(name, field: "zoneName"))
        #expect(fault.code == .badRequest && fault.field == "zoneName")
    }

    @Test(arguments: ["a", "Z", "Note", "note_2", "N0", longest, "cloudkit.share"]) func `a type begins with a letter`(type: String) {
        #expect(Names.recordTypeFault(type) == nil)
    }

    @Test(arguments: ["", "_Note", "2Note", "No te", "No-te", "No.te", "cloudKit.share", "é", "\u{212A}", "[", "`", "{", "@", longest + "n"])
    func `and goes on with letters, digits and underscores alone`(type: String) {
        #expect(Names.recordTypeFault(type)?.field == "recordType")
    }

    @Test(arguments: ["a", "Z", "title", "title_2", "t0", longest]) func `a field's name begins with a letter`(name: String) {
        #expect(Names.fieldNameFault(name) == nil)
    }

    @Test(arguments: ["", "_title", "___createTime", "2nd", "a b", "a-b", "a.b", "a$", "é", longest + "n"])
    func `and is refused with its own name, as far as names go, as the field at fault`(name: String) {
        #expect(Names.fieldNameFault(name)?.field == String(name.prefix(255)))
    }

    @Test(arguments: ["iCloud.com.example", "iCloud.com.example.notes", "iCloud.com.ex-ample.no_tes2"])
    func `a container is iCloud and a name in reverse DNS`(name: String) {
        #expect(Names.containerFault(name) == nil)
    }

    @Test(arguments: [
        "", "iCloud", "iCloud.com", "icloud.com.example", "com.example.notes", "iCloud.com.", "iCloud..example", "iCloud.com.exa mple",
        "iCloud.com.exämple", "iCloud.com.example.", "iCloud.com." + longest,
    ])
    func `nothing else is a container`(name: String) {
        #expect(Names.containerFault(name)?.field == "container")
    }

    @Test func `a made name is a version 4 UUID in upper case, its bits where they belong`() {
        #expect(UUIDText.version4(0, 0) == "00000000-0000-4000-8000-000000000000")
        #expect(UUIDText.version4(.max, .max) == "FFFFFFFF-FFFF-4FFF-BFFF-FFFFFFFFFFFF")
        #expect(UUIDText.version4(0x0123_4567_89ab_cdef, 0x0123_4567_89ab_cdef) == "01234567-89AB-4DEF-8123-456789ABCDEF")
    }

    @Test func `a tag is its number in base 36, and says the run from the second one on`() {
        #expect(ChangeTag.text(ChangeNumber(run: 1, seq: 1)) == "1")
        #expect(ChangeTag.text(ChangeNumber(run: 1, seq: 36 * 36 + 35)) == "10z")
        #expect(ChangeTag.text(ChangeNumber(run: 2, seq: 1)) == "2-1")
        #expect(ChangeTag.text(ChangeNumber(run: 21, seq: 1)) != ChangeTag.text(ChangeNumber(run: 2, seq: 37)))
    }

    @Test func `a save policy asks for the tag only where the server's record must be unchanged`() {
        #expect(SavePolicy.ifServerRecordUnchanged.operationType(hasChangeTag: true) == .update)
        #expect(SavePolicy.ifServerRecordUnchanged.operationType(hasChangeTag: false) == .create)
        for hasChangeTag in [true, false] {
            #expect(SavePolicy.changedKeys.operationType(hasChangeTag: hasChangeTag) == .forceUpdate)
            #expect(SavePolicy.allKeys.operationType(hasChangeTag: hasChangeTag) == .forceUpdate)
        }
    }
}

@Suite struct PasswordRuleTests {
    @Test(arguments: [("", "password is too short"), ("1234567", "password is too short"), ("🔑🔑🔑", "password is too short")])
    func `a short password is refused`(password: String, reason: String) {
        #expect(PasswordRule.fault(password)?.reason == reason)
    }

    @Test func `eight characters to 1,024 bytes are taken, whatever they are`() {
        #expect(PasswordRule.fault("12345678") == nil)
        #expect(PasswordRule.fault("        ") == nil)
        #expect(PasswordRule.fault(String(repeating: "é", count: 512)) == nil)
        #expect(PasswordRule.fault(String(repeating: "é", count: 512) + "e") == PasswordRule.tooLong())
    }
}
