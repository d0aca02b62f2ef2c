import NacreCloudContainer
import NacreCloudStorage
import NacreLocks
import Testing

@testable import NacreCloudServer

struct GateTests {
    @Test func `no more are inside than there are places, and everybody gets in`() async {
        let gate = Gate(TurnLimits(all: 3, long: 2, longOfOneKind: 2, shortOfOneAsker: 3, longOfOneAsker: 1))
        let count = Locked((inside: 0, most: 0, done: 0))
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<200 {
                let turn = Turn(asker: "\(index % 7)", kind: Turn.Kind.allCases[index % 3])
                group.addTask {
                    await gate.pass(turn) {
                        count.withLock {
                            $0.inside += 1
                            $0.most = max($0.most, $0.inside)
                        }
                        for _ in 0..<5 { await Task.yield() }
                        count.withLock {
                            $0.inside -= 1
                            $0.done += 1
                        }
                    }
                }
            }
        }
        #expect(count.withLock { $0.most } <= 3 && count.withLock { $0.done } == 200)
    }

    @Test func `who fails inside leaves its place to the next`() async {
        struct Fault: Error {}
        let gate = Gate(TurnLimits(all: 1, long: 1, longOfOneKind: 1, shortOfOneAsker: 1, longOfOneAsker: 1))
        await #expect(throws: Fault.self) { try await gate.pass { throw Fault() } }
        #expect(await gate.pass { true })
    }
}
