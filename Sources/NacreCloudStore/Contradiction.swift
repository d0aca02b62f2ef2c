package import NacreCloudContainer

extension StoreError {
    /// A plan that cannot be true of what is kept (a record said to be new that is there, a place for a zone that is not): its maker's
    /// mistake or a damaged store. Nothing of the transaction stays, and trying again would not help.
    package static func contradiction(_ what: String, _ values: [String: String] = [:]) -> StoreError {
        StoreError(.corrupt, "The plan contradicts what is kept", values.merging(["what": what]) { _, new in new })
    }
}
