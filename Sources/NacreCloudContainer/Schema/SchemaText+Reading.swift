import NacreCloudStorage
package import NacreCloudWire

extension SchemaText {
    /// Reads a text in CloudKit's schema language. The numbers of its indexes mean nothing yet.
    ///
    /// CloudKit: comments are lost, the order is free, and types without grants have the default ones.
    /// - Throws: `BAD_REQUEST` with the line and the column of the fault.
    package static func schema(from text: String) throws(ServerError) -> Schema {
        var reader = try SchemaReader(text)
        return try reader.schema()
    }
}

private struct SchemaReader {
    private typealias Token = SchemaTokens.Token

    private var tokens: SchemaTokens
    private var next: Token
    private var nextIndex: Int64 = 1
    /// The roles that grants name, as tokens of the text. The text must declare each of them.
    private var granted: [Token] = []

    init(_ text: String) throws(ServerError) {
        tokens = SchemaTokens(text)
        next = try tokens.next()
    }

    mutating func schema() throws(ServerError) -> Schema {
        try skip("DEFINE")
        try skip("SCHEMA")
        var schema = Schema()
        while next.kind != .end {
            let start = next.position
            if next.isKeyword("CREATE") {
                try readRole(of: &schema)
            } else if next.isKeyword("RECORD") {
                let type = try readType()
                guard schema.types[type.name] == nil else {
                    throw .schemaSyntax(
                        "Record type '\(type.name)' is defined twice", at: start, remedy: "Define each type once, with all its fields.")
                }
                if schema.types.count >= Limits.recordTypesPerSchema { throw .tooManyTypes }
                schema.types[type.name] = type
            } else if next.isKeyword("GRANT") {
                throw unexpected(
                    ["\"CREATE\"", "\"RECORD\"", "<EOF>"], remedy: "A grant stands in the parentheses of the record type that it is about.")
            } else {
                throw unexpected(["\"CREATE\"", "\"RECORD\"", "<EOF>"])
            }
            try skip(";")
        }
        if let stranger = granted.first(where: { schema.roles[$0.text] == nil }) {
            throw .schemaSyntax(
                "Role '\(stranger.text)' is not declared", at: stranger.position,
                remedy: "Write CREATE ROLE \(stranger.text); into the text, or grant to \"_world\", \"_icloud\" or \"_creator\".")
        }
        return schema
    }

    // MARK: Roles

    private mutating func readRole(of schema: inout Schema) throws(ServerError) {
        try skip("CREATE")
        try skip("ROLE")
        let name = try readName()
        if Grants.builtInRoles.contains(name.text) {
            throw .schemaSyntax("Role '\(name.text)' is CloudKit's own", at: name.position, remedy: "Every schema has it: leave its CREATE ROLE out.")
        }
        if !Names.isIdentifier(name.text) {
            throw .schemaSyntax(
                "invalid role name", at: name.position,
                remedy: "Begin with a letter, and go on with letters, digits and underscores, at most \(Limits.nameCharacters).")
        }
        guard schema.roles[name.text] == nil else {
            throw .schemaSyntax("Role '\(name.text)' is created twice", at: name.position, remedy: "Create each role once.")
        }
        guard schema.roles.count < Limits.rolesPerSchema else { throw .tooManyRoles }
        schema.declare(role: name.text)
    }

    /// CloudKit: several grants to one role add up.
    private mutating func readGrant(into grants: inout Grants, of type: String) throws(ServerError) {
        try skip("GRANT")
        var permissions: Permissions = []
        repeat {
            let position = next.position
            guard next.kind == .word, let permission = Permissions(word: next.text.uppercased()) else {
                throw unexpected(Permissions.words.map { "\"\($0.word)\"" }, remedy: Self.grantRemedy)
            }
            if permission == .create, type == UserRecord.type {
                throw .schemaSyntax(
                    "CREATE cannot be granted of \(type)", at: position, remedy: "The server makes users' records: grant READ and WRITE alone.")
            }
            permissions.insert(permission)
            try advance()
        } while try skipSign(",")
        guard try skipKeyword("TO") else { throw unexpected(["\",\"", "\"TO\""], remedy: Self.grantRemedy) }
        let role = try readName(remedy: Self.grantRemedy)
        if try isSecondRole() {
            throw .schemaSyntax("A grant names one role", at: next.position, remedy: "Write a GRANT of its own for each role.")
        }
        if !Grants.builtInRoles.contains(role.text) { granted.append(role) }
        grants[role.text].formUnion(permissions)
    }

