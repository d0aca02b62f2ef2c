import FoundationEssentials
import NacreCloudContainer
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer

/// What the sign-in page answers with: pages that take no part of anybody else's and stand in no other, and the token's way to the app.
enum SignInAnswer {
    /// - Parameters:
    ///   - view: is given the number by which the page's style and script are told from any other.
    ///   - delivery: where the page's form may lead by a redirect.
    static func page(
        _ status: HTTPStatus, _ view: (_ nonce: String) -> HTML, formsTo delivery: TokenDelivery? = nil, retryAfter: Int? = nil
    ) throws -> HTTPResponse {
        let nonce = Base64.encode(try SecureRandom.bytes(16))
        var response = HTTPResponse(status, headers: headers, body: .bytes(Array(view(nonce).text.utf8)))
        response.headers["Content-Type"] = "text/html; charset=utf-8"
        response.headers["Content-Security-Policy"] =
            "default-src 'none'; style-src 'nonce-\(nonce)'; script-src 'nonce-\(nonce)'; form-action 'self'\(formTarget(delivery)); "
            + "base-uri 'none'; frame-ancestors 'none'"
        if let retryAfter { response.headers["Retry-After"] = String(retryAfter) }
        // What a client sent stands beside secrets.
        response.mayCompress = false
        return response
    }

    /// Gives values to the app, by the one way that is its own.
    /// - Parameter state: what the app gets back with its redirect.
    static func deliver(_ values: [(name: String, value: String)], state: String?, by delivery: TokenDelivery) throws -> HTTPResponse {
        switch delivery {
        case .redirect(let callback):
            let state = state.map { [(name: "state", value: $0)] } ?? []
            return redirect(to: callback.url(with: values + state))
        case .message(let origin):
            let message = Dictionary(values, uniquingKeysWith: { first, _ in first })
            let json = String(decoding: try JSONEncoder().encode(Delivery(message: message, origin: origin.text)), as: UTF8.self)
            // Inside a script element only this can end it.
            let data = HTML(trusted: json.replacing("<", with: "\\u003c"))
            return try page(.ok, SignInViews.delivery(data, isGranted: message["errorMessage"] == nil))
        }
    }

    /// - Parameter url: made of what an administrator has registered, and of escaped values.
    static func redirect(to url: String) -> HTTPResponse {
        var response = HTTPResponse(.seeOther, headers: headers)
        response.headers["Location"] = url
        return response
    }

    private struct Delivery: Encodable {
        var message: [String: String]
        var origin: String
    }

    /// `same-origin`, and not `no-referrer`: with that a browser says `Origin: null` of our own form.
    static let headers: HTTPHeaders = [
        "Cache-Control": "no-store", "Referrer-Policy": "same-origin", "X-Frame-Options": "DENY", "Cross-Origin-Resource-Policy": "same-origin",
    ]

    /// Chromium holds the redirect behind a form to the form's targets. A host in brackets cannot be written in a policy; its scheme stands for it.
    private static func formTarget(_ delivery: TokenDelivery?) -> String {
        guard case .redirect(let callback)? = delivery else { return "" }
        let place = callback.place
        if place.contains("["), let colon = place.firstIndex(of: ":") { return " " + place[...colon] }
        return " " + place
    }
}
