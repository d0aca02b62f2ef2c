import NacreCloudWire

/// The type of shares, as a schema has it. CloudKit: it comes with the first share that is saved in development, or with an import, and stays; what is
/// CloudKit's own of it is there whether a text says so or not. On this server: in production too, so that a share needs no deployment.
enum ShareType {
    static let name = ShareNames.recordType

    static let definition = RecordTypeDefinition(
        name: name,
        fields: [
            "cloudkit.thumbnailImageData": FieldDefinition(type: .bytes), "cloudkit.title": FieldDefinition(type: .string),
            "cloudkit.type": FieldDefinition(type: .string),
        ])
}
