import NacreCloudServer

/// Options of commands about the file of one record.
private enum AssetOptions {
    static let database = Option.required("database", "db", oneOf: ["public", "private", "shared"], "The database.")
    static let zone = Option.value("zone", "name", "The record's zone. By default the default zone.")
}

/// `nacre assets download`
enum AssetsDownload {
    private static let record = Argument("record", "The record, by its name.")
    private static let field = Argument("field", "The field that has the file.")
    private static let user = Option.value("user", "user", "Whose private or shared database: an e-mail address or a user record name.")
    private static let index = Option.value("index", "number", "The file's place in a list of files, from 0 on.")
    private static let outputFile = Option.required("output-file", "file", "Write the file here, in place of one that is there.")

    static let command = Command(
        "download", "Fetch the file of any record as an administrator.",
        discussion: "You ask past all grants, and the audit log has each request. The file has its name once it is whole.",
        arguments: [record, field],
        options: [
            SharedOptions.container, SharedOptions.environment, AssetOptions.database, user, AssetOptions.zone, UserDatabase.owner, index, outputFile,
        ] + AdminServer.options
    ) { call in
        let place = try call.value(index).map { text in
            guard let number = Int(text), number >= 0 else {
                throw UsageError(.invalid("--\(index.name)", "give a number from 0 on"), path: call.path)
            }
            return number
        }
        let asked = AdminMessages.NewAssetContent(
            container: try call.require(SharedOptions.container), environment: try call.require(SharedOptions.environment),
            database: try call.require(AssetOptions.database), user: call.value(user), zone: call.value(AssetOptions.zone),
            owner: call.value(UserDatabase.owner), record: try call.require(record), field: try call.require(field, at: 1), index: place)
        try await AdminClient.connect(call).download(asked, into: try call.require(outputFile))
    }
}

/// `nacre assets upload`
enum AssetsUpload {
    private static let file = Argument("file", "The file.")
    private static let user = Option.required(
        "user", "user", "In whose name, and whose private or shared database: an e-mail address or a user record name.")
    private static let record = Option.value("record", "name", "The record. By default the first that is saved with the file.")
    private static let type = Option.required("type", "type", "The type of the record.")
    private static let field = Option.required("field", "name", "The field.")

    static let command = Command(
        "upload", "Send a file for a field of any record as an administrator.",
        discussion: """
            Prints the answer of the upload. Its singleFile is the value that nacre database ask saves into the field with records/modify, in the name of \
            the same user. A file that no record has is kept for a day.
            """,
        arguments: [file],
        options: [
            SharedOptions.container, SharedOptions.environment, AssetOptions.database, user, AssetOptions.zone, UserDatabase.owner, record, type,
            field,
        ] + AdminServer.options
    ) { call in
        let query: [(name: String, value: String?)] = [
            ("container", try call.require(SharedOptions.container)), ("environment", try call.require(SharedOptions.environment)),
            ("database", try call.require(AssetOptions.database)), ("user", try call.require(user)), ("zone", call.value(AssetOptions.zone)),
            ("owner", call.value(UserDatabase.owner)), ("record", call.value(record)), ("recordType", try call.require(type)),
            ("field", try call.require(field)),
        ]
        try Output.data(try await AdminClient.connect(call).upload(try call.require(file), query).answer)
    }
}
