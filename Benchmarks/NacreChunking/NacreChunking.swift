import Glibc
import NacreCloudWire
import NacreCrypto

/// Measures how fast files are cut into chunks, and the chunks hashed, on one core. Prints one JSON object, in
/// megabytes a second of CPU time, so that other processes do not count.
///
///     NacreChunking SECONDS
@main
struct NacreChunking {
    static func main() {
        let seconds = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 3
        var state: UInt64 = 42
        let megabyte = [UInt8](unsafeUninitializedCapacity: 64 << 20) { buffer, count in
            for index in stride(from: 0, to: 64 << 20, by: 8) {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                UnsafeMutableRawBufferPointer(buffer).storeBytes(of: state ^ state >> 29, toByteOffset: index, as: UInt64.self)
            }
            count = 64 << 20
        }
        let pieces = stride(from: 0, to: megabyte.count, by: 256 << 10).map { Array(megabyte[$0..<$0 + 256 << 10]) }
        let cut = measure(seconds, megabyte.count) { sum in
            var cutter = ContentCutter()
            for piece in pieces { cutter.add(piece) { sum &+= $0.count } }
            sum &+= cutter.rest()?.count ?? 0
        }
        let hashed = measure(seconds, megabyte.count) { sum in
            for piece in pieces { sum &+= Int(SHA256.digest(piece)[0]) }
        }
        let both = measure(seconds, megabyte.count) { sum in
            var cutter = ContentCutter()
            for piece in pieces { cutter.add(piece) { sum &+= Int(SHA256.digest($0)[0]) } }
            sum &+= cutter.rest()?.count ?? 0
        }
        print(#"{"cut":\#(cut),"hashed":\#(hashed),"both":\#(both)}"#)
    }

    private static func measure(_ seconds: Int, _ bytes: Int, _ body: (inout Int) -> Void) -> Double {
        var (sum, rounds) = (0, 0)
        let start = clock()
        repeat {
            body(&sum)
            rounds += 1
        } while clock() - start < seconds * Int(CLOCKS_PER_SEC)
        let elapsed = Double(clock() - start) / Double(CLOCKS_PER_SEC)
        precondition(sum != 0)
        return Double(rounds * bytes) / 1e6 / elapsed
    }
}
