/// Predicates as apps write them, and the filters of a query: `stars > 3 AND title BEGINSWITH "Gro" AND NOT tags CONTAINS "old"`.

/// A text that is no predicate, and the place of the fault.
export class PredicateError extends Error {
    constructor(message, at) {
        super(message);
        this.at = at;
    }
}

/// Operators of the builder: how they are written, and for what fields they are.
export const operators = {
    "=": { title: "is", comparator: "EQUALS" },
    "!=": { title: "is not", comparator: "NOT_EQUALS" },
    "<": { title: "less than", comparator: "LESS_THAN" },
    "<=": { title: "at most", comparator: "LESS_THAN_OR_EQUALS" },
    ">": { title: "more than", comparator: "GREATER_THAN" },
    ">=": { title: "at least", comparator: "GREATER_THAN_OR_EQUALS" },
    BEGINSWITH: { title: "begins with", comparator: "BEGINS_WITH" },
    CONTAINS: { title: "contains", comparator: "LIST_CONTAINS" },
    IN: { title: "is one of", comparator: "IN" },
    NEAR: { title: "is near", comparator: "NEAR" },
};

/// The operators that a type of field has.
export function operatorsOf(type, isList) {
    if (isList) return ["CONTAINS", "IN"];
    return { STRING: ["=", "!=", "BEGINSWITH", "CONTAINS", "IN", "<", "<=", ">", ">="], LOCATION: ["NEAR"], REFERENCE: ["=", "!=", "IN"],
        ASSET: [], BYTES: ["=", "!="] }[type]
        ?? ["=", "!=", "<", "<=", ">", ">=", "IN"];
}

const word = /^(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?![\w-])|(<=|>=|==|!=|<>|=<|=>|&&|[=<>{}(),])|([A-Za-z_%][\w.%-]*))/i;

function tokens(text) {
    const list = [];
    let at = 0;
    for (;;) {
        at += /^\s*/.exec(text.slice(at))[0].length;
        if (at >= text.length) return list;
        const found = word.exec(text.slice(at));
        if (!found) throw new PredicateError(`Cannot read ${text.slice(at, at + 12)}`, at);
        const [whole, double, single, numeral, sign, name] = found;
        const quoted = double ?? single;
        if (quoted !== undefined) list.push({ kind: "text", value: quoted.replace(/\\(.)/g, "$1"), at });
        else if (numeral !== undefined) list.push({ kind: "number", value: Number(numeral), at });
        else if (sign !== undefined) list.push({ kind: "sign", value: { "==": "=", "<>": "!=", "=<": "<=", "=>": ">=", "&&": "AND" }[sign]
            ?? sign, at });
        else list.push({ kind: "name", value: name, at });
        at += whole.length;
    }
}

/// Reads a predicate: `[{ field, operator, value, isNot }]`, all of which must hold. A value is a text, a number, or a list of them.
export function parse(text) {
    const list = tokens(text);
    let at = 0;
    const peek = () => list[at];
    const isWord = (name) => peek() && peek().kind !== "text" && String(peek().value).toUpperCase() === name;
    const fail = (message) => { throw new PredicateError(message, peek()?.at ?? text.length); };
    function take(name) {
        if (!isWord(name)) fail(`${name} is missing`);
        at += 1;
    }
    function value() {
        if (isWord("{")) {
            at += 1;
            const values = [];
            while (!isWord("}")) {
                if (!peek()) fail("} is missing");
                values.push(value());
                if (isWord(",")) at += 1;
            }
            at += 1;
            return values;
        }
        const token = peek();
        if (!token || token.kind === "sign") fail("A value is missing");
        at += 1;
        if (token.kind === "name") {
            const known = { TRUE: 1, YES: 1, FALSE: 0, NO: 0 }[token.value.toUpperCase()];
            if (known === undefined) throw new PredicateError(`Put texts in quotation marks: "${token.value}"`, token.at);
            return known;
        }
        return token.value;
    }
    function condition() {
        let isNot = false;
        if (isWord("NOT")) {
            at += 1;
            isNot = true;
        }
        if (isWord("(")) {
            at += 1;
            const inner = condition();
            take(")");
            return { ...inner, isNot: isNot !== inner.isNot };
        }
        if (isWord("TRUEPREDICATE")) {
            at += 1;
            return null;
        }
        // `"food" IN tags` and `ANY tags = "food"` are other spellings of `tags CONTAINS "food"`.
        if (isWord("ANY")) {
            at += 1;
            const field = name();
            take("=");
            return { field, operator: "CONTAINS", value: value(), isNot };
        }
        if (peek()?.kind === "text" || peek()?.kind === "number") {
            const first = value();
            take("IN");
            return { field: name(), operator: "CONTAINS", value: first, isNot };
        }
        const field = name();
        let operator = String(peek()?.value ?? "").toUpperCase();
        if (operator === "NOT") {
            at += 1;
            isNot = !isNot;
            operator = String(peek()?.value ?? "").toUpperCase();
        }
        if (!operators[operator] || peek().kind === "text") fail(`An operator is missing: ${Object.keys(operators).join(" ")}`);
        at += 1;
        return { field, operator, value: value(), isNot };
    }
    function name() {
        const token = peek();
        if (token?.kind !== "name") fail("The name of a field is missing");
        at += 1;
        return token.value;
    }
    const conditions = [];
    while (peek()) {
        if (isWord("OR") || isWord("||")) fail("CloudKit has no OR: ask two queries");
        if (conditions.length > 0 || at > 0) take("AND");
        const one = condition();
        if (one) conditions.push(one);
        if (peek() && isWord("OR")) fail("CloudKit has no OR: ask two queries");
    }
    return conditions;
}

