/// CloudKit's schema language, read for pages: `{ roles, types: [{ name, fields: [{ name, type, isList, isEncrypted, options }], grants }] }`.
/// The server is who judges a text; this reads what the server wrote.

const token = /\s+|--[^\n]*|\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:[^"]|"")*"|[(),;<>]|[^\s(),;<>"]+/g;

export function readSchema(text) {
    const list = (text.match(token) ?? []).filter((one) => !/^(\s|--|\/\/|\/\*)/.test(one));
    const bare = (one) => (one?.startsWith("\"") ? one.slice(1, -1).replaceAll("\"\"", "\"") : one);
    const schema = { roles: [], types: [] };
    let at = 0;
    while (at < list.length) {
        const upper = list[at].toUpperCase();
        if (upper === "ROLE") schema.roles.push(bare(list[at + 1]));
        if (upper === "TYPE" && list[at - 1]?.toUpperCase() === "RECORD") {
            const type = { name: bare(list[at + 1]), fields: [], grants: [] };
            at += 3;
            while (at < list.length && list[at] !== ")") {
                const line = [];
                while (at < list.length && !(list[at] === "," && !isInGrant(line)) && list[at] !== ")") line.push(list[at++]);
                if (list[at] === ",") at += 1;
                if (line[0]?.toUpperCase() === "GRANT") {
                    const to = line.findIndex((one) => one.toUpperCase() === "TO");
                    type.grants.push({ permissions: line.slice(1, to).filter((one) => one !== ",").map((one) => one.toUpperCase()),
                        role: bare(line[to + 1]) });
                } else if (line.length) type.fields.push(readField(line.map(bare)));
            }
            schema.types.push(type);
        }
        at += 1;
    }
    return schema;
}

/// Whether a comma belongs to the permissions of a grant that has no TO yet.
const isInGrant = (line) => line[0]?.toUpperCase() === "GRANT" && !line.some((one) => one.toUpperCase() === "TO");

function readField([name, ...rest]) {
    const isEncrypted = rest[0]?.toUpperCase() === "ENCRYPTED";
    if (isEncrypted) rest = rest.slice(1);
    const isList = rest[0]?.toUpperCase() === "LIST";
    const type = (isList ? rest[2] : rest[0])?.toUpperCase() ?? "STRING";
    return { name, type, isList, isEncrypted, isSystem: name.startsWith("___"),
        options: rest.slice(isList ? 4 : 1).map((one) => one.toUpperCase()).filter((one) => /^(QUERYABLE|SORTABLE|SEARCHABLE)$/.test(one)) };
}

/// A field's type as the schema language writes it.
export const typeText = (field) => `${field.isEncrypted ? "ENCRYPTED " : ""}${field.isList ? `LIST<${field.type}>` : field.type}`;

/// The type of a value on the wire.
export const wireType = (field) => field.type + (field.isList ? "_LIST" : "");

const ranks = { STRING: 0, INT64: 1, DOUBLE: 1, TIMESTAMP: 2, REFERENCE: 3, LOCATION: 7, ASSET: 8, BYTES: 10 };
const rank = (field) => (field.isEncrypted ? 9 : field.isList ? 6 : ranks[field.type] ?? 5);

/// Fields for people: texts first, which tell records apart; then numbers, times and links; then what one line only hints at.
export const inOrder = (fields) => [...fields].sort((one, other) => rank(one) - rank(other));
