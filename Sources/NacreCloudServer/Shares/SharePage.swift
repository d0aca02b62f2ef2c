import NacreHTTPServer

/// `/share/{short GUID}`, the URL of a share, for who opens it in a browser: says where it is to be opened.
///
/// It looks at nothing, so that it is one answer whether there is such a share, whoever asks.
enum SharePage {
    static let path = "/share/:shortGUID"

    static func addRoute(to router: inout Router) {
        router.get(path) { _, _ in try SignInAnswer.page(.ok, SignInViews.page(title: "Something is shared with you", body)) }
    }

    private static let body: HTML = """
        <h1>Something is shared with you</h1>
        <p>This link is for an app. Copy it, and open it in the app on a device where you are signed in: the app says what it leads to, and whether \
        it is for you.</p>
        <p class="hint">Nothing works there? Ask who sent it whether you are invited, with the address that you sign in with.</p>
        """
}
