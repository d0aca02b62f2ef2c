/// A promise that a history shows broken, with the evidence.
package struct Violation: Error, Hashable, Sendable, Encodable, CustomStringConvertible {
    package enum Kind: String, Hashable, Sendable, Encodable, CaseIterable {
        /// Two batches both replaced one version of a record.
        case doubleSuccess
        /// An acknowledged batch, or one that somebody saw, is gone.
        case lostWrite
        /// A batch that was refused is there all the same.
        case refusedApplied
        /// A request and its retry were both carried out.
        case appliedTwice
        /// A retry was not known for one.
        case retryForgotten
        /// Part of a batch was to be seen without the rest.
        case splitBatch
        /// A feed shows batches in an order that cannot be, or goes back to an older version; or those who looked saw orders that do not
        /// fit together.
        case orderInversion
        /// A feed shows a version that it has shown before.
        case repeatedChange
        /// A follower of the feed misses a change.
        case skippedChange
        /// A client that goes on from an older token misses a change.
        case tokenSkips
        /// A token leads nowhere, or round in a circle.
        case deadToken
        /// A read shows what had been replaced, by an acknowledged batch or one that somebody saw.
        case staleRead
        /// A change tag names two versions of a record.
        case reusedTag
        /// A record is not as any batch left it.
        case wrongContent
        /// At the end, the feed and a lookup do not show the same.
        case wrongFinalState
        /// A record outlives the one with which it was to go, or goes in another commit.
        case orphan
        /// A file is gone, or has other bytes than those that were acknowledged.
        case lostFile
        /// Nobody was told of a change that somebody has subscribed to.
        case notTold
        /// Somebody was told of what is not there, or was not asked for.
        case wronglyTold
        /// Somebody sees, changes or is told of what nobody gives them, or gives them no more.
        case leaked
        /// A query does not tell a record that passed from its first page to its last, in one place of its order.
        case missed
        /// A query tells what does not pass, out of order, or twice.
        case wrongAnswer
        /// The server answered what it has no reason for.
        case unexpectedAnswer
    }

    package var kind: Kind
    package var evidence: String

    package init(_ kind: Kind, _ evidence: String) {
        self.kind = kind
        self.evidence = evidence
    }

    package var description: String { "\(kind.rawValue): \(evidence)" }
}
