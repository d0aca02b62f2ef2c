import Testing

@testable import NacreHTTPClient

/// Tests of the decisions on timeouts, as a table.
struct DeadlineTests {
    @Test func `without limits there is no verdict`() {
        var deadlines = TransferDeadlines(idle: nil, total: nil, now: .zero)
        deadlines.touch(.zero)
        #expect(deadlines.due == nil && deadlines.verdict(at: .seconds(1_000_000)) == nil)
    }

    @Test func `idleness counts from the last touch, to the millisecond`() {
        var deadlines = TransferDeadlines(idle: .milliseconds(250), total: nil, now: .zero)
        #expect(deadlines.due == nil, "it waits for its turn")
        deadlines.touch(.seconds(1))
        #expect(deadlines.due == .milliseconds(1250))
        #expect(deadlines.verdict(at: .milliseconds(1249)) == nil && deadlines.verdict(at: .milliseconds(1250)) == .idle)
        deadlines.touch(.milliseconds(1249))
        #expect(deadlines.verdict(at: .milliseconds(1498)) == nil && deadlines.verdict(at: .milliseconds(1499)) == .idle)
    }

    @Test func `who holds is not idle, but its total goes on`() {
        var deadlines = TransferDeadlines(idle: .seconds(1), total: .seconds(10), now: .zero)
        deadlines.touch(.zero)
        deadlines.hold()
        #expect(deadlines.due == .seconds(10) && deadlines.verdict(at: .seconds(9)) == nil)
        #expect(deadlines.verdict(at: .seconds(10)) == .total)
        deadlines.touch(.seconds(5))
        #expect(deadlines.due == .seconds(6))
    }

    @Test func `the total counts from the request, whatever comes and goes`() {
        var deadlines = TransferDeadlines(idle: .seconds(1), total: .milliseconds(1500), now: .seconds(7))
        deadlines.touch(.milliseconds(8400))
        #expect(deadlines.due == .milliseconds(8500) && deadlines.verdict(at: .milliseconds(8500)) == .total)
    }
}
