import NacreCloudContainer
import NacreLocks

/// The connections of an open store. Opened for reading alone it can later be given those that write.
final class OpenConnections: Sendable {
    /// The connection that writes, and the run that it writes in.
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
    /// One of each reader's thread, and behind them one for who reads at once. Who reads holds it meanwhile, so that nobody is between two connections
    /// when they are exchanged or closed; nil: they are closed.
    private let readers: [Locked<Connection?>]
    private let watches: LogReaders
    private let drawRun: @Sendable (Int64) -> Int64
    private let packing: PackingBound
    /// Why only reads are served; nil while all is well.
    let refusal: StoreError?

    /// Opens the file, making it or bringing it up to date; where it cannot be written now, as it stands.
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
            // A checkpoint waits for nobody: while it waited for readers it would hold off the writer.
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

    /// Runs a read of the `index`-th reader.
    func read(_ index: Int, _ request: any PendingRead) {
        readers[index].withLock { connection in
            // Closed only after the last request.
            guard let connection else { return }
            request.serve(on: connection, atPage: watches.pagesWritten)
        }
    }

    /// Runs a small read on the calling thread; nil where another one does just now, or `Connection.readAtOnce` says so.
    func readAtOnce<Value: Sendable>(_ body: (any ReadTransaction) throws -> Value) -> Result<Value, any Error>? {
        // A connection of its own: a reader's thread that took a request would wait for the one who reads at once.
        let outcome = readers[SQLiteLimits.readers].withLockIfAvailable { $0?.readAtOnce(body) }
        return outcome ?? nil
    }

    /// nil while only reads are served.
    var writer: Writer? { writing.withLock { $0?.writer } }

    /// The connection that copies the log; nil while only reads are served.
    var checkpointer: Connection? { writing.withLock { $0?.checkpointer } }

    /// Opens the file for writing after all. Returns when no reader sees it as it stood before.
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

    /// Closes all, the writer last. Nobody uses them any more.
    func close(isLogEmpty: Bool) {
        for reader in readers {
            reader.withLock { connection in
                connection?.close()
                connection = nil
            }
        }
        checkpointer?.close()
        writer?.connection.close()
        // Left there it would only say what is so.
        if isLogEmpty { try? RunFile(file).remove() }
    }
}
