package import NacreCloudAccounts
import NacreCloudWire
import NacreEncryptionForms

/// The most bytes that a file may have, before it is sealed.
package struct AssetSizes: Hashable, Sendable {
    /// The limit of a web client, or of one with a server-to-server key.
    package var web = Limits.webAssetBytes
    /// The limit of the framework.
    package var native = Limits.nativeAssetBytes

    package init() {}

    /// The most bytes of a body: those of the largest file, sealed.
    package var largestBody: Int { FileChunks.sealedCount(ofFile: max(web, native)) }
    package func largest(for client: Caller.Client) -> Int { client == .framework ? native : web }
}
