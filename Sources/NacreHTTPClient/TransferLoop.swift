import CNacreCurl
import Glibc
import NacreLocks
import Synchronization

/// The thread that carries transfers: libcurl's multi interface, the deadlines, and the messages of other threads.
final class TransferLoop: @unchecked Sendable {
    // Sendable: `inbox`, `alive` and the constants may be reached from any thread. All other state is touched on the
    // loop's thread alone.

    enum Message: Sendable {
        case start(Transfer)
        case cancel(Transfer)
        /// The stream or file of a request's body has given its next piece, for the numbered attempt `sending`.
        case piece(Transfer, sending: Int, Result<[UInt8]?, any Error>)
        /// The reader of a transfer's answer has made room.
        case drained(Transfer)
        case count(@Sendable (Census) -> Void)
        case lookAtClock
    }

    private struct Inbox {
        var messages: [Message] = []
        var isStarted = false
        var isWoken = false
        var isClosed = false
        /// libcurl's multi handle, set by the first message. Any thread may wake it.
        var multi: Multi?
    }

    /// The longest sleep. A new transfer or a cancellation wakes the thread.
    private static let longestSleep: Duration = .seconds(24 * 60 * 60)

    let clock: TransferClock
    private let configuration: HTTPClient.Configuration
    private let inbox = Locked(Inbox())
    private let alive = Atomic<Int>(0)

    private var running: [UnsafeMutableRawPointer: Transfer] = [:]
    private var hosts: [String: Host] = [:]
    private var handles = 0
    /// The time at which the loop last woke.
    private(set) var now: Duration

    /// The transfers to one host and port.
    private struct Host {
        var running = 0
        var queue: [Transfer] = []
    }

    /// A pointer that is made on one thread and used on another.
    private struct Multi: @unchecked Sendable {
        // Sendable: the loop's thread uses it alone, except for the wake-up, which any thread may call while the inbox
        // is open.
        let pointer: UnsafeMutableRawPointer
    }

    /// The one-time set-up of libcurl in a process, before any other call.
    static let isSetUp = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    init(_ configuration: HTTPClient.Configuration) {
        self.configuration = configuration
        clock = configuration.clock
        now = configuration.clock.now()
    }

    // MARK: - From any thread

    func born() { alive.add(1, ordering: .relaxed) }
    func died() { alive.subtract(1, ordering: .relaxed) }

    /// Sends a message to the loop. Messages are handled in order. After `close`, a transfer that starts ends at once.
    func post(_ message: Message) {
        let isTaken = inbox.withLock { inbox in
            guard !inbox.isClosed, start(&inbox), let multi = inbox.multi else { return false }
            inbox.messages.append(message)
            if !inbox.isWoken {
                inbox.isWoken = true
                // Inside the lock, so that the loop cannot have freed the handle.
                curl_multi_wakeup(multi.pointer)
            }
            return true
        }
        if !isTaken { refuse(message) }
    }

    /// Ends all transfers with `cancelled`, and then the thread. Does not wait for it.
    func close() {
        inbox.withLock { inbox in
            inbox.isClosed = true
            if let multi = inbox.multi { curl_multi_wakeup(multi.pointer) }
        }
    }

