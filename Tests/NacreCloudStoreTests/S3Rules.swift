import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import NacreCrypto
import Testing

@testable import NacreCloudStore

/// Tests without a server: signatures, listings, and names of buckets.
struct S3RulesTests {
    private static let empty = HexText.encode(SHA256.digest([]))

    private struct Vector: Sendable, CustomTestStringConvertible {
        var name: String
        var request: S3Signature.Request
        var signature: String
        var testDescription: String { name }
    }

    // The examples of AWS's documentation, "Authenticating Requests: Using the Authorization Header (AWS Signature
    // Version 4)".
    private static let host = (name: "Host", value: "examplebucket.s3.amazonaws.com")
    private static let time = "20130524T000000Z"

    private static func vector(
        _ name: String, _ method: String, _ path: String, query: [(name: String, value: String)] = [], headers: [(name: String, value: String)] = [],
        body: String = "", _ signature: String
    ) -> Vector {
        let payload = HexText.encode(SHA256.digest(Array(body.utf8)))
        return Vector(
            name: name,
            request: S3Signature.Request(
                method: method, path: path, query: query,
                headers: [host, (name: "x-amz-date", value: time), (name: "x-amz-content-sha256", value: payload)] + headers, payload: payload),
            signature: signature)
    }

    private static let vectors = [
        vector(
            "GET Object", "GET", "/test.txt", headers: [(name: "Range", value: "bytes=0-9")],
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
        vector(
            "PUT Object", "PUT", "/" + S3Signature.encoded("test$file.text"),
            headers: [(name: "Date", value: "Fri, 24 May 2013 00:00:00 GMT"), (name: "x-amz-storage-class", value: "REDUCED_REDUNDANCY")],
            body: "Welcome to Amazon S3.", "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
        vector(
            "GET Bucket Lifecycle", "GET", "/", query: [(name: "lifecycle", value: "")],
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        vector(
            "GET Bucket (List Objects)", "GET", "/", query: [(name: "prefix", value: "J"), (name: "max-keys", value: "2")],
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ]

    @Test(arguments: vectors) private func `requests are signed as AWS's own examples are`(vector: Vector) {
        let credentials = AssetBucket.Credentials(accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
        let signed = S3Signature(credentials: credentials, region: "us-east-1").authorization(of: vector.request, at: Self.time)
        #expect(signed.hasPrefix("AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders="))
        #expect(signed.hasSuffix("Signature=" + vector.signature))
    }

    @Test func `the first request of AWS's test suite has its signature, and white space does not count`() {
        let credentials = AssetBucket.Credentials(accessKey: "AKIDEXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
        let signature = S3Signature(credentials: credentials, region: "us-east-1", service: "service")
        var request = S3Signature.Request(
            method: "GET", path: "/", headers: [(name: "Host", value: "example.amazonaws.com"), (name: "X-Amz-Date", value: "20150830T123600Z")],
            payload: Self.empty)
        let wanted =
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, "
            + "Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
        #expect(signature.authorization(of: request, at: "20150830T123600Z") == wanted)
        request.headers[0].value = "  example.amazonaws.com "
        #expect(signature.authorization(of: request, at: "20150830T123600Z") == wanted)
        request.method = "HEAD"
        #expect(signature.authorization(of: request, at: "20150830T123600Z") != wanted)
    }

    @Test(arguments: [(0, "19700101T000000Z"), (1_440_938_160, "20150830T123600Z"), (1_709_251_199, "20240229T235959Z")])
    func `moments are written as signatures have them`(seconds: Int, text: String) {
        #expect(S3Signature.time(seconds) == text)
    }

    @Test func `a listing is read with its entities, and what is none is none`() {
        let page = """
            <?xml version="1.0"?><ListBucketResult xmlns="x"><Name>b</Name><KeyCount>2</KeyCount><IsTruncated>true</IsTruncated>
            <Contents><Key>a&amp;b&#x2F;&#99;</Key><LastModified>now</LastModified><Size>12</Size></Contents>
            <Contents><Size>0</Size><Key>d</Key></Contents><NextContinuationToken>t&lt;&quot;=</NextContinuationToken></ListBucketResult>
            """
        let listing = S3Listing(Array(page.utf8))
        #expect(listing?.objects == [.init(key: "a&b/c", size: 12), .init(key: "d", size: 0)] && listing?.next == "t<\"=")
        #expect(S3Listing(Array(page.replacing(">true<", with: ">false<").utf8))?.next == nil)
        for broken in [
            page.replacing("<Size>12</Size>", with: ""), page.replacing("&amp;", with: "&bad;"), page.replacing("NextC", with: "C"),
            page.replacing("ListBucketResult", with: "Other"), "", "<html>",
        ] { #expect(S3Listing(Array(broken.utf8)) == nil, "\(broken)") }
        #expect(S3Listing.errorCode(Array("<Error><Code>SlowDown</Code></Error>".utf8)) == "SlowDown")
        #expect(S3Listing.errorCode(Array("<html>".utf8)) == nil)
    }

    private static let keys = ["AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret"]

    @Test(arguments: [
        ("s3://photos", "s3://photos?endpoint=https://s3.us-east-1.amazonaws.com&region=us-east-1", "s3.us-east-1.amazonaws.com"),
        (
            "s3://photos/a/b/?region=eu-central-1", "s3://photos/a/b?endpoint=https://s3.eu-central-1.amazonaws.com&region=eu-central-1",
            "s3.eu-central-1.amazonaws.com"
        ),
        ("s3://photos?endpoint=http://127.0.0.1:9000/", "s3://photos?endpoint=http://127.0.0.1:9000&region=us-east-1", "127.0.0.1:9000"),
        ("s3://photos?endpoint=http://[::1]:9000", "s3://photos?endpoint=http://[::1]:9000&region=us-east-1", "[::1]:9000"),
        (
            "s3://photos?endpoint=https://minio.example.com:443", "s3://photos?endpoint=https://minio.example.com:443&region=us-east-1",
            "minio.example.com"
        ),
    ]) func `a bucket is named by a URL`(url: String, whole: String, host: String) throws {
        let bucket = try AssetBucket(url: url, environment: Self.keys)
        #expect(bucket.url == whole && bucket.host == host && !bucket.url.contains("secret"))
        #expect(try AssetBucket(url: bucket.url, environment: Self.keys) == bucket)
    }

    @Test func `region and token come from the environment where the URL does not say them`() throws {
        let more = Self.keys.merging(["AWS_REGION": "eu-west-1", "AWS_SESSION_TOKEN": "token"]) { $1 }
        let bucket = try AssetBucket(url: "s3://photos", environment: more)
        #expect(bucket.region == "eu-west-1" && bucket.credentials.sessionToken == "token")
        #expect(try AssetBucket(url: "s3://photos?region=here", environment: more).region == "here")
    }

    @Test(arguments: [
        "photos", "s3://", "s3://ab", "s3://Photos", "s3://photos/../x", "s3://photos/a b", "s3://photos?endpoint=ftp://x",
        "s3://photos?endpoint=http://minio:9000", "s3://photos?endpoint=https://user@host", "s3://photos?endpoint=https://host/path",
        "s3://photos?endpoint=https://host:0", "s3://photos?key=1",
        "s3://photos?region=a&region=b", "s3://photos?region=", "s3://photos?endpoint=http://127.0.0.1.evil.example", "s3://photos?endpoint=https://",
    ]) func `another URL is refused, with what to write`(url: String) {
        let fault = #expect(throws: AssetBucket.Fault.self) { try AssetBucket(url: url, environment: Self.keys) }
        #expect(fault?.text.hasPrefix("give ") == true || fault?.text.hasPrefix("behind ? give") == true)
    }

    @Test func `without credentials there is no bucket`() {
        for environment in [[:], ["AWS_ACCESS_KEY_ID": "a"], ["AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b\r\nX: y"]] {
            #expect(throws: AssetBucket.Fault.self) { try AssetBucket(url: "s3://photos", environment: environment) }
        }
    }

    @Test func `a data folder says where its files are, and nobody takes one place for the other`() async throws {
        let folder = try TemporaryFolder()
        let home = AssetHome(folder: folder.path)
        let bucket = try AssetBucket(url: "s3://photos", environment: Self.keys)
        try home.requireFiles()
        #expect(try home.mayBegin(bucket))
        try home.note(bucket)
        #expect(try !home.mayBegin(bucket))
        let error = #expect(throws: StoreError.self) { try home.requireFiles() }
        #expect(error?.code == .inUse && error?.values["bucket"] == bucket.url && error?.values["remedy"]?.contains("--assets") == true)
        let other = try AssetBucket(url: "s3://others", environment: Self.keys)
        try home.note(other)
        #expect(#expect(throws: StoreError.self) { try home.requireFiles() }?.values["bucket"] == other.url)
    }
}
