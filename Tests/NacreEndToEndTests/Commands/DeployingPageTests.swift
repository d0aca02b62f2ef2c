import Foundation
import Glibc
import NacreCloudTestSupport
import Testing

/// Tests of the proxies in `docs/deploying.md`, set up as on the page except for name, ports and certificates, with
/// TLS.
@Suite(.timeLimit(.minutes(5))) struct DeployingPageTests {
    enum Proxy: String, CaseIterable {
        case nginx, caddy

        var program: String { self == .nginx ? "/usr/sbin/nginx" : "/usr/bin/caddy" }
    }

    private static let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "docs/deploying.md")

    /// Returns the single block of the page in this language.
    private static func block(_ language: String) throws -> String {
        let parts = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "```\(language)\n")
        try #require(parts.count == 2)
        return try #require(parts[1].components(separatedBy: "```").first)
    }

    /// Returns the page's text with this machine's name, ports and certificate, in a complete configuration for the
    /// proxy.
    private static func configuration(
        _ proxy: Proxy, port: Int, server: RunningServer, _ certificate: (certificate: String, key: String)
    ) throws -> String {
        let text = try block(proxy.rawValue).replacing("127.0.0.1:8787", with: "127.0.0.1:\(server.port)")
        let place = server.scratch
        switch proxy {
        case .nginx:
            try #require(text.contains("listen 443 ssl") && text.contains("/etc/ssl/certs/cloud.example.com.pem"))
            let here = text.replacing("listen 443 ssl", with: "listen 127.0.0.1:\(port) ssl").replacing(
                "server_name cloud.example.com", with: "server_name localhost"
            )
            .replacing("/etc/ssl/certs/cloud.example.com.pem", with: certificate.certificate)
            .replacing("/etc/ssl/private/cloud.example.com.key", with: certificate.key)
            let folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(place)/nginx-\($0);" }.joined(separator: "\n")
            return """
                daemon off; user root; pid \(place)/nginx.pid; error_log stderr; worker_processes 1;
                events {}
                http { access_log off; \(folders)
                \(here)
                }
                """
        case .caddy:
            try #require(text.hasPrefix("cloud.example.com {"))
            let here = text.replacing("cloud.example.com {", with: "https://localhost:\(port) {\n\ttls \(certificate.certificate) \(certificate.key)")
            return "{\n\tadmin off\n\tauto_https off\n\tskip_install_trust\n\tstorage file_system \(place)/caddy\n}\n\(here)"
        }
    }

    @Test(arguments: Proxy.allCases.filter { mayRun(FileManager.default.isExecutableFile(atPath: $0.program)) })
    func `behind the proxy of the page records, files of several megabytes and notifications come through`(proxy: Proxy) async throws {
        let authority = try Authority()
        let certificate = try authority.certificate(for: ["DNS:localhost"])
        let port = try QuietPort.any()
        let url = "https://localhost:\(port)"
        try await RunningServer.with(["--public-url", url, "--trusted-proxy", "127.0.0.1", "--log-level", "info"]) { server in
            let file = "\(server.scratch)/\(proxy.rawValue).conf"
            try Self.configuration(proxy, port: port, server: server, certificate).write(toFile: file, atomically: true, encoding: .utf8)
            let errors = "\(server.scratch)/\(proxy.rawValue).err"
            let arguments = proxy == .nginx ? ["-c", file] : ["run", "--adapter", "caddyfile", "--config", file]
            let environment = ["HOME": server.scratch, "XDG_DATA_HOME": server.scratch, "XDG_CONFIG_HOME": server.scratch, "PATH": "/usr/bin:/bin"]
            let pid = try Program(proxy.program, arguments, in: server.scratch, environment: environment).start(errors: errors)
            defer {
                kill(pid, SIGTERM)
                Program.awaitEnd(of: pid)
                _ = Program.reap(pid)
            }
            let up = try await Administrator(server: server).run(["up", Administrator.container])
            #expect(up.status == 0, "\(up.messages)")
            let tools = URL(filePath: Launched.executable).deletingLastPathComponent().path
            let variables = ProcessInfo.processInfo.environment.merging([
                "CLOUDKIT_CA_FILE": authority.file, "CURL_CA_BUNDLE": authority.file, "PROXY": url, "ERRORS": errors,
                "PATH": "\(tools):/usr/local/bin:/usr/bin:/bin",
            ]) { $1 }
            let (status, output) = try await Program(
                "/bin/bash", ["-euo", "pipefail", "-c", Self.script], in: server.scratch, environment: variables
            ).run()
            let text = String(decoding: output, as: UTF8.self)
            #expect(status == 0 && text.hasSuffix("done\n"), "\(text) \((try? String(contentsOfFile: errors, encoding: .utf8)) ?? "")")
            let stopped = try await server.stop()
            let log = try server.process.errorText
            // A client's own header about its address is ignored.
            #expect(stopped == 0 && log.contains("\"route\":\"/healthz\"") && !log.contains("192.0.2.7"))
        }
    }

    /// Uses the proxy alone. It waits for events: a stream's first bytes, a downloaded file.
    private static let script = #"""
        exec 2>&1
        . ./.env
        export CLOUDKIT_SERVER_URL=$PROXY CLOUDKIT_CONTAINER CLOUDKIT_ENVIRONMENT CLOUDKIT_API_TOKEN CLOUDKIT_ACCOUNT_TOKEN
        # Until the proxy listens.
        curl -fsS --retry 100 --retry-delay 0 --retry-connrefused --retry-max-time 30 -H 'X-Forwarded-For: 192.0.2.7' "$PROXY/healthz"; echo
        nacre record put one --type Note --set text=hello --format json | grep -q '"value":"hello"'
        nacre record get one --format json | grep -q '"value":"hello"'
        root=$PROXY/database/1/$CLOUDKIT_CONTAINER/$CLOUDKIT_ENVIRONMENT/private
        ask() { curl -fsS -H "Authorization: Bearer $CLOUDKIT_ACCOUNT_TOKEN" "$root/$1" --data "$2"; }
        # A file larger than what proxies keep in memory, or take at all unless they are told.
        head -c 5000000 /dev/urandom > picture
        upload=$(ask assets/upload '{"tokens": [{"recordType": "Note", "fieldName": "picture", "recordName": "sea"}]}' | jq -r '.tokens[0].url')
        [[ $upload == $PROXY/* ]]
        receipt=$(curl -fsS "$upload" --data-binary @picture | jq -c .singleFile)
        ask records/modify '{"operations": [{"operationType": "create", "record": {"recordName": "sea", "recordType": "Note",
            "fields": {"picture": {"value": '"$receipt"', "type": "ASSETID"}}}}]}' > sea.json
        curl -fsS "$(jq -r '.records[0].fields.picture.value.downloadURL' sea.json)" -o fetched
        cmp picture fetched
        # The event stream says something as soon as it is open: a proxy that gathers would keep it.
        mkfifo stream
        timeout 30 curl -fsSN -H "Authorization: Bearer $CLOUDKIT_ACCOUNT_TOKEN" "$PROXY/device/1/$CLOUDKIT_CONTAINER/$CLOUDKIT_ENVIRONMENT/notifications?clientId=test" > stream &
        read -r -t 30 line < stream
        echo "the stream begins: $line"
        kill $! || true
        echo done
        """#
}
