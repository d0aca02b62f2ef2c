import NacreCloudContainer
import NacreCloudWire

/// Checks all assets of a cloud in parts, for the admin API and for a data folder that no server uses.
package struct AssetReviewing: Sendable {
    let cloud: Cloud

    /// Bytes of files that one part reads, approximately. On this server: a second of a disk.
    private static let partBytes: Int64 = 64 << 20
    /// Steps of one part at most, because many databases have no assets.
    private static let partSteps = 200

    package func verify(_ asked: AdminMessages.NewAssetVerification) async throws -> AdminMessages.AssetReview {
        var part = AdminMessages.AssetReview()
        if asked.onlySizes == true {
            guard case .part(let number) = try Self.cursor(asked.after) ?? .firstPart else { throw Self.unknownPlace }
            part.add(AdminMessages.AssetReview(try await cloud.checkAssets(in: number)))
            return part
        }
        var cursor: AssetCursor? = try Self.cursor(asked.after) ?? .start
        for _ in 0..<Self.partSteps {
            guard let here = cursor, part.bytes < Self.partBytes else { break }
            let slice = try await cloud.verifyAssets(from: here)
            part.add(AdminMessages.AssetReview(slice))
            cursor = slice.next
        }
        return part
    }

    package func collect(_ asked: AdminMessages.NewAssetCollection) async throws -> AdminMessages.AssetReview {
        guard case .part(let number) = try Self.cursor(asked.after) ?? .firstPart else { throw Self.unknownPlace }
        return AdminMessages.AssetReview(try await cloud.collectAssets(in: number, removes: !asked.isDryRun))
    }

    private static func cursor(_ text: String?) throws -> AssetCursor? {
        guard let text else { return nil }
        guard let cursor = AssetCursor(text: text) else { throw unknownPlace }
        return cursor
    }

    private static let unknownPlace = ServerError(
        .badRequest, "unknown place", field: "after", remedy: "Send next as it was given, or leave it out to begin.")
}
