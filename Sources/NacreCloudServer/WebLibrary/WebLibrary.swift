import NacreHTTPServer

/// CloudKit JS, as `Scripts/cloudkit-js/make` makes it of the files of `Web/cloudkit`: the classic script, the module and
/// the service worker of Web Push.
///
/// The files hold no secret, and pages of every origin get them.
enum WebLibrary {
    static let path = "/ck/:version/:file"

    /// The versions of Apple's library whose addresses the files have.
    private static let versions: Set = ["1", "2"]

    private static let workerName = "cloudkit-worker.js"

    static let files = ConsoleFile.packed(embedded)

    static func addRoute(to router: inout Router) {
        router.get(path) { request, parameters in
            let version = try parameters.require("version")
            let name = try parameters.require("file")
            var fields = headers(isBuild: version == buildVersion)
            // Without it, the worker would be good for pages below its own folder alone.
            if name == workerName { fields["Service-Worker-Allowed"] = "/" }
            guard versions.contains(version) || version == buildVersion, let file = files[name],
                let response = ConsoleFile.response(file, type: "text/javascript; charset=utf-8", headers: fields, to: request)
            else { throw HTTPError(.notFound, "CloudKit JS has no such file.") }
            return response
        }
    }

    /// - Parameter isBuild: true: the address names the build, and its file never changes.
    private static func headers(isBuild: Bool) -> HTTPHeaders {
        [
            "Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin", "X-Content-Type-Options": "nosniff",
            "Cache-Control": isBuild ? "public, max-age=31536000, immutable" : "public, max-age=600",
        ]
    }
}
