import NacreCloudContainer
import NacreCloudTasks
import NacreHTTPServer
import NacreLocks

/// Answers of the web courier that are under way, one for each device. A notification leaves its queue when the
/// client's kernel has the answer; after a broken connection the next poll gets it. A device's polls run one after the
/// other, so that each notification is in one of them.
///
/// Other servers over the same store do not see these answers: a device that polls two servers at once may get a
/// notification from both, with one `nid`. The same happens to a device that polls again after a server was killed in
/// that moment.
final class CourierAnswers: Sendable {
    private struct Answer {
        /// The answer under way; nil while the queue is read, or told what was taken.
        weak var receipt: AnswerReceipt?
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let answers = Locked<[DeviceAddress: Answer]>([:])

    /// The oldest of a device's notifications, once the outcome of the previous answer is known; nil if none waits.
    /// - Parameter cloud: has the queue.
    func next(for device: DeviceAddress, of cloud: Cloud) async throws -> (notification: QueuedNotification, receipt: AnswerReceipt)? {
        await begin(device)
        do {
            guard let next = try await cloud.notifications(for: device, after: 0, limit: 1).first else {
                end(device)
                return nil
            }
            let receipt = AnswerReceipt { isTaken in
                guard isTaken else { return self.end(device) }
                self.answers.withLock { $0[device]?.receipt = nil }
                Task {
                    // If the store cannot record this, the next poll gets the notification again.
                    _ = try? await cloud.acknowledge(through: next.number, for: device)
                    self.end(device)
                }
            }
            let isAwaited = answers.withLock { answers in
                answers[device]?.receipt = receipt
                return answers[device]?.waiters.isEmpty == false
            }
            if isAwaited { receipt.demand() }
            return (next, receipt)
        } catch {
            end(device)
            throw error
        }
    }

    /// Waits until no other answer of the device is under way. A connection takes a second or two to report the
    /// outcome.
    private func begin(_ device: DeviceAddress) async {
        while true {
            let isFree = answers.withLock { answers in
                if answers[device] != nil { return false }
                answers[device] = Answer()
                return true
            }
            if isFree { return }
            await withCheckedContinuation { continuation in
                let (isOver, receipt) = answers.withLock { answers in
                    answers[device]?.waiters.append(continuation)
                    return (answers[device] == nil, answers[device]?.receipt)
                }
                if isOver { continuation.resume() }
                receipt?.demand()
            }
        }
    }

    private func end(_ device: DeviceAddress) {
        for waiter in answers.withLock({ $0.removeValue(forKey: device) })?.waiters ?? [] { waiter.resume() }
    }
}
