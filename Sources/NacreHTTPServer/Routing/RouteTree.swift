/// The routes by their paths. Literal segments win over a `:parameter`, and a `:parameter` over a `*tail`. The search
/// backtracks out of a branch without a route.
struct RouteTree: Sendable {
    private struct Node: Sendable {
        var literals: [(text: [UInt8], node: Int)] = []
        var parameter: Int?
        /// The routes of a `*tail` that begins at this node; `routes` has those that end at it.
        var tailRoutes: [Route] = []
        var routes: [Route] = []
    }

    /// The result of a search: a route, or the methods that the path would take, or neither.
    enum Outcome: Sendable {
        case route(Route)
        case otherMethods([HTTPMethod])
        case nothing
    }

    private var nodes = [Node()]
    /// All routes, in the order in which they were inserted.
    private(set) var routes: [Route] = []

    mutating func insert(_ route: Route) {
        routes.append(route)
        var node = 0
        for segment in route.pattern.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            if segment.first == "*" {
                nodes[node].tailRoutes.append(route)
                return
            }
            node = segment.first == ":" ? parameterChild(of: node) : literalChild(of: node, Array(segment.utf8))
        }
        nodes[node].routes.append(route)
    }

    private mutating func literalChild(of node: Int, _ text: [UInt8]) -> Int {
        if let known = nodes[node].literals.first(where: { $0.text == text }) { return known.node }
        nodes.append(Node())
        nodes[node].literals.append((text, nodes.count - 1))
        return nodes.count - 1
    }

    private mutating func parameterChild(of node: Int) -> Int {
        if let known = nodes[node].parameter { return known }
        nodes.append(Node())
        nodes[node].parameter = nodes.count - 1
        return nodes.count - 1
    }

    func find(_ head: RequestHead) -> Outcome {
        var others: [HTTPMethod] = []
        if let route = find(head, segment: 0, node: 0, &others) { return .route(route) }
        return others.isEmpty ? .nothing : .otherMethods(others)
    }

    private func find(_ head: RequestHead, segment: Int, node: Int, _ others: inout [HTTPMethod]) -> Route? {
        if segment == head.segments.count {
            return pick(nodes[node].routes, head.method, &others)
        }
        if let child = literal(head, segment, node), let route = find(head, segment: segment + 1, node: child, &others) { return route }
        if let child = nodes[node].parameter, let route = find(head, segment: segment + 1, node: child, &others) { return route }
        return pick(nodes[node].tailRoutes, head.method, &others)
    }

    private func literal(_ head: RequestHead, _ segment: Int, _ node: Int) -> Int? {
        var text = head.slice(head.segments[segment])
        if text.contains(UInt8(ascii: "%")) {
            guard let decoded = percentDecodedBytes(text) else { return nil }
            text = decoded[...]
        }
        for literal in nodes[node].literals where literal.text.count == text.count && literal.text.elementsEqual(text) {
            return literal.node
        }
        return nil
    }

    private func pick(_ routes: [Route], _ method: HTTPMethod, _ others: inout [HTTPMethod]) -> Route? {
        guard !routes.isEmpty else { return nil }
        if let route = routes.first(where: { $0.method == method }) { return route }
        if method == .head, let route = routes.first(where: { $0.method == .get }) { return route }
        for route in routes where !others.contains(route.method) { others.append(route.method) }
        return nil
    }
}

/// One method on one pattern.
final class Route: Sendable {
    struct Parameter: Sendable {
        let name: String
        let segment: Int
        let isTail: Bool
    }

    let method: HTTPMethod
    let pattern: String
    let parameters: [Parameter]
    let bodyBytesMax: Int?
    /// Whether the route is answered even if the server is full.
    let isAlwaysAnswered: Bool
    let handler: Router.Handler

    init(method: HTTPMethod, pattern: String, bodyBytesMax: Int?, isAlwaysAnswered: Bool, handler: @escaping Router.Handler) {
        precondition(pattern.first == "/", "a pattern begins with a slash")
        self.method = method
        self.pattern = pattern
        self.bodyBytesMax = bodyBytesMax
        self.isAlwaysAnswered = isAlwaysAnswered
        self.handler = handler
        var parameters: [Parameter] = []
        for (index, segment) in pattern.dropFirst().split(separator: "/", omittingEmptySubsequences: false).enumerated() {
            guard segment.first == ":" || segment.first == "*" else { continue }
            parameters.append(Parameter(name: String(segment.dropFirst()), segment: index, isTail: segment.first == "*"))
        }
        self.parameters = parameters
    }
}
