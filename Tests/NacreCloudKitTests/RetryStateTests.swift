import Foundation
import Testing

@testable import CloudKit

/// Tests of the decisions on retries, as a table.
@Suite struct RetryStateTests {
    static let prompt = Patience(requestTimeout: 60, resourceTimeout: nil, retriesNetworkErrors: false)
    static let patient = Patience(requestTimeout: 60, resourceTimeout: 100, retriesNetworkErrors: true)

    struct Row: CustomTestStringConvertible, Sendable {
        var kind: RetryState.Kind
        var patience: Patience
        var endings: [RetryState.Ending]
        var decisions: [RetryState.Decision]

        var testDescription: String { "\(kind) \(patience.retriesNetworkErrors ? "patient" : "prompt") \(endings)" }
    }

    @Test(arguments: [
        // Nothing was sent: prompt operations fail at once, patient ones try again.
        Row(kind: .read, patience: prompt, endings: [.notSent], decisions: [.fail]),
        Row(kind: .change, patience: prompt, endings: [.notSent], decisions: [.fail]),
        Row(
            kind: .read, patience: patient, endings: [.notSent, .notSent, .notSent],
            decisions: [.retry(after: 1), .retry(after: 2), .retry(after: 4)]),
        Row(kind: .change, patience: patient, endings: [.notSent], decisions: [.retry(after: 1)]),
        // An answer was lost: only patient operations read again, but every change is sent again.
        Row(kind: .read, patience: prompt, endings: [.answerLost], decisions: [.fail]),
        Row(kind: .read, patience: patient, endings: [.answerLost], decisions: [.retry(after: 1)]),
        Row(
            kind: .change, patience: prompt, endings: [.answerLost, .answerLost, .answerLost, .answerLost],
            decisions: [.retry(after: 0.25), .retry(after: 1), .retry(after: 4), .failAsLost(retryAfter: nil)]),
        // Once a change may have been made, no later failure may mean that it was not.
        Row(
            kind: .change, patience: prompt, endings: [.answerLost, .notSent, .notSent, .notSent],
            decisions: [.retry(after: 0.25), .retry(after: 1), .retry(after: 4), .failAsLost(retryAfter: nil)]),
        Row(
            kind: .change, patience: prompt, endings: [.answerLost, .busy(retryAfter: 3), .busy(retryAfter: 30)],
            decisions: [.retry(after: 0.25), .retry(after: 3), .failAsLost(retryAfter: 30)]),
        // A transfer under way is retried. Without any connection it fails at once, as nothing can have been changed.
        Row(
            kind: .transfer, patience: prompt, endings: [.answerLost, .notSent, .answerLost, .answerLost],
            decisions: [.retry(after: 0.25), .retry(after: 1), .retry(after: 4), .fail]),
        Row(kind: .transfer, patience: prompt, endings: [.notSent], decisions: [.fail]),
        Row(kind: .transfer, patience: patient, endings: [.notSent], decisions: [.retry(after: 1)]),
        Row(
            kind: .transfer, patience: prompt, endings: [.busy(retryAfter: 3), .busy(retryAfter: 30)],
            decisions: [.retry(after: 3), .fail]),
        // A "later" of the server is passed to the app.
        Row(kind: .read, patience: prompt, endings: [.busy(retryAfter: 5)], decisions: [.fail]),
        Row(kind: .change, patience: patient, endings: [.busy(retryAfter: nil)], decisions: [.fail]),
        Row(kind: .change, patience: patient, endings: [.cancelled], decisions: [.fail]),
    ])
    func `each ending has its decision`(row: Row) {
        var state = RetryState(kind: row.kind, patience: row.patience)
        let decisions = row.endings.map { state.decide(after: $0, elapsed: 0, spread: 1) }
        #expect(decisions == row.decisions)
    }

    @Test func `the last pause is cut to the time that is left, and patience ends with the resource timeout`() {
        var read = RetryState(kind: .read, patience: Self.patient)
        #expect(read.decide(after: .notSent, elapsed: 40, spread: 1) == .retry(after: 1))
        #expect(read.decide(after: .notSent, elapsed: 98.5, spread: 1) == .retry(after: 0.5))
        #expect(read.decide(after: .notSent, elapsed: 99, spread: 1) == .fail)
        var change = RetryState(kind: .change, patience: Self.patient)
        #expect(change.decide(after: .answerLost, elapsed: 0, spread: 1) == .retry(after: 1))
        #expect(change.decide(after: .notSent, elapsed: 99.95, spread: 1) == .failAsLost(retryAfter: nil))
        var busy = RetryState(kind: .change, patience: Self.patient)
        #expect(busy.decide(after: .answerLost, elapsed: 90, spread: 1) == .retry(after: 1))
        #expect(busy.decide(after: .busy(retryAfter: 9), elapsed: 92, spread: 1) == .failAsLost(retryAfter: 9), "the server's seconds are not cut")
    }

    @Test func `pauses grow up to a minute, and spread over a quarter`() {
        var state = RetryState(kind: .read, patience: Patience(requestTimeout: 60, resourceTimeout: nil, retriesNetworkErrors: true))
        let decisions = (0..<9).map { _ in state.decide(after: .notSent, elapsed: 0, spread: 1) }
        #expect(decisions.last == .retry(after: 60))
        #expect(state.decide(after: .notSent, elapsed: 0, spread: 0) == .retry(after: 45))
    }

    @Test(arguments: [
        (QualityOfService.userInteractive, nil as Double?, false), (.userInitiated, nil, false), (.default, 604_800, false),
        (.utility, 604_800, true), (.background, 604_800, true),
    ])
    func `a quality of service has its patience`(quality: QualityOfService, resource: Double?, retries: Bool) {
        let configuration = CKOperation.Configuration()
        configuration.qualityOfService = quality
        #expect(
            Patience(configuration.snapshot, quality: .default)
                == Patience(
                    requestTimeout: 60, resourceTimeout: resource, retriesNetworkErrors: retries, isDiscretionary: quality == .background))
        #expect(configuration.timeoutIntervalForResource == resource ?? -1)
    }

    @Test func `the operation's own value wins over its group's, even when it is the default`() {
        let group = CKOperationGroup()
        group.defaultConfiguration.allowsCellularAccess = false
        group.defaultConfiguration.timeoutIntervalForRequest = 5
        let operation = CKFetchRecordsOperation()
        operation.group = group
        #expect(operation.resolvedConfiguration.allowsCellularAccess == false)
        operation.configuration.allowsCellularAccess = true
        #expect(operation.resolvedConfiguration.allowsCellularAccess == true)
        #expect(operation.resolvedConfiguration.timeoutIntervalForRequest == 5)
        operation.configuration = nil
        #expect(operation.resolvedConfiguration.allowsCellularAccess == false)
    }
}
