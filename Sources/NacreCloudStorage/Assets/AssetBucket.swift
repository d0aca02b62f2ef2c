import NacreCloudWire

/// A bucket of an S3 server, in which an `AssetStorage` keeps chunks: its address, and the credentials for it.
package struct AssetBucket: Hashable, Sendable {
    /// Credentials that sign requests. Temporary ones have a session token.
    package struct Credentials: Hashable, Sendable {
        package var accessKey: String
        package var secretKey: String
        package var sessionToken: String?

        package init(accessKey: String, secretKey: String, sessionToken: String? = nil) {
            (self.accessKey, self.secretKey, self.sessionToken) = (accessKey, secretKey, sessionToken)
        }
    }

    /// `https://host[:port]`, or `http://` for this machine; no slash at its end.
    package let endpoint: String
    package let region: String
    package let name: String
    /// The beginning of the keys of all objects: empty, or with a slash at its end.
    package let prefix: String
    package let credentials: Credentials

    /// Returns the URL at which AWS answers for a region.
    private static func usualEndpoint(_ region: String) -> String { "https://s3.\(region).amazonaws.com" }
    private static let usualRegion = "us-east-1"
    private static let form = "s3://BUCKET[/PREFIX][?endpoint=URL][&region=NAME]"

    /// The reason why a URL or its environment makes no bucket, and what to write instead.
    package struct Fault: Error, Hashable, Sendable {
        package var text: String
    }

    /// - Parameters:
    ///   - url: `s3://BUCKET[/PREFIX][?endpoint=URL][&region=NAME]`.
    ///   - environment: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, and where they are set `AWS_SESSION_TOKEN`,
    ///     `AWS_REGION`, `AWS_DEFAULT_REGION`.
    package init(url: String, environment: [String: String]) throws(Fault) {
        guard url.hasPrefix("s3://") else { throw Fault(text: "give \(Self.form)") }
        let halves = url.dropFirst("s3://".count).split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = halves[0].split(separator: "/", omittingEmptySubsequences: true).map(String.init)
        guard let name = path.first, Self.isBucketName(name) else {
            throw Fault(text: "give \(Self.form), with a bucket's name of 3 to 63 of a-z 0-9 . -")
        }
        guard path.allSatisfy({ $0 != "." && $0 != ".." && $0.utf8.allSatisfy(Names.isPlain) }), url.utf8.count <= Self.urlBytes else {
            throw Fault(text: "give a prefix of A-Z a-z 0-9 . _ - /")
        }
        var options: [String: String] = [:]
        for option in halves.dropFirst().first?.split(separator: "&") ?? [] {
            let pair = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard pair.count == 2, ["endpoint", "region"].contains(pair[0]), options[pair[0]] == nil else {
                throw Fault(text: "behind ? give endpoint=URL and region=NAME, once each, and nothing else")
            }
            options[pair[0]] = pair[1]
        }
        let region = options["region"] ?? environment["AWS_REGION"] ?? environment["AWS_DEFAULT_REGION"] ?? Self.usualRegion
        guard !region.isEmpty, region.utf8.count <= 64, region.utf8.allSatisfy(Names.isPlain) else {
            throw Fault(text: "give a region such as eu-central-1")
        }
        var endpoint = options["endpoint"] ?? Self.usualEndpoint(region)
        if endpoint.hasSuffix("/") { endpoint.removeLast() }
        guard Self.isEndpoint(endpoint) else {
            throw Fault(text: "give an endpoint such as https://s3.example.com, without a path; http is for 127.0.0.1, [::1] and localhost alone")
        }
        guard let accessKey = environment["AWS_ACCESS_KEY_ID"], !accessKey.isEmpty, let secret = environment["AWS_SECRET_ACCESS_KEY"], !secret.isEmpty
        else { throw Fault(text: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment") }
        let token = environment["AWS_SESSION_TOKEN"].flatMap { $0.isEmpty ? nil : $0 }
        guard [accessKey, secret, token ?? ""].allSatisfy({ $0.utf8.allSatisfy { (0x21...0x7e).contains($0) } }) else {
            throw Fault(text: "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN are without spaces and line ends")
        }
        (self.endpoint, self.region, self.name) = (endpoint, region, name)
        prefix = path.dropFirst().map { $0 + "/" }.joined()
        credentials = Credentials(accessKey: accessKey, secretKey: secret, sessionToken: token)
    }

    /// The URL of the bucket in its written form, without credentials.
    package var url: String { "s3://\(name)\(prefix.isEmpty ? "" : "/" + prefix.dropLast())?endpoint=\(endpoint)&region=\(region)" }

    /// Host and port as a request to the endpoint names them.
    package var host: String {
        let host = endpoint.drop { $0 != "/" }.dropFirst(2)
        let usualPort = endpoint.hasPrefix("https:") ? ":443" : ":80"
        return String(host.hasSuffix(usualPort) ? host.dropLast(usualPort.count) : host)
    }

    /// The most bytes of the whole URL: keys of S3 have at most 1024.
    private static let urlBytes = 900

    private static func isBucketName(_ name: String) -> Bool {
        (3...63).contains(name.utf8.count) && name.utf8.allSatisfy { Names.isPlain($0) && !(0x41...0x5a).contains($0) && $0 != UInt8(ascii: "_") }
    }

    private static func isEndpoint(_ url: String) -> Bool {
        let isPlainHTTP = url.hasPrefix("http://")
        guard isPlainHTTP || url.hasPrefix("https://") else { return false }
        let authority = url.drop { $0 != "/" }.dropFirst(2)
        let colon = authority.hasPrefix("[") ? authority.firstRange(of: "]:")?.lowerBound : authority.lastIndex(of: ":")
        let host = authority.hasPrefix("[") ? authority.prefix { $0 != "]" } + "]" : authority.prefix(upTo: colon ?? authority.endIndex)
        let rest = authority.dropFirst(host.count)
        guard host.utf8.allSatisfy({ Names.isPlain($0) || "[]:".utf8.contains($0) }), !host.isEmpty,
            rest.isEmpty || rest.hasPrefix(":") && Int(rest.dropFirst()).map({ (1...65535).contains($0) }) == true
        else { return false }
        let isNumbers = host.utf8.allSatisfy { $0 == 0x2e || Names.isDigit($0) }
        return !isPlainHTTP || host == "localhost" || host == "[::1]" || host.hasPrefix("127.") && isNumbers
    }
}
