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

    /// The codes of CloudKit Web Services, and the framework's: the former have a status.
    private static let (web, native) = (ErrorGuide.all.filter { $0.status != nil }, ErrorGuide.all.filter { $0.status == nil })

    private static let body: HTML = """
        <h1>Errors</h1>
        <p>Codes of CloudKit Web Services are in the member <code>serverErrorCode</code> of an answer, those of the framework in \
        <code>CKError.Code</code>. The command <code>nacre explain</code> says the same.</p>
        <nav aria-label="Contents">
        <h2>CloudKit Web Services</h2>
        \(contents(web))
        <h2>The framework</h2>
        \(contents(native))
        </nav>
        \(HTML(joining: ErrorGuide.all.map(section)))
        """

    private static func contents(_ guides: [ErrorGuide]) -> HTML {
        "<ul>\(HTML(joining: guides.map { "<li><a href=\"#\($0.name)\"><code>\($0.name)</code></a></li>\n" }))</ul>"
    }

    private static func section(_ guide: ErrorGuide) -> HTML {
        let status: HTML? = guide.status.map { "HTTP \(String($0)) · " }
        return """
            <section id="\(guide.name)">
            <h2><code>\(guide.name)</code></h2>
            <p class="hint">\(status)\(guide.framework)</p>
            <p>\(guide.cause)</p>
            <p><strong>What to do:</strong> \(guide.fix)</p>
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
            nav ul { list-style: none; margin: .5rem 0; padding: 0; columns: 17rem; column-gap: 1.5rem }
            nav li { padding: .125rem 0 }
            section:target { outline: 2px solid var(--accent); outline-offset: .5rem; border-radius: .25rem }
            code { font-family: ui-monospace, monospace; font-size: .875rem; overflow-wrap: anywhere }
            h2 code { font-size: inherit }
            """)
}
