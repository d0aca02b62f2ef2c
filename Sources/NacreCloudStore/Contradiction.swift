package import NacreCloudContainer

extension StoreError {
    /// A plan that cannot be true of what is kept, such as a place in the feed for a zone that is not there: its maker's mistake or a damaged
    /// store. Nothing of the transaction stays, and trying again would not help.
    package static func contradiction(_ what: String, _ values: [String: String] = [:]) -> StoreError {
        StoreError(.corrupt, "The plan contradicts what is kept", values.merging(["what": what]) { _, new in new })
    }

    /// A plan makes a row that is there already, because another transaction made it since this one looked.
    package static func collision(_ what: String, _ values: [String: String] = [:]) -> StoreError {
        StoreError(.collision, "Another transaction made the same row", values.merging(["what": what]) { _, new in new })
    }
}
