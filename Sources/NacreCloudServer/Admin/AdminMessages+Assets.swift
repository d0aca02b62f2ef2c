import NacreCloudContainer

extension AdminMessages {
    /// `POST /admin/1/assets/verify`: the next part of a look at all assets.
    package struct NewAssetVerification: Codable, Hashable, Sendable {
        /// `next` of the part before; nil: from the beginning.
        package var after: String?
        /// Holds names and sizes of chunks against what is kept, and reads none. Nothing is said of chunks that no asset has.
        package var onlySizes: Bool?

        package init(after: String?, onlySizes: Bool? = nil) {
            self.after = after
            self.onlySizes = onlySizes
        }
    }

    /// `POST /admin/1/assets/collect`: the next part of a search for chunks that no asset has.
    package struct NewAssetCollection: Codable, Hashable, Sendable {
        /// Says what would go.
        package var isDryRun: Bool
        /// `next` of the part before; nil: from the beginning.
        package var after: String?

        package init(isDryRun: Bool, after: String?) {
            self.isDryRun = isDryRun
            self.after = after
        }
    }

    /// Something that is wrong, or that was.
    package struct AssetFinding: Codable, Hashable, Sendable {
        package enum Kind: String, Codable, Hashable, Sendable, CaseIterable {
            /// A chunk, or the bytes of a small asset, are not what was sent.
            case damaged
            case missing
            /// A chunk that no asset has.
            case orphaned

            init(_ kind: NacreCloudContainer.AssetFinding.Kind) {
                switch kind {
                case .damaged: self = .damaged
                case .missing: self = .missing
                case .orphaned: self = .orphaned
                }
            }
        }

        package var kind: Kind
        /// `container/environment/scope/owner`; empty of an orphan.
        package var database: String
        package var zone: String
        package var record: String
        package var field: String
        package var chunk: String
        package var bytes: Int64
    }

    package struct AssetReview: Codable, Hashable, Sendable {
        package var findings: [AssetFinding] = []
        /// Looked at.
        package var assets = 0
        package var chunks = 0
        package var bytes: Int64 = 0
        /// Present while there is more.
        package var next: String?

        package init() {}

        /// Takes another part in behind it.
        package mutating func add(_ part: AssetReview) {
            findings += part.findings
            assets += part.assets
            chunks += part.chunks
            bytes += part.bytes
            next = part.next
        }

        init(_ slice: AssetSlice) {
            findings = slice.findings.map {
                AssetFinding(
                    kind: .init($0.kind), database: $0.database, zone: $0.zone, record: $0.record, field: $0.field, chunk: $0.chunk, bytes: $0.bytes)
            }
            (assets, chunks, bytes, next) = (slice.assets, slice.chunks, slice.bytes, slice.next?.text)
        }
    }
}
