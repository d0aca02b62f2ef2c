import NacreCloudStorage
import NacreLocks

/// The connections of an open store. A store that was opened read-only can get its writing connections later.
final class OpenConnections: Sendable {
    /// The connection that writes, and the run of its changes.
    struct Writer: Sendable {
        let connection: Connection
        let run: OpenRun
    }

    private struct Writing: Sendable {
        let writer: Writer
        let checkpointer: Connection
    }

    let file: DatabaseFile
    private let writing = Locked<Writing?>(nil)
    /// The readers' connections: one for each reader's thread, then one for `readAtOnce`. A read holds its lock, so
    /// that no read is between two connections when they are exchanged or closed. nil: closed.
    private let readers: [Locked<Connection?>]
    private let watches: LogReaders
    private let drawRun: @Sendable (Int64) -> Int64
    private let packing: PackingBound
    /// The reason why only reads are served; nil while all is well.
    let refusal: StoreError?

    /// Opens the file, and creates or migrates it. If it cannot be written now, opens it read-only.
    init(_ file: DatabaseFile, _ watches: LogReaders, drawRun: @escaping @Sendable (Int64) -> Int64, packing: PackingBound) throws {
        self.file = file
        self.watches = watches
        self.drawRun = drawRun
        self.packing = packing
        try RunFile(file).check(against: file.runWithoutLog)
        do {
            try FolderLock.makeFile(file.path)
            let (writing, readers) = try Self.connect(file, watches, drawRun, packing)
            self.readers = readers.map { Locked($0) }
            self.writing.withLock { $0 = writing }
            refusal = nil
        } catch let error {
            let reason = file.whyNotWritable(StoreError(error))
            guard reason.code == .full || reason.code == .readOnly else { throw error }
            self.readers = try Self.each { try file.connectImmutable(because: reason) }.map { Locked($0) }
            refusal = reason
        }
        for (index, reader) in self.readers.enumerated() { reader.withLock { $0?.obey(watches[index]) } }
    }

    private static func each(_ connect: () throws -> Connection) throws -> [Connection] {
        var made: [Connection] = []
        do {
            for _ in 0...SQLiteLimits.readers { made.append(try connect()) }
            return made
        } catch {
            for connection in made { connection.close() }
            throw error
        }
    }

    private static func connect(
        _ file: DatabaseFile, _ watches: LogReaders, _ drawRun: (Int64) -> Int64, _ packing: PackingBound
    ) throws -> (Writing, [Connection]) {
        let writer = try file.connect(cacheKibibytes: SQLiteLimits.writerCacheKibibytes)
        var checkpointer: Connection?
        do {
            try file.prepare(writer)
            let run = try OpenRun(beside: RunFile(file), on: writer, draw: drawRun)
            writer.packing.begin(packing, on: writer)
            writer.watchLog { watches.wrote(pages: $0) }
            // No busy timeout: a checkpoint that waited for readers would hold off the writer.
            let other = try file.connect(cacheKibibytes: SQLiteLimits.checkpointerCacheKibibytes, busyTimeoutMilliseconds: 0)
            checkpointer = other
            let readers = try each {
                let reader = try file.connect(cacheKibibytes: SQLiteLimits.readerCacheKibibytes)
                do {
                    try reader.execute("PRAGMA query_only = ON")
                    return reader
                } catch {
                    reader.close()
                    throw error
                }
            }
            return (Writing(writer: Writer(connection: writer, run: run), checkpointer: other), readers)
        } catch {
            checkpointer?.close()
            writer.close()
            throw error
        }
    }

    /// Runs a read on the connection of the `index`-th reader.
    func read(_ index: Int, _ request: any PendingRead) {
        readers[index].withLock { connection in
            // The connection is closed only after the last request.
            guard let connection else { return }
            request.serve(on: connection, atPage: watches.pagesWritten)
        }
    }

    /// Runs a small read on the calling thread. Returns nil if another one is under way, or `Connection.readAtOnce`
    /// returns nil.
    func readAtOnce<Value: Sendable>(_ body: (any ReadTransaction) throws -> Value) -> Result<Value, any Error>? {
        // A separate connection: otherwise a reader's thread would wait for this caller.
        let outcome = readers[SQLiteLimits.readers].withLockIfAvailable { $0?.readAtOnce(body) }
        return outcome ?? nil
    }

    /// The connection that writes; nil while only reads are served.
    var writer: Writer? { writing.withLock { $0?.writer } }

    /// The connection that copies the log; nil while only reads are served.
    var checkpointer: Connection? { writing.withLock { $0?.checkpointer } }

    /// Opens the file for writing after a read-only start. Returns when all readers have new connections.
    func becomeWritable() throws -> Writer {
        let (writing, fresh) = try Self.connect(file, watches, drawRun, packing)
        for (index, reader) in fresh.enumerated() {
            reader.obey(watches[index])
            readers[index].withLock { connection in
                connection?.close()
                connection = reader
            }
        }
        self.writing.withLock { $0 = writing }
        return writing.writer
    }

    /// Closes all connections, the writer's last. Call it when no read or write is under way.
    func close(isLogEmpty: Bool) {
        for reader in readers {
            reader.withLock { connection in
                connection?.close()
                connection = nil
            }
        }
        checkpointer?.close()
        writer?.connection.close()
        // The run file is not needed any more, because the database file itself has the run.
        if isLogEmpty { try? RunFile(file).remove() }
    }
}
