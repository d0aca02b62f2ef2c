import CoreLocation
import Foundation

@testable import CloudKit

/// Formats that CloudKit refuses, and formats that cannot be parsed.
enum PredicateRefusals {
    private static let place = CLLocation(latitude: 50, longitude: 10)

    static let all = unsupported + values + unreadable

    private static let unsupported: [PredicateRow] = [
        .fails("a = 1 OR b = 2", text: "OR is not supported: 'a == 1 OR b == 2'"),
        .fails("a = 1 || b = 2", text: "OR is not supported: 'a == 1 OR b == 2'"),
        .fails("c = 0 AND (a = 1 OR b = 2)", text: "OR is not supported: 'a == 1 OR b == 2'"),
        .fails("NOT (a = 1 OR b = 2)", text: "OR is not supported: 'a == 1 OR b == 2'"),
        .fails("FALSEPREDICATE AND (a = 1 OR b = 2)", text: "OR is not supported: 'a == 1 OR b == 2'"),
        .fails("NOT (a = 1 AND b = 2)", text: "NOT cannot be applied to AND: 'NOT (a == 1 AND b == 2)'"),
        .fails("NOT a BETWEEN {1, 2}", text: "NOT cannot be applied to BETWEEN: 'NOT a BETWEEN {1, 2}'"),
        .fails("NOT self CONTAINS 'x'", text: "NOT cannot be applied to a search of words: 'NOT SELF CONTAINS \"x\"'"),
        .fails("a LIKE 'x*'", text: "LIKE is not supported: 'a LIKE \"x*\"'"),
        .fails("a MATCHES[c] 'x.*'", text: "Options such as [c] and [d] are for the search of words alone: 'a MATCHES[c] \"x.*\"'"),
        .fails("a MATCHES 'x.*'", text: "MATCHES is not supported: 'a MATCHES \"x.*\"'"),
        .fails("a ENDSWITH 'x'", text: "ENDSWITH is not supported: 'a ENDSWITH \"x\"'"),
        .fails("a BEGINSWITH[cd] 'x'", text: "Options such as [c] and [d] are for the search of words alone: 'a BEGINSWITH[cd] \"x\"'"),
        .fails("a =[c] 'x'", text: "Options such as [c] and [d] are for the search of words alone: 'a ==[c] \"x\"'"),
        .fails("a CONTAINS [cd] 'x'", text: "Options such as [c] and [d] are for the search of words alone: 'a CONTAINS[cd] \"x\"'"),
        .fails("ALL tags = 'x'", text: "ALL is not supported: 'ALL tags == \"x\"'"),
        .fails("ALL tags IN {'x'}", text: "ALL is not supported: 'ALL tags IN {\"x\"}'"),
        .fails("ANY tags > 1", text: "ANY is supported with =, IN, CONTAINS and BEGINSWITH alone: 'ANY tags > 1'"),
        .fails("ANY tags != 1", text: "ANY is supported with =, IN, CONTAINS and BEGINSWITH alone: 'ANY tags != 1'"),
        .fails("owner.name = 'x'", text: "A key must be an ASCII letter, then ASCII letters, digits or underscores, without dots: 'owner.name'"),
        .fails("SELF.name = 'x'", text: "A key must be an ASCII letter, then ASCII letters, digits or underscores, without dots: 'SELF.name'"),
        .fails("tags.@count = 2", text: "A key must be an ASCII letter, then ASCII letters, digits or underscores, without dots: 'tags.@count'"),
        .fails("_a = 2", text: "A key must be an ASCII letter, then ASCII letters, digits or underscores, without dots: '_a'"),
        .fails("größe = 2", text: "A key must be an ASCII letter, then ASCII letters, digits or underscores, without dots: 'größe'"),
        .fails("%K = 2", "a.b", text: "A key must be an ASCII letter, then ASCII letters, digits or underscores, without dots: 'a.b'"),
        .fails("a = b", text: "A comparison needs a key on one side and a value on the other: 'b == a'"),
        .fails("1 = 1", text: "A comparison needs a key on one side and a value on the other: '1 == 1'"),
        .fails("%@ = 5", "name", text: "A comparison needs a key on one side and a value on the other: '\"name\" == 5'"),
        .fails("SELF = %@", CKRecord.ID(recordName: "r"), text: "A comparison needs a key on one side and a value on the other: 'SELF == <r>'"),
        .fails("a + 1 = 2", text: "The function is not supported: 'add:to:(a, 1)'"),
        .fails("a = 1 + 2", text: "The function is not supported: 'add:to:(1, 2)'"),
        .fails("a = 2 * 3 - 4", text: "The function is not supported: 'from:subtract:(multiply:by:(2, 3), 4)'"),
        .fails("a[0] = 2", text: "The function is not supported: 'objectFrom:withIndex:(a, 0)'"),
        .fails("a[SIZE] = 2", text: "The function is not supported: 'objectFrom:withIndex:(a, SIZE)'"),
        .fails("a > CAST('x', 'NSDate')", text: "The function is not supported: 'CAST(\"x\", \"NSDate\")'"),
        .fails("count(a) = 2", text: "The function is not supported: 'count(a)'"),
        .fails("a = uppercase:('x')", text: "The function is not supported: 'uppercase:(\"x\")'"),
        .fails("FUNCTION(a, 'length') = 2", text: "The function is not supported: 'FUNCTION(a, \"length\")'"),
        .fails("a = -b", text: "The function is not supported: 'negate:(b)'"),
        .fails("tags CONTAINS {1}", text: "A list cannot contain a list: use ANY: '{1}'"),
        .fails("%@ IN tags", [[1]], text: "A list cannot contain a list: use ANY: '{{1}}'"),
        .fails("a BETWEEN {1}", text: "BETWEEN needs a list of two values: 'a BETWEEN {1}'"),
        .fails("a BETWEEN 1", text: "BETWEEN needs a list of two values: 'a BETWEEN 1'"),
        .fails("a BEGINSWITH 1", text: "BEGINSWITH needs a String: '1'"),
        .fails("self CONTAINS 5", text: "A search of words needs a String: '5'"),
        .fails("self CONTAINS %@", ["a", "b"], text: "A search of words needs a String: '{\"a\", \"b\"}'"),
        .fails("a = $NAME", text: "The variable has no value: '$NAME'"),
        .fails(
            "distanceToLocation:fromLocation:(at, %@) > 10", place,
            text: "A distance can only be tested to be less than a radius: 'distanceToLocation:fromLocation:(at, <50.0,10.0>) > 10'"),
        .fails(
            "NOT distanceToLocation:fromLocation:(at, %@) < 10", place,
            text: "A distance can only be tested to be less than a radius: 'NOT distanceToLocation:fromLocation:(at, <50.0,10.0>) < 10'"),
        .fails("distanceToLocation:fromLocation:(at, 5) < 10", text: "A distance needs a CLLocation: '5'"),
        .fails(
            "distanceToLocation:fromLocation:(at) < 10",
            text: "A distance needs a key and a location: 'distanceToLocation:fromLocation:(at) < 10'"),
        .fails("distanceToLocation:fromLocation:(at, %@) < 'x'", place, text: "A radius must be a number of metres: '\"x\"'"),
    ]