const quote = (value) => (Array.isArray(value) ? `{${value.map(quote).join(", ")}}` : typeof value === "number" ? String(value)
    : `"${String(value).replace(/["\\]/g, "\\$&")}"`);

/// Writes conditions as a predicate.
export const print = (conditions) => conditions.map(({ field, operator, value,
    isNot }) => `${isNot ? "NOT " : ""}${field} ${operator} ${quote(value)}`).join(" AND ");

const systemNames = { recordName: "___recordID", recordID: "___recordID", creationDate: "___createTime", createdTimestamp: "___createTime",
    modificationDate: "___modTime",
    modifiedTimestamp: "___modTime", creatorUserRecordID: "___createdBy", lastModifiedUserRecordID: "___modifiedBy", parent: "___parent",
        share: "___share" };
const systemType = (name) => (/^___.*Time$/.test(name) ? "TIMESTAMP" : name.startsWith("___") ? "REFERENCE" : undefined);

/// The name of a field in a schema.
export const schemaName = (field) => systemNames[field] ?? field;

/// The value of a filter for a field of a type.
function filterValue(value, type, at) {
    switch (type) {
        case "TIMESTAMP": {
            const time = typeof value === "number" ? value : Date.parse(value);
            if (Number.isNaN(time)) throw new PredicateError(`${value} is no date: write "2026-01-31" or "2026-01-31T12:00"`, at);
            return time;
        }
        case "REFERENCE": return { recordName: String(value) };
        case "INT64": case "DOUBLE":
            if (typeof value !== "number") throw new PredicateError(`"${value}" is no number`, at);
            return value;
        default: return value;
    }
}

/// The `filterBy` of a query. `fields` are those of the type: `{ name: { type, isList } }`.
export function filters(conditions, fields) {
    return conditions.map(({ field, operator, value, isNot }) => {
        const not = isNot ? "NOT_" : "";
        if (/^self$/i.test(field)) {
            if (operator !== "CONTAINS" || isNot) throw new PredicateError("A search for words is: self CONTAINS \"words\"");
            return { comparator: "CONTAINS_ALL_TOKENS", fieldValue: { value: String(value), type: "STRING" } };
        }
        const fieldName = schemaName(field);
        const known = fields[fieldName];
        const type = known?.type ?? systemType(fieldName);
        const one = (single) => ({ value: filterValue(single, type), ...(type ? { type } : {}) });
        const many = () => ({ value: [value].flat().map((single) => filterValue(single, type)), type: `${type ?? "STRING"}_LIST` });
        if (operator === "NEAR") {
            const [latitude, longitude, metres = 1000] = [value].flat();
            if (isNot || typeof latitude !== "number"
                || typeof longitude !== "number") throw new PredicateError(`A place is: ${field} NEAR {latitude, longitude, metres}`);
            return { fieldName, comparator: "NEAR", fieldValue: { value: { latitude, longitude }, type: "LOCATION" }, distance: metres };
        }
        if (operator === "CONTAINS") {
            if (!known?.isList) {
                if (isNot) throw new PredicateError(`${field} is no list: a search for words has no NOT`);
                return { fieldName, comparator: "CONTAINS_ALL_TOKENS", fieldValue: { value: String(value), type: "STRING" } };
            }
            return Array.isArray(value) ? { fieldName, comparator: `${not}LIST_CONTAINS_ALL`, fieldValue: many() }
                : { fieldName, comparator: `${not}LIST_CONTAINS`, fieldValue: one(value) };
        }
        if (operator === "IN") return { fieldName, comparator: known?.isList ? `${not}LIST_CONTAINS_ANY` : `${not}IN`, fieldValue: many() };
        if (Array.isArray(value)) throw new PredicateError(`${operator} compares with one value, and IN with a list`);
        if (operator === "BEGINSWITH") return { fieldName, comparator: `${not}${known?.isList ? "LIST_MEMBER_" : ""}BEGINS_WITH`,
            fieldValue: one(value) };
        const turned = isNot ? { "=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">" }[operator] : operator;
        return { fieldName, comparator: operators[turned].comparator, fieldValue: one(value) };
    });
}

/// The request of a page: the body of a `records/query`.
export function request({ type, conditions = [], sort, zone, owner, fields = {}, limit = 200, marker, desiredKeys }) {
    const query = { recordType: type };
    if (conditions.length) query.filterBy = filters(conditions, fields);
    if (sort) query.sortBy = [{ fieldName: schemaName(sort.replace(/^-/, "")), ascending: !sort.startsWith("-") }];
    return {
        ...(zone === "*" ? { zoneWide: true } : zone && zone !== "_defaultZone" ? { zoneID: { zoneName: zone, ...(owner
            ? { ownerRecordName: owner } : {}) } } : {}),
        query, resultsLimit: limit, ...(marker ? { continuationMarker: marker } : {}), ...(desiredKeys ? { desiredKeys } : {}),
    };
}
