package import NacreCloudStorage

extension StoreError {
    /// The error of a plan that cannot be true of the stored data, for example a position in the feed for a missing
    /// zone. Either its maker is wrong, or the store is damaged. Nothing of the transaction stays, and a retry would
    /// not help.
    package static func contradiction(_ what: String, _ values: [String: String] = [:]) -> StoreError {
        StoreError(.corrupt, "The plan contradicts what is kept", values.merging(["what": what]) { _, new in new })
    }

    /// The error of a plan that makes an existing row, because another transaction made it after this one looked.
    package static func collision(_ what: String, _ values: [String: String] = [:]) -> StoreError {
        StoreError(.collision, "Another transaction made the same row", values.merging(["what": what]) { _, new in new })
    }
}
