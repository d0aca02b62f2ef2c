import NacreCloudWire

/// The type of shares, as a schema has it. CloudKit: it comes with the first share that is saved in development, or with an import, and stays; what is
/// CloudKit's own of it is there whether a text says so or not. This server keeps no shares yet, and keeps the type of those who bring it.
enum ShareType {
    /// CloudKit: `CKRecord.SystemType.share`.
    static let name = "cloudkit.share"

    static let definition = RecordTypeDefinition(
        name: name,
        fields: [
            "cloudkit.thumbnailImageData": FieldDefinition(type: .bytes), "cloudkit.title": FieldDefinition(type: .string),
            "cloudkit.type": FieldDefinition(type: .string),
        ])
}
