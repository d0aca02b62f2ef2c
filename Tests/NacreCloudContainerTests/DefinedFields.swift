import NacreCloudTestSupport
import NacreCloudWire

@testable import NacreCloudContainer

extension TestCloudUser {
    /// Lets `Note` have these fields before anybody saves one, and its cloud know of it: a save that brings a field is more than one transaction.
    func define(_ fields: [String: FieldType]) async throws {
        var additions = SchemaAdditions()
        additions.add(fields.mapValues { FieldShape($0) }, to: "Note")
        try await cloud.registry.changeSchema(of: target.container, target.environment) { [additions] in $0.add(additions) }
        _ = try await cloud.registry.schema(of: target.container, target.environment)
    }
}
