import NacreCloudContainer
package import NacreCloudWire

/// Reads a schema's text without a server.
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
    /// Returns the records of a schema as types of TypeScript.
    /// - Parameters:
    ///   - text: The schema, in CloudKit's schema language.
    ///   - module: The module with the declarations of CloudKit JS.
    package static func typeScript(of text: String, module: String) throws(ServerError) -> String {
        SchemaTypeScript(try SchemaText.schema(from: text), module: module).text
    }
}