    private static let kinds =
        "A value must be a String, a number, a Date, Data, a CLLocation, a CKRecord, its ID, a reference to it, or an array of one of these"

    private static let values: [PredicateRow] = [
        .fails("a = NULL", text: "A field cannot be compared with nil: 'a == NULL'"),
        .fails("a != nil", text: "A field cannot be compared with nil: 'a != NULL'"),
        .fails("a = %@", nil, text: "A field cannot be compared with nil: 'a == NULL'"),
        .fails("a = %@", NSNull(), text: "A field cannot be compared with nil: 'a == NULL'"),
        .fails("a = %@", String?.none, text: "A field cannot be compared with nil: 'a == NULL'"),
        .fails("a = %@", URLRequestStandIn(), text: "\(kinds): 'URLRequestStandIn'"),
        .fails("a = %@", UUID(), text: "\(kinds): 'UUID'"),
        .fails("a IN %@", [UUID()], text: "\(kinds): 'UUID'"),
        .fails("a = %@", ["k": 1], text: "\(kinds): 'Dictionary<String, Int>'"),
        .fails("a = %@", Double.nan, text: "A number, date or coordinate must be finite: 'nan'"),
        .fails("a = %@", UInt64.max, text: "An integer must fit 64 bits with a sign: '18446744073709551615'"),
        .fails("a IN {1, 'x'}", text: "The elements of a list must have one type: '{1, \"x\"}'"),
        .fails("a IN {{1}, {2}}", text: "A list cannot hold lists: '{{1}, {2}}'"),
        .fails("a IN {b}", text: "A comparison needs a key on one side and a value on the other: 'a IN {b}'"),
        .fails("a = %d", "x", text: "The argument must be a number at character 5: '%d'"),
        .fails("%K = 1", 5, text: "The argument of a key must be a String at character 1: '%K'"),
        .fails("a = %@ AND b = %@", 1, text: "The format has more placeholders than arguments at character 16: '%@'"),
    ]

