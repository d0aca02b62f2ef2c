import NacreCloudWire

/// The type of shares in a schema. CloudKit: it comes with the first share saved in development, or with an import, and
/// stays. Production gets it by a deployment.
enum ShareType {
    package static let name = ShareNames.recordType

    package static let definition = RecordTypeDefinition(
        name: name,
        fields: [
            "cloudkit.thumbnailImageData": FieldDefinition(type: .bytes), "cloudkit.title": FieldDefinition(type: .string),
            "cloudkit.type": FieldDefinition(type: .string),
        ])
}
