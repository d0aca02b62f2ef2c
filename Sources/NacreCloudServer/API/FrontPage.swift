import NacreCloudWire
import NacreHTTPServer

/// `/`: describes the server and links to its pages, as HTML for people and as JSON for programs.
enum FrontPage {
    static let path = "/"

    private static let links: [(name: String, path: String, text: HTML)] = [
        ("openapi", OpenAPIPage.documentPath, "everything that can be asked, for programs"),
        ("api", OpenAPIPage.path, "the same as a page that tries calls"),
        ("errors", ErrorsPage.path, "what each error means and what to do"),
        ("limits", "/limits", "every limit, with its source"),
        ("version", "/version", "what this is"),
        ("health", "/healthz", "whether the process lives; /readyz, whether it can serve"),
    ]

    private static let json: [UInt8] = {
        let members = links.map { ",\"\($0.name)\":\"\($0.path)\"" }.joined()
        return Array(#"{"name":"nacre","serverVersion":"\#(ServerVersion.current)"\#(members)}"#.utf8)
    }()

    static func addRoute(to router: inout Router) {
        router.get(path) { request, _ in
            guard request.header("Accept")?.contains("text/html") == true else { return .json(json) }
            return try SignInAnswer.page(.ok, SignInViews.page(title: "Nacre", style: style, body))
        }
    }

    private static let body: HTML = """
        <h1>Nacre</h1>
        <p>This is a CloudKit server, version \(ServerVersion.current). Apps reach it through the CloudKit framework, or by CloudKit Web Services under \
        <code>/database/1</code>.</p>
        <h2>Next, on its machine</h2>
        <pre>nacre up iCloud.com.example.Notes
        eval "$(nacre env)"</pre>
        <h2>Here</h2>
        <ul>
        \(HTML(joining: links.map { "<li><a href=\"\(String($0.path.dropFirst()))\">\($0.path)</a>: \($0.text)</li>\n" }))
        </ul>
        """

    private static let style = HTML(
        trusted: """

            body { display: block }
            main { max-width: 46rem; margin: 0 auto }
            h2 { font-size: 1.0625rem; margin: 1.5rem 0 .25rem }
            ul { padding-left: 1.25rem; margin: .25rem 0 }
            code, pre { font-family: ui-monospace, monospace; font-size: .875rem }
            pre { overflow: auto; padding: .75rem; border-radius: .5rem; background: var(--page) }
            """)
}
