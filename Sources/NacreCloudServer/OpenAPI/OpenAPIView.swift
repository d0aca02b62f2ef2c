/// The page at `/openapi`: fields that all calls need at the top, then the endpoints, which its script makes from the
/// document.
enum OpenAPIView {
    static func page(_ nonce: String) -> HTML {
        """
        \(SignInViews.head(title: "What this server can be asked", style: style, nonce))
        <body>
        <main>
        <div class="shell" aria-hidden="true"></div>
        <h1>What this server can be asked</h1>
        <p>CloudKit Web Services, accounts, and what the server tells of itself. All of it is in <a href="openapi.json">openapi.json</a>.</p>
        <noscript><p class="problem">This page needs JavaScript. openapi.json says the same.</p></noscript>
        <form id="common">
        <fieldset><legend>For every call</legend>
        <div class="fields">
        <label>Container <input name="container" autocomplete="off" spellcheck="false" placeholder="e.g. iCloud.com.example.Notes"></label>
        <label>Environment <select name="environment"><option>development</option><option>production</option></select></label>
        <label>Database <select name="database"><option>private</option><option>public</option><option>shared</option></select></label>
        <label>API token <input name="ckAPIToken" type="password" class="secret" autocomplete="off" spellcheck="false"></label>
        <label>Web auth token <input name="ckWebAuthToken" type="password" class="secret" autocomplete="off" spellcheck="false"></label>
        <label>Account token <input name="bearer" type="password" class="secret" autocomplete="off" spellcheck="false"></label>
        </div>
        <p class="check"><input type="checkbox" id="reveal"> <label for="reveal">Show tokens</label></p>
        <p class="hint">Tokens stay on this page, and go to this server alone. An account token goes without the other two.</p>
        </fieldset>
        <label>Search <input id="search" type="search" autocomplete="off" placeholder="e.g. records"></label>
        </form>
        <p id="state" role="status">Reading openapi.json …</p>
        <nav id="contents" aria-label="Contents"></nav>
        <div id="endpoints"></div>
        </main>
        <script nonce="\(nonce)">\(OpenAPIScript.text)</script>
        </body>
        </html>

        """
    }

    /// Styles added to those of the sign-in page, whose colours it uses.
    private static let style = HTML(
        trusted: """

            body { display: block }
            main { max-width: 62rem; margin: 0 auto }
            h2 { font-size: 1.125rem; margin: 1.75rem 0 .5rem }
            fieldset { border: 1px solid var(--line); border-radius: .5rem; margin: 0; padding: .5rem 1rem; min-width: 0 }
            legend { padding: 0 .375rem; color: var(--quiet) }
            .fields { display: grid; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); gap: 0 1rem }
            select, textarea { display: block; width: 100%; min-height: 2.75rem; margin-top: .25rem; padding: .5rem .75rem; font: inherit;
            color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: .5rem }
            textarea, pre, code { font-family: ui-monospace, monospace; font-size: .875rem }
            textarea { min-height: 11rem; resize: vertical }
            ::placeholder { color: var(--quiet); opacity: 1; font-style: italic }
            nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem }
            label input:not([type=checkbox]), label select, label textarea { font-weight: 400 }
            summary::before { content: '▸' }
            [open] > summary::before { content: '▾' }
            pre { overflow: auto; max-height: 30rem; padding: .75rem; margin: .5rem 0; border-radius: .5rem; background: var(--page);
            white-space: pre-wrap; overflow-wrap: anywhere }
            details { border-top: 1px solid var(--line) }
            summary { display: flex; flex-wrap: wrap; gap: 0 .75rem; align-items: baseline; padding: .625rem 0; cursor: pointer }
            summary code { font-weight: 600; overflow-wrap: anywhere }
            .method { flex: 0 0 4.25rem; font: 600 .8125rem ui-monospace, monospace; color: var(--accent) }
            .what { color: var(--quiet); flex: 1 1 14rem }
            details > div { padding: 0 0 1rem }
            h3 { font-size: 1rem; margin: 1rem 0 .25rem }
            .answer-status { font-weight: 600 }
            .bad { color: var(--bad) }
            button { flex: 0 0 auto }
            """)
}
