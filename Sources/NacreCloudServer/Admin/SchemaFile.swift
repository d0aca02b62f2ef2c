import NacreCloudContainer
package import NacreCloudWire

/// A schema's text, without a server.
package enum SchemaFile {
    /// Why no container can import it: what is wrong with the text, or missing from it. nil where there is nothing.
    package static func fault(in text: String) -> ServerError? {
        do {
            try SchemaText.schema(from: text).requireManagedTypes()
            return nil
        } catch {
            return error
        }
    }
}
