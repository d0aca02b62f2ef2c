import Foundation

/// Asks the server about a container's user; the operation under functions of `CKContainer`. It fails with
/// `notAuthenticated` without an account.
final class ContainerCall<Value: Sendable>: CKOperation, @unchecked Sendable {
    // Sendable: see `CKOperation`; only the callback queue touches `value`.

    private let asked: CKContainer
    private let ask: @Sendable (Conversation) async throws(CKError) -> Value
    private let completion: @Sendable (Result<Value, CKError>) -> Void
    private var value: Value?

    init(
        _ container: CKContainer, ask: @escaping @Sendable (Conversation) async throws(CKError) -> Value,
        completion: @escaping @Sendable (Result<Value, CKError>) -> Void
    ) {
        asked = container
        self.ask = ask
        self.completion = completion
        super.init()
        configuration = container.configuration.map(CKOperation.Configuration.init(values:))
        group = container.group
    }

    override var builtInQuality: QualityOfService { .userInitiated }

    override func run() async throws(CKError) {
        guard try asked.line.settings().accountToken != nil else { throw .needsAccount }
        let conversation = Conversation(
            line: asked.line, scope: .public, patience: Patience(resolvedConfiguration, quality: builtInQuality), group: group?.note)
        let value = try await ask(conversation)
        report { self.value = value }
    }

    override func deliver(_ error: CKError?) {
        if let error {
            completion(.failure(error))
        } else {
            completion(value.map(Result.success) ?? .failure(.unexpectedAnswer))
        }
    }
}
