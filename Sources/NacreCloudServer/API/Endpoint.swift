import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

/// An endpoint that takes a request, as a value. `API.answer(_:by:)` carries it out: it reads the body, decodes it,
/// charges the request's cost, waits for a slot, asks the cloud, and encodes the answer.
struct Endpoint<Request: ReadableRequest, Answer: Sendable>: Sendable {
    typealias Form = @Sendable (Request) -> AnswerForm
    typealias Cost = @Sendable (_ request: Request, _ bodyBytes: Int) -> RequestCost
    typealias Ask<Found> = @Sendable (Request, API.Call) async throws -> Found

    let form: Form
    let cost: Cost
    /// Asks the cloud before the request waits for a slot among pages. It returns nil if the answer takes long: then
    /// `ask` is called among pages, as a bulk read. nil: only `ask` is called.
    let first: Ask<Answer?>?
    let ask: Ask<Answer>
    /// Whether `ask` needs a slot among pages.
    let isPage: Bool
    /// The items that an answer refuses: the first is logged, and the answer's headers say what to do about it.
    let refused: @Sendable (Answer) -> [RefusedItem]
    /// The number of items that an answer holds, refused ones included.
    let items: @Sendable (Answer) -> Int
    let encode: @Sendable (consuming Answer, AnswerForm, RequestLedger) async throws -> HTTPResponse
}

extension Endpoint where Answer: WritableAnswer {
    /// Creates an endpoint with short answers, which wait for no slot.
    init(
        form: @escaping Form = { AnswerForm(details: $0.extension.wantsDetails) }, cost: @escaping Cost = { _, _ in RequestCost() },
        ask: @escaping Ask<Answer>, refused: @escaping @Sendable (Answer) -> [RefusedItem] = { _ in [] },
        items: @escaping @Sendable (Answer) -> Int = { _ in 0 }
    ) {
        self.init(
            form: form, cost: cost, first: nil, ask: ask, isPage: false, refused: refused, items: items,
            encode: { answer, form, _ in .json(answer.json(form)) })
    }
}

extension Endpoint where Answer: RecordAnswerMessage {
    /// Creates an endpoint with answers that may be large. Few are made at a time, and none for a client with too many
    /// unread answers. Long JSON is encoded on another thread.
    init(
        form: @escaping Form = { AnswerForm(details: $0.extension.wantsDetails) }, cost: @escaping Cost = { _, _ in RequestCost() },
        first: Ask<Answer?>? = nil, page: @escaping Ask<Answer>, refused: @escaping @Sendable (Answer) -> [RefusedItem] = { _ in [] }
    ) {
        self.init(form: form, cost: cost, first: first, ask: page, isPage: true, refused: refused, items: { $0.itemCount }, encode: API.encoded)
    }
}

/// The work that a request is, as far as its decoded body shows.
struct RequestCost {
    /// The number of items that the request names. It is charged, and weighs in the request's turn.
    var rows = 1
    /// Bytes that the request keeps in memory while it waits.
    var bytes = 0
    var kind = Turn.Kind.short
    /// Rows that are charged for lists of names, and do not weigh in the turn.
    var names = 0

    /// The rows that lists of wanted fields are charged, because each is sorted and compared. On this server: 32 names
    /// of a list cost as much as a record.
    static func of(names lists: [[String]?]) -> Int { lists.reduce(0) { $0 + ($1?.count ?? 0) / 32 } }
}

/// An error of a request whose extension was decoded, so that the answer may carry this server's details.
struct DetailedError: Error {
    var error: any Error
    var wantsDetails: Bool
}

extension API {
    /// Answers a call as an endpoint says.
    func answer<Request, Answer>(_ call: Call, by endpoint: Endpoint<Request, Answer>) async throws -> HTTPResponse {
        var call = call
        let request = try await decoded(Request.self, call.readBody())
        return try await answer(request, of: call, by: endpoint) { _ in }.response
    }

    /// Answers a decoded request as an endpoint says. Errors know whether the client wants this server's details.
    /// - Parameter keeping: takes from the answer the facts that the caller needs besides the response.
    func answer<Request, Answer, Kept>(
        _ request: Request, of call: Call, by endpoint: Endpoint<Request, Answer>, keeping: (Answer) -> Kept
    ) async throws -> (response: HTTPResponse, kept: Kept) {
        let form = endpoint.form(request)
        let cost = endpoint.cost(request, call.body?.count ?? 0)
        WorkMeter.current?.add(rows: cost.rows + cost.names)
        WorkMeter.current?.note { ($0.itemsAsked, $0.operationID) = (cost.rows, request.extension.operationID) }
        var turn = Turn.current
        (turn.rows, turn.bytes, turn.kind) = (cost.rows, cost.bytes, cost.kind)
        func response(_ answer: consuming Answer) async throws -> (response: HTTPResponse, kept: Kept) {
            let (kept, refused, items) = (keeping(answer), endpoint.refused(answer), endpoint.items(answer))
            let begun = ContinuousClock.now
            var response = try await endpoint.encode(answer, form, call.request.ledger)
            let end = ContinuousClock.now
            WorkMeter.current?.note { facts in
                facts.encoded += end - begun
                facts.itemsAnswered = items
            }
            errors.tell(refused, in: &response, call.request)
            return (response, kept)
        }
        do {
            return try await Turn.$current.withValue(turn) {
                if let answer = try await endpoint.first?(request, call) { return try await response(answer) }
                guard endpoint.isPage else { return try await response(endpoint.ask(request, call)) }
                var pageTurn = turn
                if endpoint.first != nil { pageTurn.kind = .bulk }
                return try await amongPages(call, pageTurn) { try await response(endpoint.ask(request, call)) }
            }
        } catch let error as CancellationError {
            // The request was cancelled: no client reads its details.
            throw error
        } catch {
            throw DetailedError(error: error, wantsDetails: form.details)
        }
    }

    /// Makes an answer that may be large: few at a time, and none for a client with too many unread answers.
    func amongPages<Value>(_ call: Call, _ turn: Turn = .current, _ make: () async throws -> Value) async throws -> Value {
        let asked = ContinuousClock.now
        return try await pages.pass(turn) {
            let entered = ContinuousClock.now
            WorkMeter.current?.note { $0.waited += entered - asked }
            // The client may have gone while the request waited for its turn.
            try Task.checkCancellation()
            try call.request.ledger.requireAnswerRoom()
            return try await make()
        }
    }
}
