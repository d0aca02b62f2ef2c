/// The version of everything that is built together: server, command line and framework.
package enum ServerVersion {
    /// As in CHANGELOG.md; Semantic Versioning.
    package static let current: String = "0.1.0"
}
