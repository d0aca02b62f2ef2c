import NacreCloudServer
import NacreCloudWire

/// `nacre query`
enum QueryCommands {
    static let command = Command("query", "Look into queries.", subcommands: [QueryExplain.command])
}

/// `nacre query explain`
enum QueryExplain {
    private static let request = Argument("request", "The JSON of a records/query, in place of --type.", isRequired: false)
    private static let database = Option.required("database", "db", oneOf: ["public", "private", "shared"], "The database.")
    private static let user = Option.value("user", "user", "Whose private or shared database: an e-mail address or a user record name.")
    private static let type = Option.value("type", "type", "The record type.")
    private static let filter = Option.value("filter", "filter", "A condition, such as 'stars >= 3'; several must all hold.")
    private static let sort = Option.value("sort", "sort", "A key of the order, such as 'title DESC'; the first counts most.")
    private static let zone = Option.value("zone", "name", "The zone, where it is not the default one.")
    private static let zoneWide = Option.flag("zone-wide", "Ask all zones.")

    static let command = Command(
        "explain", "Show how the server finds what a query asks for.",
        discussion: """
            Runs the first page of the query and prints its plan. A filter is FIELD OPERATOR VALUE: the operator is = != < <= > >= or one of \
            CloudKit's comparators, the value JSON or plain text; a value of a type that JSON does not tell is written as \
            {"value": 1700000000000, "type": "TIMESTAMP"}. NEAR takes LATITUDE,LONGITUDE,METRES, and a search for words * as its field.
            """,
        arguments: [request],
        options: [SharedOptions.container, SharedOptions.environment, database, user, type, filter, sort, zone, UserDatabase.owner, zoneWide]
            + AdminServer.options + [SharedOptions.json]
    ) { call in
        let asked = AdminMessages.NewExplanation(
            container: try call.require(SharedOptions.container), environment: try call.require(SharedOptions.environment),
            database: try call.require(database), user: call.value(user), request: try json(call))
        let explanation = try await AdminClient.connect(call).explain(asked)
        if call.has(SharedOptions.json) { return try Output.json(explanation) }
        for line in explanation.lines { try Output.data(line) }
    }

    private static func json(_ call: Call) throws -> String {
        guard let body = call.arguments.first else { return String(decoding: try composed(call).json(), as: UTF8.self) }
        if let option = [type, filter, sort, zone, UserDatabase.owner, zoneWide].first(where: call.isGiven) {
            throw UsageError(.exclusive("<\(request.name)>", "--\(option.name)"), path: call.path)
        }
        return body
    }

    private static func composed(_ call: Call) throws -> RecordsQueryRequest {
        let query = Query(
            recordType: try call.require(type), filters: try QueryText.filters(of: call, filter), sorts: try QueryText.sorts(of: call, sort))
        let zoneID = call.value(zone).map { ZoneID(zoneName: $0, ownerRecordName: call.value(UserDatabase.owner)) }
        return RecordsQueryRequest(query: query, zoneID: zoneID, zoneWide: call.has(zoneWide))
    }
}
