import NacreCloudContainer
import NacreCloudWire
import NacreHTTPServer

/// `/errors`: the page that explains every error. `X-Nacre-Help` of a refusal links to its code here.
enum ErrorsPage {
    static let path = "/errors"

    static func addRoute(to router: inout Router) {
        router.get(path) { _, _ in try SignInAnswer.page(.ok, SignInViews.page(title: "Errors", style: style, body)) }
    }

    /// The path and fragment of a code's explanation, from the root of the server.
    static func place(of code: ServerErrorCode) -> String { "\(path)#\(code.rawValue)" }

    private static let body: HTML = """
        <h1>Errors</h1>
        <p>Codes of CloudKit Web Services first, in the member <code>serverErrorCode</code> of an answer; then those of the framework, \
        <code>CKError.Code</code>. The command <code>nacre explain</code> says the same.</p>
        \(HTML(joining: ErrorGuide.all.map(section)))
        """

    private static func section(_ guide: ErrorGuide) -> HTML {
        let status: HTML? = guide.status.map { "HTTP \(String($0)) · " }
        return """
            <section id="\(guide.name)">
            <h2><code>\(guide.name)</code></h2>
            <p class="hint">\(status)\(guide.framework)</p>
            <p>\(guide.cause)</p>
            <p>\(guide.fix)</p>
            </section>

            """
    }

    private static let style = HTML(
        trusted: """

            body { display: block }
            main { max-width: 46rem; margin: 0 auto }
            h2 { font-size: 1.0625rem; margin: 1.75rem 0 0 }
            h2 + p { margin-top: .125rem }
            section p { margin: .25rem 0 }
            section:target { outline: 2px solid var(--accent); outline-offset: .5rem; border-radius: .25rem }
            code { font-family: ui-monospace, monospace; overflow-wrap: anywhere }
            """)
}
