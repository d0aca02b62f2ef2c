/// Options that several commands take, spelled alike.
enum SharedOptions {
    static let json = Option.flag("json", "Print one JSON object.")

    static let yes = Option.flag("yes", "Do it without asking.")

    static let data = Option.value("data", "dir", fallback: "./nacre-data", "The data folder of the server.")

    static let container = Option.required("container", "name", "The container, such as iCloud.com.example.Notes.")

    static let environment = Option.required("environment", "env", oneOf: ["development", "production"], "The environment of the container.")

    static let passwordFromInput = Option.flag("password-stdin", isRequired: true, "Read the password from standard input, up to its end.")
}
