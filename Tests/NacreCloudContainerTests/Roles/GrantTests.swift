import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of a role's permissions: the rule as a table, for every caller.
@Suite struct GrantTests {
    enum Asker: CaseIterable { case world, user, member, key, server, administrator }

    struct Cell: CustomTestStringConvertible {
        var role: String
        var permission: Permissions
        var asker: Asker
        var isCreator: Bool
        var testDescription: String { "\(role) may \(permission.words), \(asker)\(isCreator ? ", who made it" : "")" }
    }

    static let table: [Cell] = ["_world", "_icloud", "_creator", "Team", "Other"].flatMap { role in
        Permissions.words.flatMap { word in
            Asker.allCases.flatMap { asker in
                [false, true].map { Cell(role: role, permission: word.permission, asker: asker, isCreator: $0) }
            }
        }
    }

    private func roles(of asker: Asker) -> CallerRoles {
        switch asker {
        case .world: CallerRoles(Caller(.world))
        case .user: CallerRoles(Caller(.user("_ann")))
        case .member: CallerRoles(Caller(.user("_ann")), custom: ["Team"])
        case .key: CallerRoles(Caller(.serverKey("_key")))
        case .server: CallerRoles(.server(inNameOf: "_ann"))
        case .administrator: CallerRoles(.administrator)
        }
    }

    @Test(arguments: table) func `one grant to one role permits what it says, to those who have the role, and nothing else`(cell: Cell) {
        var grants = Grants()
        grants[cell.role] = cell.permission
        let isSignedIn = cell.asker != .world
        let hasRole =
            switch cell.role {
            case "_world": isSignedIn || cell.permission == .read
            case "_icloud": isSignedIn
            case "_creator": isSignedIn && cell.isCreator
            case "Team": cell.asker == .member
            default: false
            }
        let found = grants.permissions(of: roles(of: cell.asker), asCreator: cell.isCreator)
        if cell.asker == .administrator {
            #expect(found == [.read, .create, .write])
        } else {
            #expect(found == (hasRole ? cell.permission : []))
        }
    }

    @Test func `what several roles may adds up`() {
        var grants = Grants.defaults
        grants["Team"] = [.write]
        #expect(grants.permissions(of: roles(of: .member), asCreator: false) == [.read, .create, .write])
        #expect(grants.permissions(of: roles(of: .user), asCreator: false) == [.read, .create])
        #expect(grants.permissions(of: roles(of: .user), asCreator: true) == [.read, .create, .write])
        #expect(grants.permissions(of: roles(of: .world), asCreator: false) == .read)
    }

    @Test func `writing does not say reading`() {
        var grants = Grants()
        grants["_icloud"] = .write
        #expect(grants.permissions(of: roles(of: .user), asCreator: true) == .write)
    }

    @Test func `a type that nobody gave grants has CloudKit's, and is kept as before there were any`() throws {
        let note = RecordTypeDefinition(name: "Note")
        #expect(note.grants == .defaults && note.ownGrants == nil)
        #expect(Grants.defaults(of: UserRecord.type).roles == ["_creator", "_world"])
        let row = try note.row("Note", in: DatabaseID(rawValue: 1))
        #expect(String(decoding: row.value, as: UTF8.self) == #"{"fields":{},"name":"Note"}"#)
        var own = note
        own.grants["Team"] = [.read, .write]
        let kept = try own.row("Note", in: DatabaseID(rawValue: 1))
        #expect(
            String(decoding: kept.value, as: UTF8.self)
                == #"{"fields":{},"grants":{"Team":["READ","WRITE"],"_creator":["WRITE"],"_icloud":["CREATE"],"_world":["READ"]},"name":"Note"}"#)
        #expect(try RecordTypeDefinition(kept) == own)
        own.grants["Team"] = []
        #expect(own == note, "what is the default again is kept as the default")
    }

    @Test func `a permission that this version does not know is not taken for none`() throws {
        var row = try RecordTypeDefinition(name: "Note").row("Note", in: DatabaseID(rawValue: 1))
        row.value = Array(#"{"fields":{},"grants":{"_world":["SEE"]},"name":"Note"}"#.utf8)
        #expect(throws: StoreError.self) { try RecordTypeDefinition(row) }
    }

    /// The answer to a save, by the grants of its type: the rule that `RecordVerdict` asks.
    @Test(arguments: [Permissions.read, .create, .write].indices, [false, true])
    func `each operation wants its own permission, and its refusal does not tell what the caller may not read`(place: Int, isLive: Bool) {
        for others in 0..<8 as Range<UInt8> {
            let permissions = Permissions(rawValue: others)
            var schema = Schema()
            var note = RecordTypeDefinition(name: "Note")
            note.grants = Grants()
            note.grants["_icloud"] = permissions
            schema.types["Note"] = note
            let setting = RecordSetting(scope: .public, environment: .development, caller: Caller(.user("_bob"), client: .framework), schema: schema)
            let record = isLive ? StoredRecord.sample("r", seq: 7, by: "_ann") : nil
            let operation: NacreCloudWire.OperationType = [.create, .forceUpdate, .forceDelete][place]
            let verdict = RecordVerdict(.make(operation, "r", type: operation.isDelete ? nil : "Note"), over: record, in: setting)
            let answer: String =
                switch verdict {
                case .save: "saved"
                case .delete: "deleted"
                case .nothing: "nothing"
                case .refuse(let error): error.reason
                }
            // Without any grant, the type permits nothing.
            let may = permissions
            let expected: String =
                switch (operation, isLive) {
                case (.create, true):
                    may.isDisjoint(with: [.read, .write]) && !may.contains(.create)
                        ? "CREATE operation not permitted" : "record to insert already exists"
                case (.create, false), (.forceUpdate, false): may.contains(.create) ? "saved" : "CREATE operation not permitted"
                case (.forceUpdate, true): may.contains(.write) ? "saved" : "WRITE operation not permitted"
                case (_, true): may.contains(.write) ? "deleted" : "WRITE operation not permitted"
                case (_, false): "nothing"
                }
            #expect(answer == expected, "\(operation), \(permissions.words), live \(isLive)")
        }
    }

    @Test func `in private databases there are no roles`() {
        var schema = Schema()
        var note = RecordTypeDefinition(name: "Note")
        note.grants = Grants()
        note.grants["Team"] = .read
        schema.types["Note"] = note
        let setting = RecordSetting(scope: .private, environment: .development, caller: Caller(.user("_ann"), client: .framework), schema: schema)
        #expect(setting.permissions(on: "Note", asCreator: false) == [.read, .create, .write])
        guard case .save = RecordVerdict(.make(.create, "r"), over: nil, in: setting) else {
            Issue.record("it is saved")
            return
        }
    }
}
