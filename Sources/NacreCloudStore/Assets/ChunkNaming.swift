import NacreCloudStorage
import NacreCrypto

/// Names chunks and files under the key of their database. A name is a keyed code of the content, so it does not tell
/// one user what another one keeps.
enum ChunkNaming {
    /// Returns the key of a database, derived from the server's key.
    static func key(of database: DatabaseID, _ serverKey: [UInt8]) -> [UInt8] {
        HMACSHA256.code(for: database.chunkKeyMessage, key: serverKey)
    }

    static func name(of bytes: [UInt8], under key: [UInt8]) -> ChunkName {
        name(ofDigest: SHA256.digest(bytes), under: key)
    }

    static func name(ofDigest digest: [UInt8], under key: [UInt8]) -> ChunkName {
        ChunkName(HMACSHA256.code(for: digest, key: key))
    }

    /// Returns 20 bytes that tell a file from others.
    static func checksum(of chunks: [AssetChunk], under key: [UInt8]) -> [UInt8] {
        Array(HMACSHA256.code(for: chunks.flatMap { $0.name.bytes + "\($0.size);".utf8 }, key: key).prefix(20))
    }

    /// - Throws: `StoreError.corrupt` if the bytes are not those of the chunk.
    static func verify(_ bytes: [UInt8], are chunk: AssetChunk, under key: [UInt8]) throws(StoreError) {
        guard bytes.count == chunk.size, name(of: bytes, under: key) == chunk.name else {
            throw StoreError(.corrupt, "A chunk of an asset is not what was kept", ["chunk": chunk.name.text])
        }
    }
}

/// The largest file that is kept in a row, in bytes. A thumbnail then costs no file, no directory entry and no sync of
/// its own. On this server: eight pages of the database. Above, a file is read faster than the pages of a row.
let inlineAssetBytesMax = 32 * 1024
