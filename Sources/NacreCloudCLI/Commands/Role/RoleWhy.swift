import NacreCloudServer

/// `nacre role why`
enum RoleWhy {
    private static let operation = Option.required(
        "operation", "op", oneOf: ["READ", "CREATE", "WRITE"], "What is to be done; WRITE is also to delete.")
    private static let record = Option.value("record", "name", "The record, by its name in the public database.")
    private static let type = Option.value("type", "type", "With CREATE: the type of the record to be made.")

    static let command = Command(
        "why", "Say whether somebody may do something in a public database, and why.",
        discussion: """
            Without --user and --key it is somebody who has no account. It ends with 2 where it is not permitted. In private databases there are no \
            roles: they are their owners' alone.
            """,
        options: [
            SharedOptions.container, SharedOptions.environment, RoleHolderOptions.user, RoleHolderOptions.key, operation, record, type,
        ] + AdminServer.options + [SharedOptions.json]
    ) { call in
        try RoleHolderOptions.requireOne(call)
        let wanted = try call.require(operation)
        if !call.isGiven(record), wanted != "CREATE" || !call.isGiven(type) {
            throw UsageError(.missingOption((wanted == "CREATE" ? type : record).spelling), path: call.path)
        }
        let asked = AdminMessages.NewPermissionQuestion(
            container: try call.require(SharedOptions.container), environment: try call.require(SharedOptions.environment),
            user: call.value(RoleHolderOptions.user), key: call.value(RoleHolderOptions.key), operation: wanted, record: call.value(record),
            recordType: call.value(type))
        let found = try await AdminClient.connect(call).explain(asked)
        if call.has(SharedOptions.json) {
            try Output.json(found)
        } else {
            for line in found.lines(wanted) { try Output.data(line) }
        }
        if !found.isPermitted { throw CommandFailure(.damaged, "\(wanted) is not permitted") }
    }
}

extension AdminMessages.PermissionAnswer {
    fileprivate func lines(_ operation: String) -> [String] {
        let who = user ?? "somebody without an account"
        let granted = grantedTo.isEmpty ? "to no role" : "to \(grantedTo.joined(separator: ", "))"
        let mightElsewhere = isAdministrator || roles.contains(where: grantedTo.contains)
        let refusal = mightElsewhere ? "nobody makes records of the type \(recordType) here" : "\(who) has none of the roles that may"
        var lines = [
            isPermitted ? "yes: \(reason)" : "no: \(refusal)",
            "type \(recordType) grants \(operation) \(granted)", "\(who) has the roles \(roles.joined(separator: ", "))",
        ]
        if let creator { lines.append("the record was made by \(creator)") }
        // A grant to _world allows reading to all, and more only to signed-in users.
        if !isPermitted, user == nil, grantedTo.contains("_world") { lines.append("who is not signed in may read, and do nothing else") }
        return lines
    }

    private var reason: String {
        if isAdministrator { return "the key is an administrator's, and no grant holds it" }
        return because.count == 1 ? "the role \(because[0]) may" : "the roles \(because.joined(separator: ", ")) may"
    }
}