    private static let unreadable: [PredicateRow] = [
        .fails("", text: "Expected a key or a value at the end"),
        .fails("   ", text: "Expected a key or a value at the end"),
        .fails("a", text: "Expected a comparison such as '=' or 'CONTAINS' at the end"),
        .fails("a =", text: "Expected a key or a value at the end"),
        .fails("= 1", text: "Expected a key or a value at character 1: '='"),
        .fails("a = 1 AND", text: "Expected a key or a value at the end"),
        .fails("a = 1 b = 2", text: "Expected AND, OR or the end at character 7: 'b'"),
        .fails("(a = 1", text: "Expected ')' at the end"),
        .fails("a = 1)", text: "Expected AND, OR or the end at character 6: ')'"),
        .fails("(a = 1) = 2", text: "Expected AND, OR or the end at character 9: '='"),
        .fails("a = 'x", text: "The text is not closed at character 5: ''x'"),
        .fails("a = '語", text: "The text is not closed at character 5: ''語'"),
        .fails("語 = '\\u12'", text: "The escape names no character at character 6: '\\u12''"),
        .fails("a = '\\ud800'", text: "The escape names no character at character 6: '\\ud800'"),
        .fails("a ~ 1", text: "Unexpected character at character 3: '~'"),
        .fails("a = 1;", text: "Unexpected character at character 6: ';'"),
        .fails("a = %c", 65, text: "Unknown conversion at character 5: '%c'"),
        .fails("a = %5@", 1, text: "Unknown conversion at character 5: '%5@'"),
        .fails("a = %*d", 1, text: "Unknown conversion at character 5: '%*'"),
        .fails("a = %s", 1, text: "The argument must be a text of C or a String at character 5: '%s'"),
        .fails("a = %2$@", 1, text: "The format has more placeholders than arguments at character 5: '%2$@'"),
        .fails("a = %0$@", 1, text: "Positions of arguments are 1, 2 and so on at character 5: '%0$'"),
        .fails("a = %99999999999999999999$@", 1, text: "Positions of arguments are 1, 2 and so on at character 5: '%99999999999999999999$'"),
        .fails("a = %f", CGFloat.infinity, text: "A number, date or coordinate must be finite: 'inf'"),
        .fails("a = %", text: "Expected a conversion after '%' at character 5: '%'"),
        .fails("a = %%", text: "Unknown conversion at character 5: '%%'"),
        .fails("# = 1", text: "Expected a name after '#' at character 1: '#'"),
        .fails("a = $", text: "Expected a name after '$' at character 5: '$'"),
        .fails("a = 12x", text: "The number cannot be read at character 5: '12'"),
        .fails("a = 0x", text: "The number cannot be read at character 5: '0x'"),
        .fails("a = 0b12", text: "The number cannot be read at character 5: '0b12'"),
        .fails("a = 99999999999999999999", text: "The number cannot be read at character 5: '99999999999999999999'"),
        .fails("a = 9223372036854775808", text: "The number does not fit 64 bits with a sign at character 5: '9223372036854775808'"),
        .fails("a = 1e999", text: "The number cannot be read at character 5: '1e999'"),
        .fails("and = 1", text: "A key that is a reserved word is written with '#' at character 1: 'and'"),
        .fails("a = AND", text: "A key that is a reserved word is written with '#' at character 5: 'AND'"),
        .fails("SUBQUERY(a, $x, $x = 1) = 2", text: "SUBQUERY is not supported at character 1: 'SUBQUERY'"),
        .fails("a CONTAINS[x] 'y'", text: "Expected options such as 'c', 'd' or 'cd' at character 12: 'x'"),
        .fails("a CONTAINS[c 'y'", text: "Expected ']' at character 14: ''y''"),
        .fails("a IN {1, 2", text: "Expected ',' or '}' at the end"),
        .fails("a IN {1 2}", text: "Expected ',' or '}' at character 9: '2'"),
        .fails("a. = 1", text: "Expected a key after '.' at character 4: '='"),
        .fails("count:x = 1", text: "Expected '(' after a function's name at character 9: '='"),
        .fails("f(1, = 2", text: "Expected a key or a value at character 6: '='"),
        .fails("a NOT IN {1}", text: "Expected a comparison such as '=' or 'CONTAINS' at character 3: 'NOT'"),
        .fails(
            String(repeating: "(", count: 200) + "a = 1" + String(repeating: ")", count: 200),
            text: "Too many parts inside each other at character 102: '('"),
        .fails("a = 1" + String(repeating: "+1", count: 500), text: "Too many parts inside each other at character 206: '+'"),
        .fails("a" + String(repeating: "[0]", count: 500) + " = 1", text: "Too many parts inside each other at character 303: '0'"),
        .fails(String(repeating: "NOT ", count: 200) + "a = 1", text: "Too many parts inside each other at character 405: 'NOT'"),
    ]
}

/// A class that no field can hold.
struct URLRequestStandIn: Sendable {}
