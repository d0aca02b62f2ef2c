/// Names the credential that authorized an administrator's action, for people.
enum AuthorText {
    /// Returns `token ID NAME` for a management token, and `console ID NAME` for a session of the console.
    /// - Parameter author: the author as the admin API tells it, which names the kind of sessions alone.
    static func of(_ author: String) -> String { author.hasPrefix("console ") ? author : "token \(author)" }
}
