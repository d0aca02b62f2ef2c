import Testing

@testable import NacreHTTPServer

/// Tests of form fields as browsers send them.
@Suite struct FormFieldsTests {
    @Test(
        arguments: [
            ("a=b", "b"), ("a=b&a=c", "b"), ("x=y&a=b%26c%3Dd", "b&c=d"), ("a=one+two%2B", "one two+"), ("a=", ""), ("a", ""), ("%61=b", "b"),
            ("a=%C3%A4", "ä"),
            ("&&a=b&", "b"), ("a=b=c", "b=c"), ("a=%zz&a=c", "c"), ("a=%&a=c", "c"), ("a=%00&a=c", "c"), ("a=\0&a=c", "c"), ("a=%FF&a=c", "c"),
            ("a=\r\n", "\r\n"),
        ] as [(String, String)])
    func `a field is found by its name, and the first one counts`(_ body: String, _ value: String) {
        #expect(FormFields(Array(body.utf8))["a"] == value)
    }

    @Test(arguments: ["", "b=a", "A=b", "a%00=b", "+a=b", "a[]=b", "=a"]) func `a field that is not there is none`(_ body: String) {
        #expect(FormFields(Array(body.utf8))["a"] == nil)
    }
}
