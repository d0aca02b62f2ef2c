import NacreCloudWire

extension CKRecord {
    /// Returns the distinct words of all text fields, without case and diacritics, for matching text on this device.
    /// The server finds the record by the same words.
    public func allTokens() -> [String] {
        var seen: Set<String> = []
        return snapshot.fields.entries.flatMap { $0.value.texts }.flatMap(Words.of).filter { seen.insert($0).inserted }
    }
}
