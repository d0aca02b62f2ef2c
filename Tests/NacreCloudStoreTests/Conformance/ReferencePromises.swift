import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@Suite struct ReferencePromises {
    private static func put(
        _ name: String, _ seq: Int64, before: Int64? = nil, parent: String? = nil, owners: [String] = [], validating: [String] = [],
        in zone: ZoneAddress = Sample.zone
    ) -> RecordPut {
        var put = Sample.put(name, seq, before: before, parent: parent, in: zone)
        put.linked = owners.map { ReferenceLink(target: $0, kind: .deleteSelf) } + validating.map { ReferenceLink(target: $0, kind: .validate) }
        return put
    }

    private static func answer(_ target: String, isParent: Bool = false, isValidated: Bool = false, owned: [String] = []) -> Dependents {
        Dependents(target: target, isParent: isParent, isValidated: isValidated, owned: owned)
    }

    @Test(arguments: Engine.allCases)
    func `dependents are told apart by how they refer, and by whom they are`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate([
            Self.put("child", 1, parent: "folder"), Self.put("owned", 2, owners: ["folder", "box"]), Self.put("judge", 3, validating: ["folder"]),
            Self.put("both", 4, owners: ["box"], validating: ["box"]), Self.put("self", 5, owners: ["self"]),
        ])
        let names = ["folder", "box", "self", "child", "nobody", "folder"]
        #expect(
            try await store.dependents(of: names) == [
                Self.answer("box", isValidated: true, owned: ["both", "owned"]),
                Self.answer("folder", isParent: true, isValidated: true, owned: ["owned"]), Self.answer("self", owned: ["self"]),
            ])
        #expect(
            try await store.dependents(of: names, outside: ["owned", "child", "self", "stranger"]) == [
                Self.answer("box", isValidated: true, owned: ["both"]), Self.answer("folder", isValidated: true),
            ])
        #expect(try await store.dependents(of: names, outside: ["owned", "child", "self", "judge", "both"]).isEmpty)
    }

    @Test(arguments: Engine.allCases)
    func `owned records come in the order of their names' bytes, as many as are asked for`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        let names = ["", "B", "a", "a\u{0}", "e\u{301}", "é", "\u{ffff}", "\u{10000}"]
        try await store.populate(names.shuffled().map { Self.put($0, 1, owners: ["folder"], validating: ["folder"]) })
        for limit in [-1, 0, 1, 5, 8, 9] {
            let found = try await store.dependents(of: ["folder"], limit: limit)
            #expect(bytes(found.flatMap(\.owned)) == bytes(Array(names.prefix(max(limit, 0)))))
            #expect(found.map(\.isValidated) == [true])
        }
        // Records that are excluded do not count.
        let rest = try await store.dependents(of: ["folder"], outside: ["B", "é", ""], limit: 3)
        #expect(bytes(rest.flatMap(\.owned)) == bytes(["a", "a\u{0}", "e\u{301}"]))
    }

    @Test(arguments: Engine.allCases)
    func `children come in the order of their names' bytes, as many as are asked for`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        let names = ["B", "a", "a\u{0}", "e\u{301}", "é", "\u{ffff}", "\u{10000}"]
        try await store.populate(
            names.shuffled().map { Self.put($0, 1, parent: "folder") } + [Self.put("owned", 2, owners: ["folder"]), Self.put("z", 3, parent: "box")])
        func children(after name: String? = nil, limit: Int = 10, bytesMax: Int = .max) async throws -> [String] {
            try await store.read { try $0.children(in: Sample.zone, of: "folder", after: name, limit: limit, bytesMax: bytesMax) }.map(\.name)
        }
        for limit in [-1, 0, 1, 5, 7, 8] { #expect(bytes(try await children(limit: limit)) == bytes(Array(names.prefix(max(limit, 0))))) }
        #expect(bytes(try await children(after: "a\u{0}", limit: 2)) == bytes(["e\u{301}", "é"]))
        #expect(try await children(bytesMax: 0) == [])
        #expect(try await children(bytesMax: 1) == ["B"])
        #expect(try await children(after: "\u{10000}") == [])
    }

    @Test(arguments: Engine.allCases)
    func `records that go with a stranger's are told apart, and counted apart`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        var both = Self.put("both", 1, owners: ["folder"])
        both.linked.append(ReferenceLink(target: "folder", kind: .othersDeleteSelf))
        var others = Self.put("other", 1)
        others.linked = ["folder", "box"].map { ReferenceLink(target: $0, kind: .othersDeleteSelf) }
        try await store.populate([both, others])
        func answer(_ target: String, _ owned: [String], _ othersOwned: [String]) -> Dependents {
            Dependents(target: target, isParent: false, isValidated: false, owned: owned, othersOwned: othersOwned)
        }
        #expect(try await store.dependents(of: ["folder", "box"]) == [answer("box", [], ["other"]), answer("folder", ["both"], ["both", "other"])])
        #expect(try await store.dependents(of: ["folder"], limit: 1) == [answer("folder", ["both"], ["both"])])
        #expect(try await store.dependents(of: ["folder"], outside: ["both"]) == [answer("folder", [], ["other"])])
        var gone = Self.put("other", 2, before: 1)
        gone.unlinked = others.linked
        try await store.apply(WritePlan(\.records, [gone]))
        #expect(try await store.dependents(of: ["folder", "box"]) == [answer("folder", ["both"], ["both"])])
    }

    @Test(arguments: Engine.allCases)
    func `targets that look alike and differ in bytes are two`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate([Self.put("one", 1, owners: ["é"]), Self.put("two", 1, owners: ["e\u{301}"])])
        #expect(try await store.dependents(of: ["e\u{301}"]).map(\.owned) == [["two"]])
        #expect(try await store.dependents(of: ["é", "e\u{301}"]).map(\.owned) == [["two"], ["one"]])
    }

    @Test(arguments: Engine.allCases)
    func `a link that goes need not be there, one that comes may be, and what goes goes first`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await store.populate([Self.put("a", 1, owners: ["old", "kept", "old"], validating: ["old"])])
        var again = Self.put("a", 2, before: 1, owners: ["kept", "new", "turned"])
        again.unlinked = ["old", "never", "turned"].map { ReferenceLink(target: $0, kind: .deleteSelf) }
        try await store.apply(WritePlan(\.records, [again]))
        #expect(
            try await store.dependents(of: ["old", "kept", "new", "turned", "never"]) == [
                Self.answer("kept", owned: ["a"]), Self.answer("new", owned: ["a"]), Self.answer("old", isValidated: true),
                Self.answer("turned", owned: ["a"]),
            ])
    }

    @Test(arguments: Engine.allCases)
    func `zones and databases do not see each other's links`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        let sibling = ZoneAddress(database: Sample.database, zone: 8)
        let stranger = ZoneAddress(database: DatabaseID(rawValue: 1), zone: 7)
        try await store.populate([Self.put("a", 1, owners: ["folder"]), Self.put("b", 1, owners: ["folder"], in: sibling)])
        try await store.apply(WritePlan(\.records, [Self.put("c", 1, validating: ["folder"], in: stranger)]))
        #expect(try await store.dependents(of: ["folder"]) == [Self.answer("folder", owned: ["a"])])
        #expect(try await store.dependents(sibling, of: ["folder"]) == [Self.answer("folder", owned: ["b"])])
        #expect(try await store.dependents(stranger, of: ["folder"]) == [Self.answer("folder", isValidated: true)])
    }
}
