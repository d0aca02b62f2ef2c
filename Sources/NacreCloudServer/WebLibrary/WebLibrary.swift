import NacreCloudWire
import NacreCrypto
import NacreHTTPServer

/// CloudKit JS, as `Scripts/cloudkit-js/make` makes it of the files of `Web/cloudkit`: the classic script, the module,
/// the modules for encrypted values and their recovery words, the service worker of Web Push, their types, and a
/// `package.json` for a folder with all of them.
///
/// The files hold no secret, and pages of every origin get them.
package enum WebLibrary {
    static let path = "/ck/:version/:file"

    /// The versions of Apple's library whose addresses the files have.
    private static let versions: Set = ["1", "2"]

    static let files = ConsoleFile.packed(embedded)

    static func addRoute(to router: inout Router) {
        router.get(path) { request, parameters in
            let version = try parameters.require("version")
            let name = try parameters.require("file")
            guard versions.contains(version) || version == buildVersion, let file = files[name],
                let response = ConsoleFile.response(
                    file, type: mediaType(of: name), headers: headers(of: name, isBuild: version == buildVersion), to: request)
            else { throw HTTPError(.notFound, "CloudKit JS has no such file.") }
            return response
        }
    }

    private static func mediaType(of name: String) -> String {
        if name.hasSuffix("ts") { return "application/typescript; charset=utf-8" }
        return name.hasSuffix(".json") ? "application/json" : "text/javascript; charset=utf-8"
    }

    /// - Parameter isBuild: true: the address names the build, and its file never changes.
    private static func headers(of name: String, isBuild: Bool) -> HTTPHeaders {
        var headers: HTTPHeaders = [
            "Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin", "X-Content-Type-Options": "nosniff",
            "Cache-Control": isBuild ? "public, max-age=31536000, immutable" : "public, max-age=600",
        ]
        // Deno takes the types of an imported module from here.
        let types = name.replacing(".mjs", with: ".d.mts")
        if types != name, files[types] != nil { headers["X-TypeScript-Types"] = "./\(types)" }
        // Without it, the worker would be good for pages below its own folder alone.
        if name == "cloudkit-worker.js" { headers["Service-Worker-Allowed"] = "/" }
        return headers
    }

    // MARK: Integrity

    /// The script and the modules of this program that pages run.
    package static let scripts: [Script] = [
        "cloudkit.js", "cloudkit.mjs", "cloudkit-encryption.mjs", "cloudkit-recovery-words.mjs",
    ].compactMap { name in
        files[name].flatMap { Compression.gunzip($0.gzip, length: $0.length) }.map { Script(name: name, content: $0) }
    }

    package struct Script: Sendable {
        /// The name of the file.
        package var name: String
        package var content: [UInt8]

        /// The address below the server's URL that has these very bytes as long as the server is of this build.
        package var path: String { "/ck/\(WebLibrary.buildVersion)/\(name)" }

        /// The value of an element's `integrity`: the hash of the bytes as Subresource Integrity writes it.
        package var integrity: String { WebLibrary.integrity(of: content) }

        /// An element for a page's head. With that of the classic script a browser runs these bytes and no others. The
        /// module gets a link that loads it ahead, as a page imports it by its address: only browsers that check the
        /// `integrity` of `modulepreload` refuse other bytes.
        /// - Parameter url: The server's URL without a slash at its end; empty for pages of the server's own origin.
        package func element(url: String) -> String {
            let address = "\(url)\(path)"
            return name.hasSuffix(".mjs")
                ? "<link rel=\"modulepreload\" href=\"\(address)\" integrity=\"\(integrity)\" crossorigin=\"anonymous\">"
                : "<script src=\"\(address)\" integrity=\"\(integrity)\" crossorigin=\"anonymous\" async></script>"
        }
    }

    package static func integrity(of content: [UInt8]) -> String { "sha256-\(Base64.encode(SHA256.digest(content)))" }
}