    private static let grantRemedy =
        "A grant is GRANT, some of READ, CREATE and WRITE with commas between, TO, and one role: GRANT READ, WRITE TO Editor. Who may WRITE may delete."

    /// Whether a comma and another role follow the role of a grant. A field would have a type there.
    private func isSecondRole() throws(ServerError) -> Bool {
        guard next.isSign(",") else { return false }
        var ahead = tokens
        let name = try ahead.next()
        guard name.kind == .word || name.kind == .quoted else { return false }
        let behind = try ahead.next()
        return behind.isSign(",") || behind.isSign(")")
    }

    // MARK: Types

    private mutating func readType() throws(ServerError) -> RecordTypeDefinition {
        try skip("RECORD")
        try skip("TYPE")
        let name = try readName()
        if name.text != ShareType.name {
            if name.text.hasPrefix(Self.managedPrefix) {
                throw .schemaSyntax(
                    "Record type '\(name.text)' is CloudKit's own", at: name.position,
                    remedy: "Leave the type out: \(ShareType.name) is the one that may be written.")
            }
            if let fault = Names.recordTypeFault(name.text) { throw located(fault, at: name.position) }
        }
        var type = RecordTypeDefinition(name: name.text, fields: [:])
        var grants = Grants()
        var named: Set<String> = []
        try skip("(")
        repeat {
            if try isGrant() {
                try readGrant(into: &grants, of: name.text)
            } else {
                try readField(of: &type, named: &named)
            }
        } while try skipSign(",")
        try skip(")", or: ["\",\""])
        if !grants.isEmpty { type.grants = grants }
        for managed in [UserRecord.definition, ShareType.definition] where managed.name == name.text {
            type.fields.merge(managed.fields) { written, _ in written }
        }
        return type
    }

    private static let managedPrefix = "cloudkit."

    /// Whether a grant comes next. A field named GRANT would have a type.
    private func isGrant() throws(ServerError) -> Bool {
        guard next.isKeyword("GRANT") else { return false }
        var ahead = tokens
        let second = try ahead.next()
        return !(["ENCRYPTED", "LIST"] + Self.elementTypes).contains { second.isKeyword($0) }
    }

    private mutating func readField(of type: inout RecordTypeDefinition, named: inout Set<String>) throws(ServerError) {
        let name = try readName()
        guard named.insert(name.text).inserted else {
            throw .schemaSyntax("Field '\(name.text)' is defined twice", at: name.position, remedy: "Define each field once, with all its options.")
        }
        let position = next.position
        let shape = try readFieldType()
        let options = try readOptions(of: name.text, shape)
        if let systemType = SchemaText.systemFields[name.text] {
            guard FieldShape(systemType) == shape else {
                throw .schemaSyntax(
                    "Field '\(name.text)' has the type \(SchemaText.name(of: systemType))", at: position, remedy: "System fields keep their type.")
            }
            // A system field without options needs no entry.
            if options.isEmpty { return }
            guard SystemField(rawValue: name.text) != nil else {
                throw .schemaSyntax("Field '\(name.text)' cannot be indexed", at: position, remedy: "Leave its options out.")
            }
        } else if type.name == ShareType.name, let own = ShareType.definition.fields[name.text] {
            guard own.shape == shape else {
                throw .schemaSyntax(
                    "Field '\(name.text)' has the type \(SchemaText.name(of: own.type))", at: position,
                    remedy: "CloudKit's own fields keep their type.")
            }
        } else if let fault = Names.fieldNameFault(name.text) {
            throw located(fault, at: name.position)
        }
        if type.name == UserRecord.type, !options.isEmpty {
            throw .schemaSyntax("Fields of Users cannot be indexed", at: position, remedy: "Users are fetched by name. Leave the options out.")
        }
        if type.fields.count >= Limits.fieldsPerRecordType { throw .tooManyFields(in: type.name) }
        var field = FieldDefinition(type: shape.type, isEncrypted: shape.isEncrypted)
        field.setOptions(options, nextIndex: &nextIndex)
        type.fields[name.text] = field
    }

    // MARK: Types of fields, and their options

