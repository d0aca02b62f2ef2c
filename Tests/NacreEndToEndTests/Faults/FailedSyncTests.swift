import Foundation
import Glibc
import NacreCloudTestSupport
import Testing

/// Tests of the real server on a disk whose syncs fail.
struct FailedSyncTests {
    /// The source of a library loaded before the C library. While the file named by `NACRE_TEST_FAILED_SYNC` exists,
    /// no sync succeeds, and each failure adds a byte to it.
    private static let library = """
        #define _GNU_SOURCE
        #include <errno.h>
        #include <fcntl.h>
        #include <stdlib.h>
        #include <sys/syscall.h>
        #include <unistd.h>

        static int has_failed(void) {
            const char *path = getenv("NACRE_TEST_FAILED_SYNC");
            int file = path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
            if (file < 0) return 0;
            if (write(file, "x", 1) < 0) { }
            close(file);
            return 1;
        }

        int fsync(int file) {
            if (has_failed()) { errno = EIO; return -1; }
            return (int)syscall(SYS_fsync, file);
        }

        int fdatasync(int file) {
            if (has_failed()) { errno = EIO; return -1; }
            return (int)syscall(SYS_fdatasync, file);
        }
        """

    /// A C compiler: Swift includes one.
    private static let compiler = ["/usr/bin/cc", "/usr/bin/clang", "/opt/swift/usr/bin/clang", "/usr/local/swift/usr/bin/clang"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    @Test(.enabled(if: mayRun(compiler != nil), "needs a C compiler"))
    func `after one sync that failed the server stops with an error, asks no second time, and starts with what it acknowledged`() async throws {
        let folder = try TemporaryFolder()
        let (source, library, trigger) = (folder.path + "/sync.c", folder.path + "/sync.so", folder.path + "/fail")
        try Data(Self.library.utf8).write(to: URL(filePath: source))
        try Tool.run(try #require(Self.compiler), "-shared", "-fPIC", "-o", library, source)
        let environment = ["LD_PRELOAD": library, "NACRE_TEST_FAILED_SYNC": trigger]
        try await RunningServer.with(environment: environment, faults: .expected) { server in
            let cloud = try await FaultedCloud(server)
            var kept: [String] = []
            for number in 0..<10 {
                let name = "r\(number)"
                try #require(await cloud.isCreated(name, name))
                kept.append(name)
            }
            try Data().write(to: URL(filePath: trigger))
            // Several at once: none may be acknowledged.
            let said = await withTaskGroup(of: Bool.self) { group in
                for number in 0..<6 { group.addTask { await cloud.isCreated("lost\(number)") } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(!said.contains(true))
            let process = try server.process
            // A process that does not stop is killed, which fails the test.
            let patience = Task {
                try await Task.sleep(for: .seconds(RunningServer.patienceSeconds))
                process.signal(SIGKILL)
            }
            #expect(await process.ended() == 70)
            patience.cancel()
            #expect(process.errorText.contains("the disk failed to keep what it was given"))
            #expect(try Data(contentsOf: URL(filePath: trigger)).count == 1, "syncs that were tried")

            unlink(trigger)
            try await server.start()
            let texts = try await cloud.texts(of: kept)
            #expect(kept.filter { texts[$0] != $0 }.isEmpty)
            #expect(await cloud.isCreated("after"))
        }
    }
}
