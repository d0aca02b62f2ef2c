package import NacreCloudAccounts
import NacreCloudWire

/// The most bytes that a file may have.
package struct AssetSizes: Hashable, Sendable {
    /// The limit of a web client, or of one with a server-to-server key.
    package var web = Limits.webAssetBytes
    /// The limit of the framework.
    package var native = Limits.nativeAssetBytes

    package init() {}

    package var largest: Int { max(web, native) }
    package func largest(for client: Caller.Client) -> Int { client == .framework ? native : web }
}