    private mutating func readFieldType() throws(ServerError) -> FieldShape {
        let start = next
        var isEncrypted = try skipKeyword("ENCRYPTED")
        let isList = try skipKeyword("LIST")
        if isList {
            try skip("<")
            // CloudKit's grammar has ENCRYPTED inside; in front of the list it means the same.
            if try skipKeyword("ENCRYPTED") { isEncrypted = true }
        }
        let element = next
        var name = element.text.uppercased()
        guard element.kind == .word, name == "NUMBER" || SchemaText.fieldType(named: name) != nil else {
            throw unexpected((isList ? [] : ["\"LIST\""]) + ["\"ENCRYPTED\""] + Self.elementTypes.map { "\"\($0)\"" })
        }
        try advance()
        if name == "NUMBER" {
            guard try skipKeyword("PREFERRED") else {
                throw .schemaSyntax(
                    "NUMBER does not say of which kind", at: element.position, remedy: "Write INT64 or DOUBLE, or NUMBER PREFERRED AS one of these.")
            }
            try skip("AS")
            name = next.text.uppercased()
            guard next.kind == .word, name == "INT64" || name == "DOUBLE" else { throw unexpected(["\"INT64\"", "\"DOUBLE\""]) }
            try advance()
        }
        if isList { try skip(">") }
        guard let type = SchemaText.fieldType(named: isList ? "LIST<\(name)>" : name) else { throw unexpected(Self.elementTypes.map { "\"\($0)\"" }) }
        if isEncrypted, ["ASSET", "REFERENCE"].contains(name) {
            throw .schemaSyntax(
                "\(name) cannot be encrypted", at: start.position,
                remedy: name == "ASSET" ? "Assets are encrypted anyway: leave ENCRYPTED out." : "The server reads references: leave ENCRYPTED out.")
        }
        return FieldShape(type, isEncrypted: isEncrypted)
    }

    private static let elementTypes = ["ASSET", "BYTES", "DOUBLE", "INT64", "LOCATION", "NUMBER", "REFERENCE", "STRING", "TIMESTAMP"]

    private mutating func readOptions(of field: String, _ shape: FieldShape) throws(ServerError) -> IndexOptions {
        var options: IndexOptions = []
        while next.kind == .word {
            guard let option = IndexOptions(names: [next.text.uppercased()]) else {
                throw unexpected(["\"QUERYABLE\"", "\"SEARCHABLE\"", "\"SORTABLE\"", "\",\"", "\")\""])
            }
            guard options.insert(option).inserted else {
                throw .schemaSyntax("Field '\(field)' is \(next.text) twice", at: next.position, remedy: "Write each option once.")
            }
            guard IndexOptions.possible(for: shape).contains(option) else {
                throw located(.impossibleIndexes(option, of: field, shape: shape), at: next.position)
            }
            try advance()
        }
        return options
    }

    // MARK: Tokens

    private mutating func advance() throws(ServerError) {
        next = try tokens.next()
    }

    private mutating func readName(remedy: String = Self.remedy) throws(ServerError) -> Token {
        guard next.kind == .word || (next.kind == .quoted && !next.text.isEmpty) else { throw unexpected(["<IDENTIFIER>"], remedy: remedy) }
        let name = next
        try advance()
        return name
    }

    /// Reads a keyword or a sign that must come next.
    private mutating func skip(_ text: String, or others: [String] = []) throws(ServerError) {
        guard next.isKeyword(text) || next.isSign(text) else { throw unexpected(["\"\(text)\""] + others) }
        try advance()
    }

    private mutating func skipKeyword(_ keyword: String) throws(ServerError) -> Bool {
        guard next.isKeyword(keyword) else { return false }
        try advance()
        return true
    }

    private mutating func skipSign(_ sign: String) throws(ServerError) -> Bool {
        guard next.isSign(sign) else { return false }
        try advance()
        return true
    }

    // MARK: Faults

    private static let remedy = "See CloudKit's schema language; nacre schema export prints a schema that reads."

    private func unexpected(_ expected: [String], remedy: String = Self.remedy) -> ServerError {
        .schemaSyntax("Encountered \(next.shown)", at: next.position, expecting: expected, remedy: remedy)
    }

    /// Returns a fault of a name with the position of the name.
    private func located(_ fault: ServerError, at position: SchemaTokens.Position) -> ServerError {
        .schemaSyntax(fault.reason, at: position, remedy: fault.remedy ?? "Correct it there.")
    }
}
