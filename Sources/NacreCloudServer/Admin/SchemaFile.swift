import NacreCloudContainer
package import NacreCloudWire

/// Checks a schema's text without a server.
package enum SchemaFile {
    /// The error that an import of the text would fail with in any container: a fault in the text, or a missing part.
    /// nil if there is none.
    package static func fault(in text: String) -> ServerError? {
        do {
            try SchemaText.schema(from: text).requireManagedTypes()
            return nil
        } catch {
            return error
        }
    }
}
