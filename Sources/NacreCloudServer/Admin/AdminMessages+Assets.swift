import NacreCloudContainer

extension AdminMessages {
    /// `POST /admin/1/assets/content`: the file in a field of a record.
    package struct NewAssetContent: Codable, Hashable, Sendable {
        package var container: String
        package var environment: String
        /// public, private or shared.
        package var database: String
        /// The user whose private or shared database it is: an e-mail address or a user record name.
        package var user: String?
        /// nil: the default zone.
        package var zone: String?
        /// The owner of a zone that is shared with the user, by user record name.
        package var owner: String?
        package var record: String
        package var field: String
        /// The file's place in a list of files, from 0 on; nil: the first one.
        package var index: Int?

        package init(
            container: String, environment: String, database: String, user: String?, zone: String?, owner: String?, record: String, field: String,
            index: Int?
        ) {
            (self.container, self.environment, self.database, self.user) = (container, environment, database, user)
            (self.zone, self.owner, self.record, self.field, self.index) = (zone, owner, record, field, index)
        }
    }

    /// `POST /admin/1/assets/verify`: the next part of a check of all assets.
    package struct NewAssetVerification: Codable, Hashable, Sendable {
        /// The `next` of the previous part; nil for the first.
        package var after: String?
        /// true: compares names and sizes of chunks with those in the storage, and reads no chunk. Orphaned chunks are
        /// not reported then.
        package var onlySizes: Bool?

        package init(after: String?, onlySizes: Bool? = nil) {
            self.after = after
            self.onlySizes = onlySizes
        }
    }

    /// `POST /admin/1/assets/collect`: the next part of a search for orphaned chunks.
    package struct NewAssetCollection: Codable, Hashable, Sendable {
        /// true: reports the chunks, and removes none.
        package var isDryRun: Bool
        /// The `next` of the previous part; nil for the first.
        package var after: String?

        package init(isDryRun: Bool, after: String?) {
            self.isDryRun = isDryRun
            self.after = after
        }
    }

    /// A fault of an asset, present or repaired.
    package struct AssetFinding: Codable, Hashable, Sendable {
        package enum Kind: String, Codable, Hashable, Sendable, CaseIterable {
            /// A chunk, or the bytes of a small asset, differ from what was sent.
            case damaged
            case missing
            /// A chunk that belongs to no asset.
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
        /// `container/environment/scope/owner`; empty for an orphan.
        package var database: String
        package var zone: String
        package var record: String
        package var field: String
        package var chunk: String
        package var bytes: Int64
    }

    package struct AssetReview: Codable, Hashable, Sendable {
        package var findings: [AssetFinding] = []
        /// The number of assets that were checked.
        package var assets = 0
        package var chunks = 0
        package var bytes: Int64 = 0
        /// The position of the next part; nil after the last.
        package var next: String?

        package init() {}

        /// Appends the next part of the check.
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
