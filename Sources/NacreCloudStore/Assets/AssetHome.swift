import Glibc
package import NacreCloudStorage

/// The place of the chunks of a data folder's assets: the folder itself, or a bucket that one of its files names. The
/// file keeps starts and commands from using the wrong place. Calls block for a moment.
package struct AssetHome: Sendable {
    private let folder: String

    package init(folder: String) { self.folder = folder }

    /// The folder of chunks.
    package var files: String { folder + "/assets" }
    private var note: String { folder + "/assets-bucket" }

    /// - Throws: `StoreError.inUse` if the chunks are in a bucket.
    package func requireFiles() throws(StoreError) {
        guard let url = try noted else { return }
        throw StoreError(
            .inUse, "The files of assets are in a bucket",
            [
                "bucket": url,
                "remedy": "ask the running server, or start it with --assets '\(url)'; "
                    + "to keep them in the folder, copy all objects into \(files) and remove \(note)",
            ])
    }

    /// Opens the folder of chunks, and creates it for data without any.
    /// - Throws: `StoreError` if the chunks are in a bucket, or if the folder is missing although the store names
    ///   chunks.
    package func open(over store: any Store) async throws -> AssetFiles {
        try requireFiles()
        if access(files, F_OK) != 0, errno == ENOENT, try await store.namesChunks() {
            throw StoreError(
                .unavailable, "The files of assets are missing",
                [
                    "folder": files,
                    "remedy": "put the folder assets that belongs to these data there; to go on without those files, make an empty folder "
                        + "of this name, and nacre check says which are lost",
                ])
        }
        return try await AssetFiles.open(folder: files)
    }

    /// Whether the server's assets may begin in this bucket, because they are in no place yet.
    /// - Returns: false if they are in a bucket already. This bucket is the right one only if it has them.
    /// - Throws: `StoreError.inUse` if the chunks are in the folder.
    package func mayBegin(_ bucket: AssetBucket) throws(StoreError) -> Bool {
        for part in try FileCall.names(in: files) where part.utf8.count == 2 {
            guard try FileCall.names(in: "\(files)/\(part)").isEmpty else {
                throw StoreError(
                    .inUse, "The files of assets are in the data folder",
                    [
                        "folder": files,
                        "remedy": "copy what is in it to the bucket under the same names, such as with rclone copy, and move the folder away: "
                            + "s3://\(bucket.name)/\(bucket.prefix)",
                    ])
            }
        }
        return try noted == nil
    }

    /// Notes the bucket, which is required from then on.
    package func note(_ bucket: AssetBucket) throws(StoreError) {
        guard try noted != bucket.url else { return }
        try FileCall.write(Array(bucket.url.utf8), to: note + ".part")
        try FileCall.move(note + ".part", to: note)
        try FileCall.sync(folder: folder)
    }

    private var noted: String? {
        get throws(StoreError) { try FileCall.contents(note, bytesMax: 4096).map { String(decoding: $0, as: UTF8.self) } }
    }
}