    /// Starts the thread if there is none yet. Returns false if there are no resources for one.
    private func start(_ inbox: inout Inbox) -> Bool {
        if inbox.isStarted { return true }
        guard Self.isSetUp, let multi = curl_multi_init() else { return false }
        // Without free descriptors, libcurl makes a multi handle without its wake-up pipe. A thread on it would sleep
        // for ever.
        guard curl_multi_wakeup(multi) == CURLM_OK else {
            curl_multi_cleanup(multi)
            return false
        }
        nacre_curl_multi_set_number(multi, CURLMOPT_MAXCONNECTS, configuration.idleConnectionsMax)
        inbox.multi = Multi(pointer: multi)
        var thread = pthread_t()
        let context = Unmanaged.passRetained(self)
        let code = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<TransferLoop>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, context.toOpaque())
        guard code == 0 else {
            context.release()
            inbox.multi = nil
            curl_multi_cleanup(multi)
            return false
        }
        pthread_detach(thread)
        inbox.isStarted = true
        return true
    }

    private func refuse(_ message: Message) {
        let isClosed = inbox.withLock { $0.isClosed }
        switch message {
        case .start(let transfer): transfer.deliver(HTTPClient.Failure(isClosed ? .cancelled : .noResources, mayHaveArrived: false))
        case .count(let report): report(Census(running: 0, queued: 0, handles: 0, transfers: alive.load(ordering: .relaxed)))
        case .cancel, .piece, .drained, .lookAtClock: break
        }
    }

    // MARK: - The thread

    private func run() {
        nacre_curl_prepare_thread("http transfers")
        guard let multi = inbox.withLock({ $0.multi })?.pointer else { return }
        while hearInbox(multi) {
            var count: Int32 = 0
            curl_multi_perform(multi, &count)
            reapEnded(multi)
            expire(multi)
            curl_multi_poll(multi, nil, 0, sleepMilliseconds, nil)
        }
        for transfer in running.values + hosts.values.flatMap(\.queue) { finish(transfer, transfer.failure(.cancelled), multi) }
        inbox.withLock { $0.multi = nil }
        curl_multi_cleanup(multi)
    }

    /// Handles the messages and releases them: the thread may sleep long, and a message may be the last reference to a
    /// transfer.
    /// - Returns: false if the loop is closed.
    private func hearInbox(_ multi: UnsafeMutableRawPointer) -> Bool {
        let (messages, isClosed) = inbox.withLock { inbox in
            defer { (inbox.messages, inbox.isWoken) = ([], false) }
            return (inbox.messages, inbox.isClosed)
        }
        now = clock.now()
        for message in messages { hear(message, multi) }
        return !isClosed
    }

    private func hear(_ message: Message, _ multi: UnsafeMutableRawPointer) {
        switch message {
        case .start(let transfer): enqueue(transfer, multi)
        case .cancel(let transfer):
            transfer.isCancelled = true
            finish(transfer, transfer.failure(.cancelled), multi)
        case .piece(let transfer, let sending, let piece):
            guard isRunning(transfer) else { return }
            if let failure = transfer.take(piece, sending: sending) { finish(transfer, failure, multi) }
        case .drained(let transfer):
            guard isRunning(transfer) else { return }
            if let failure = transfer.drained() { finish(transfer, failure, multi) }
        case .count(let report):
            let queued = hosts.values.reduce(0) { $0 + $1.queue.count }
            report(Census(running: running.count, queued: queued, handles: handles, transfers: alive.load(ordering: .relaxed)))
        case .lookAtClock: break
        }
    }

    private func isRunning(_ transfer: Transfer) -> Bool {
        transfer.handle.map { running[$0] === transfer } ?? false
    }

    // MARK: Beginning

    private func enqueue(_ transfer: Transfer, _ multi: UnsafeMutableRawPointer) {
        // The cancellation came first.
        if transfer.isCancelled { return transfer.deliver(transfer.failure(.cancelled)) }
        guard transfer.requestFault == nil, let authority = transfer.target?.authority else {
            return transfer.deliver(transfer.failure(.badRequest(transfer.requestFault ?? .url)))
        }
        hosts[authority, default: Host()].queue.append(transfer)
        startNext(of: authority, multi)
    }

    private func startNext(of authority: String, _ multi: UnsafeMutableRawPointer) {
        while var host = hosts[authority], !host.queue.isEmpty, host.running < configuration.transfersPerHostMax {
            let transfer = host.queue.removeFirst()
            guard let handle = transfer.prepare(configuration) else {
                hosts[authority] = host
                transfer.deliver(transfer.failure(.noResources))
                continue
            }
            handles += 1
            host.running += 1
            hosts[authority] = host
            running[handle] = transfer
            transfer.deadlines.touch(now)
            if curl_multi_add_handle(multi, handle) != CURLM_OK { finish(transfer, transfer.failure(.noResources), multi) }
        }
    }

    // MARK: Ending

    /// Finishes the transfers that libcurl has ended, and repeats those that a stale connection lost.
    private func reapEnded(_ multi: UnsafeMutableRawPointer) {
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle, let transfer = running[handle] else { continue }
            let code = message.pointee.data.result
            if transfer.isStale(code) {
                curl_multi_remove_handle(multi, handle)
                transfer.prepareAgain()
                if curl_multi_add_handle(multi, handle) == CURLM_OK { continue }
            }
            finish(transfer, code == CURLE_OK ? nil : transfer.failure(code), multi)
        }
    }

    private func expire(_ multi: UnsafeMutableRawPointer) {
        now = clock.now()
        for transfer in running.values {
            if let timeout = transfer.deadlines.verdict(at: now) { finish(transfer, transfer.failure(.timedOut(timeout)), multi) }
        }
        for transfer in hosts.values.flatMap(\.queue) {
            if let timeout = transfer.deadlines.verdict(at: now) { finish(transfer, transfer.failure(.timedOut(timeout)), multi) }
        }
    }

    /// Removes a transfer, frees its handle, delivers its result, and starts the next one. Does nothing if the transfer
    /// has ended.
    private func finish(_ transfer: Transfer, _ failure: HTTPClient.Failure?, _ multi: UnsafeMutableRawPointer) {
        guard let authority = transfer.target?.authority, var host = hosts[authority] else { return }
        if let handle = transfer.handle, running.removeValue(forKey: handle) != nil {
            curl_multi_remove_handle(multi, handle)
            transfer.tearDown()
            handles -= 1
            host.running -= 1
        } else if let index = host.queue.firstIndex(where: { $0 === transfer }) {
            host.queue.remove(at: index)
        } else {
            return
        }
        hosts[authority] = host.running == 0 && host.queue.isEmpty ? nil : host
        transfer.deliver(failure)
        if !inbox.withLock({ $0.isClosed }) { startNext(of: authority, multi) }
    }

    // MARK: Sleeping

    /// The time until the next deadline. libcurl wakes for its own deadlines before.
    private var sleepMilliseconds: Int32 {
        var due = now + Self.longestSleep
        for transfer in running.values { due = min(due, transfer.deadlines.due ?? due) }
        for host in hosts.values {
            for transfer in host.queue { due = min(due, transfer.deadlines.due ?? due) }
        }
        let (seconds, attoseconds) = max(due - now, .zero).components
        // Round up: before the deadline there would be nothing to do.
        return Int32(seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
