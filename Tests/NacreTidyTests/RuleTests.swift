import Testing

struct AccessTests {
    @Test(arguments: ["public struct A {}", "public import NacreCloudWire", "private(set) public var a = 1", "extension A { public init() {} }"])
    func `public in a module of the server is found`(text: String) {
        #expect(Access.findings(SwiftText(text, path: "Sources/NacreCloudWire/A.swift")).count == 1)
    }

    @Test(arguments: [
        "let a = Scope.public", "f(.public)", "case `public`", "make(public: a)", "// public", "package struct A {}", "public import Synchronization",
    ])
    func `the database of that name is not`(text: String) {
        #expect(Access.findings(SwiftText(text, path: "Sources/NacreCloudWire/A.swift")) == [])
    }

    @Test func `the framework is public`() {
        #expect(Access.findings(SwiftText("public struct A {}", path: "Sources/CloudKit/A.swift")) == [])
    }

    @Test func `only the framework is public`() throws {
        try report(Access.findings)
    }
}

struct DeterminismTests {
    @Test(arguments: [
        "let a = Date()", "let a = Date.now", "let a: Date = .now", "f(.now)", "return .now", "ContinuousClock().now", "ContinuousClock.now",
        "Int.random(in: 0..<2)", "[1].randomElement()", "a.shuffled()", "var g = SystemRandomNumberGenerator()", "UUID()",
    ])
    func `something drawn from outside is found`(text: String) {
        #expect(!Determinism.findings(SwiftText(text, path: "Sources/NacreCloudContainer/A.swift")).isEmpty)
    }

    @Test(arguments: [
        "let a = caller.now", "let a = clock().now", "Date(timeIntervalSince1970: a)", "// Date()", "func f(now: Date) {}", "UUID(uuid: a)",
    ])
    func `something passed in is not`(text: String) {
        #expect(Determinism.findings(SwiftText(text, path: "Sources/NacreCloudContainer/A.swift")) == [])
    }

    @Test func `the edges of the system draw`() {
        #expect(Determinism.findings(SwiftText("let a = Date()", path: "Sources/NacreCloudServer/A.swift")) == [])
    }

    @Test func `the domain draws no time, names or randomness`() throws {
        try report(Determinism.findings)
    }
}

struct TrapTests {
    @Test(arguments: [
        "fatalError()", "preconditionFailure(\"a\")", "// why not\nfatalError()", "// unreachable: a\n\nfatalError()",
        "fatalError() // this is unreachable: a",
    ])
    func `a stop without its reason is found`(text: String) {
        #expect(Traps.stops(SwiftText(text)).count == 1)
    }

    @Test(arguments: ["fatalError() // unreachable: a", "// unreachable: a\nfatalError()", "// fatalError()", "\"fatalError()\"", "precondition(a)"])
    func `a stop with its reason is not`(text: String) {
        #expect(Traps.stops(SwiftText(text)) == [])
    }

    @Test func `a forced try is found`() {
        #expect(Traps.forcedTries(SwiftText("let a = try! b()")).count == 1)
        #expect(Traps.forcedTries(SwiftText("let a = try? b() // try!\nlet c = try !d()")).isEmpty)
    }

    @Test(arguments: [
        "final class A: @unchecked Sendable {\n\n\n// locked\n}", "// locked\nextension A: @unchecked Sendable {}",
        "final class A: @unchecked Sendable {\n/// What a is.\nlet a = 1\n}",
    ])
    func `an unchecked promise without its proof is found`(text: String) {
        #expect(Traps.uncheckedSendables(SwiftText(text)).count == 1)
    }

    @Test(arguments: [
        "extension A: @unchecked Sendable {} // immutable", "final class A: @unchecked Sendable {\n// locked\n}",
        "class A: @unchecked Sendable\n{\n// locked\n}",
    ])
    func `an unchecked promise with its proof is not`(text: String) {
        #expect(Traps.uncheckedSendables(SwiftText(text)) == [])
    }

    @Test func `what stops the process says why it cannot happen`() throws {
        try report(Traps.stops)
    }

    @Test func `no try is forced`() throws {
        try report(Traps.forcedTries)
    }

    @Test func `every unchecked promise is proved`() throws {
        try report(Traps.uncheckedSendables)
    }
}
