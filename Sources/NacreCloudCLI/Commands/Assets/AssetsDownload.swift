import NacreCloudServer

/// `nacre assets download`
enum AssetsDownload {
    private static let record = Argument("record", "The record, by its name.")
    private static let field = Argument("field", "The field that has the file.")
    private static let database = Option.required("database", "db", oneOf: ["public", "private", "shared"], "The database.")
    private static let user = Option.value("user", "user", "Whose private or shared database: an e-mail address or a user record name.")
    private static let zone = Option.value("zone", "name", "The record's zone. By default the default zone.")
    private static let index = Option.value("index", "number", "The file's place in a list of files, from 0 on.")
    private static let outputFile = Option.required("output-file", "file", "Write the file here, in place of one that is there.")

    static let command = Command(
        "download", "Fetch the file of any record as an administrator.",
        discussion: "You ask past all grants, and the audit log has each request. The file has its name once it is whole.",
        arguments: [record, field],
        options: [SharedOptions.container, SharedOptions.environment, database, user, zone, UserDatabase.owner, index, outputFile]
            + AdminServer.options
    ) { call in
        let place = try call.value(index).map { text in
            guard let number = Int(text), number >= 0 else { throw UsageError(.invalid("--\(index.name)", "give a number from 0 on"), path: call.path) }
            return number
        }
        let asked = AdminMessages.NewAssetContent(
            container: try call.require(SharedOptions.container), environment: try call.require(SharedOptions.environment),
            database: try call.require(database), user: call.value(user), zone: call.value(zone), owner: call.value(UserDatabase.owner),
            record: try call.require(record), field: try call.require(field, at: 1), index: place)
        try await AdminClient.connect(call).download(asked, into: try call.require(outputFile))
    }
}
