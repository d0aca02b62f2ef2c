/// The common version of the server, the command line and the framework.
package enum ServerVersion {
    /// The version as in CHANGELOG.md, by Semantic Versioning.
    package static let current: String = "0.1.0"
}
