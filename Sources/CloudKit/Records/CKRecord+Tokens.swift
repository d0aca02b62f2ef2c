import NacreCloudWire

extension CKRecord {
    /// The words of all text fields, without case and diacritics, each once, for matching text on this device: the words by which
    /// the server finds the record.
    public func allTokens() -> [String] {
        var seen: Set<String> = []
        return snapshot.fields.entries.flatMap { $0.value.texts }.flatMap(Words.of).filter { seen.insert($0).inserted }
    }
}
