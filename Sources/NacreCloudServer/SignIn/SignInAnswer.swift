import FoundationEssentials
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudTasks
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer

/// Answers of the sign-in page: pages that load nothing from elsewhere and cannot be framed, but by the origin that a
/// grant names; and the token's way to the app.
enum SignInAnswer {
    /// - Parameters:
    ///   - view: gets the nonce that marks the page's own style and script.
    ///   - delivery: the redirect that the page's form may lead to.
    ///   - origin: the only origin whose pages may frame the page, without a host in brackets; nil: none.
    static func page(
        _ status: HTTPStatus, _ view: (_ nonce: String) -> HTML, formsTo delivery: TokenDelivery? = nil, retryAfter: Int? = nil,
        framedBy origin: String? = nil
    ) throws -> HTTPResponse {
        let nonce = Base64.encode(try SecureRandom.bytes(16))
        var response = HTTPResponse(status, headers: headers, body: .bytes(Array(view(nonce).text.utf8)))
        response.headers["Content-Type"] = "text/html; charset=utf-8"
        response.headers["Content-Security-Policy"] =
            "default-src 'none'; img-src data:; style-src 'nonce-\(nonce)'; script-src 'nonce-\(nonce)'; form-action 'self'\(formTarget(delivery)); "
            + "base-uri 'none'; frame-ancestors \(origin ?? "'none'")"
        // This older header can name no other origin.
        if origin != nil { response.headers["X-Frame-Options"] = nil }
        if let retryAfter { response.headers["Retry-After"] = String(retryAfter) }
        // The page contains text that the client sent beside secrets.
        response.mayCompress = false
        return response
    }

    /// Gives values to the app in the way that its API token names.
    /// - Parameter state: returned to the app with its redirect.
    static func deliver(_ values: [(name: String, value: String)], state: String?, by delivery: TokenDelivery) throws -> HTTPResponse {
        switch delivery {
        case .redirect(let callback):
            let state = state.map { [(name: "state", value: $0)] } ?? []
            return redirect(to: callback.url(with: values + state))
        case .message(let origin):
            let message = Dictionary(values, uniquingKeysWith: { first, _ in first })
            let json = String(decoding: try JSONEncoder().encode(Delivery(message: message, origin: origin.text)), as: UTF8.self)
            // In a script element only this character could end the element.
            let data = HTML(trusted: json.replacing("<", with: "\\u003c"))
            return try page(.ok, SignInViews.delivery(data, isGranted: message["errorMessage"] == nil))
        }
    }

    /// - Parameter url: made of what an administrator registered and of escaped values.
    static func redirect(to url: String) -> HTTPResponse {
        var response = HTTPResponse(.seeOther, headers: headers)
        response.headers["Location"] = url
        return response
    }

    private struct Delivery: Encodable {
        var message: [String: String]
        var origin: String
    }

    /// `same-origin`, not `no-referrer`: with the latter a browser sends `Origin: null` with this server's own form.
    static let headers: HTTPHeaders = [
        "Cache-Control": "no-store", "Referrer-Policy": "same-origin", "X-Frame-Options": "DENY", "Cross-Origin-Resource-Policy": "same-origin",
    ]

    /// The target of the form's redirect: Chromium checks the redirect after a form against the form's targets. A host
    /// in brackets cannot be written in a policy, so its scheme is allowed instead.
    private static func formTarget(_ delivery: TokenDelivery?) -> String {
        guard case .redirect(let callback)? = delivery else { return "" }
        let place = callback.place
        if place.contains("["), let colon = place.firstIndex(of: ":") { return " " + place[...colon] }
        return " " + place
    }
}
