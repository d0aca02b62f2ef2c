import Foundation
import Glibc
import NacreCloudContainer
package import NacreCloudStorage
import NacreLocks
package import NacrePostgres

/// A PostgreSQL of the tests, which listens on a socket in a temporary folder. The first store that needs it starts
/// it; it ends with the tests' process, however that ends.
package final class PostgresServer: Sendable {
    /// The folder of PostgreSQL's programs: that of NACRE_POSTGRES, or the newest one of Debian; nil where there is
    /// none.
    package static let programs: String? = {
        if let named = ProcessInfo.processInfo.environment["NACRE_POSTGRES"] { return named }
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
        return versions.compactMap { Int($0) }.sorted().reversed().map { "/usr/lib/postgresql/\($0)/bin" }
            .first { FileManager.default.isExecutableFile(atPath: $0 + "/initdb") }
    }()

    package static let absent = "PostgreSQL is not installed: apt-get install postgresql"

    /// Makes a cluster in folder $1 by the programs in $2, starts it, and stops it when its own input ends. As root it
    /// runs as `postgres`, because PostgreSQL refuses to run as root.
    private static let script = """
        set -e
        as() { if [ "$(id -u)" = 0 ]; then setpriv --reuid=postgres --regid=postgres --clear-groups -- "$@"; else "$@"; fi; }
        mkdir "$1/cluster"
        [ "$(id -u)" != 0 ] || { chmod 711 "$1"; chown postgres "$1/cluster"; }
        cd "$1/cluster"
        as "$2/initdb" -D "$1/cluster/data" -U nacre -A trust --locale=C --encoding=UTF8 --no-sync --data-checksums >/dev/null
        as "$2/pg_ctl" -D "$1/cluster/data" -w -l "$1/cluster/log" -o "-k $1/cluster -c listen_addresses= -c fsync=off \\
            -c max_connections=500 -c shared_buffers=64MB" start >/dev/null
        "$2/createdb" -h "$1/cluster" -U nacre template
        echo 'ready on port 5432'
        cat >/dev/null
        as "$2/pg_ctl" -D "$1/cluster/data" -m immediate stop >/dev/null
        rm -rf "$1"
        """

    private static let started = Locked<Task<PostgresServer, any Error>?>(nil)

    /// The server of this process.
    package static var shared: PostgresServer {
        get async throws {
            let task = started.withLock { started in
                let task = started ?? Task { try await PostgresServer() }
                started = task
                return task
            }
            return try await task.value
        }
    }

    private let folder: TemporaryFolder
    private let process: ServerProcess
    private let programs: String
    private let count = Locked(0)

    private init() async throws {
        guard let programs = Self.programs else { throw POSIXFault(call: "initdb", code: ENOENT) }
        self.programs = programs
        let folder = try TemporaryFolder()
        self.folder = folder
        process = try await onThread {
            try ServerProcess("/bin/sh", ["-c", Self.script, "sh", folder.path, programs], listening: "ready on port ")
        }
        try await PostgresStore.migrate(url("template"))
    }

    /// The URL of a database.
    package func url(_ database: String) -> String { "host=\(folder.path)/cluster user=nacre dbname=\(database)" }

    /// Makes a database with nacre's tables, and returns its name.
    package func makeDatabase() async throws -> String {
        let number = count.withLock { count in
            count += 1
            return count
        }
        let name = "nacre\(number)"
        try await run("createdb", ["-T", "template", name])
        return name
    }

    /// Removes a database and ends its connections. Nobody waits for it.
    package func dropDatabase(_ name: String) {
        Thread.detachNewThread { [self] in
            _ = try? Program(programs + "/dropdb", ["-h", folder.path + "/cluster", "-U", "nacre", "--force", name]).run()
        }
    }

    /// Runs SQL in a database, a transaction for each argument, and returns the lines of its answers.
    @discardableResult
    package func sql(_ database: String, _ texts: String...) async throws -> [String] {
        let commands = texts.flatMap { ["-c", $0] }
        return try await run("psql", ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", database] + commands)
    }

    @discardableResult
    private func run(_ program: String, _ arguments: [String]) async throws -> [String] {
        let program = Program(programs + "/" + program, ["-h", folder.path + "/cluster", "-U", "nacre"] + arguments)
        let (status, output) = try await program.run(keepsErrors: true)
        let text = String(decoding: output, as: UTF8.self)
        guard status == 0 else { throw ProcessFailure(text) }
        return text.split(separator: "\n").map(String.init)
    }
}

/// A store in a database of its own, which is removed with it.
package final class TemporaryPostgresStore: LayeredStore {
    package let store: PostgresStore
    package let server: PostgresServer
    package let database: String
    package var below: any Store { store }

    /// Opens a store in the run of `MemoryStore`, unless the options name another.
    package init(options: PostgresOptions = .inFirstRun) async throws {
        server = try await PostgresServer.shared
        database = try await server.makeDatabase()
        store = try await PostgresStore.open(server.url(database), options: options)
    }

    deinit {
        server.dropDatabase(database)
    }
}

extension PostgresOptions {
    /// Options with which changes are numbered as in a `MemoryStore`, and with as many connections as a test needs.
    package static let inFirstRun: PostgresOptions = {
        var options = PostgresOptions()
        options.run = Run.first
        (options.writers, options.readers) = (6, 4)
        return options
    }()
}
