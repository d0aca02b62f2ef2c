/** Records with the types that `nacre schema types` has made of `records.ckdb`, for the compiler alone. */

import CloudKit, { Asset, Database, Location, Reference } from "../../cloudkit";
import type { CloudkitShare, CloudKit2, Note, NoteToSave, NoteToSave2, String as OfTypeString, Users } from "./records";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : never;
type ValueOf<Name extends keyof Note["fields"]> = NonNullable<Note["fields"][Name]>["value"];

/** Each type of a field has its value. */
export const values: [
    Same<ValueOf<"text">, string>, Same<ValueOf<"stars">, number>, Same<ValueOf<"price">, number>, Same<ValueOf<"at">, number>,
    Same<ValueOf<"data">, string>, Same<ValueOf<"place">, Location>, Same<ValueOf<"friend">, Reference>, Same<ValueOf<"picture">, Asset>,
    Same<ValueOf<"secret">, string>, Same<ValueOf<"tags">, string[]>, Same<ValueOf<"counts">, number[]>, Same<ValueOf<"prices">, number[]>,
    Same<ValueOf<"moments">, number[]>, Same<ValueOf<"pieces">, string[]>, Same<ValueOf<"places">, Location[]>,
    Same<ValueOf<"friends">, Reference[]>, Same<ValueOf<"pictures">, Asset[]>, Same<ValueOf<"secrets">, string | string[]>,
    Same<Users["recordType"], "Users">, Same<CloudkitShare["recordType"], "cloudkit.share">, Same<CloudKit2["recordType"], "CloudKit">,
    Same<NoteToSave2["recordType"], "NoteToSave">, Same<OfTypeString["recordType"], "string">,
] = [
    true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true,
];

export async function typed(database: Database): Promise<string | undefined> {
    const bare: NoteToSave = {
        recordType: "Note",
        fields: {
            text: "bread", stars: 4, at: new Date(), data: new Uint8Array(4), place: { latitude: 1, longitude: 2 }, picture: new Blob([]),
            friend: CloudKit.toRecordReference("a"), tags: ["a"], moments: [new Date(), 0], pictures: [new Blob([])], price: null,
        },
    };
    const wrapped: NoteToSave = { recordType: "Note", fields: { text: { value: "bread" }, at: { value: new Date(), type: "TIMESTAMP" } } };
    const { records: [saved] } = await database.saveRecords<Note>([bare, wrapped]);
    // A record of an answer can be saved back, with its sealed values.
    const again: NoteToSave = { ...saved, fields: { ...saved.fields, text: { value: "wine" } } };
    await database.saveRecords([saved, again]);
    let page = await database.performQuery<Note>({ recordType: "Note" });
    while (page.moreComing) page = await database.performQuery(page);
    for await (const { fields, created, recordChangeTag } of database.queryRecords<Note>({ recordType: "Note" })) {
        const stars: number = (fields.stars?.value ?? 0) + created.timestamp + recordChangeTag.length;
        console.log(stars, fields.picture?.value.downloadURL, fields.secret?.isEncrypted);
    }
    // @ts-expect-error a field has one type
    const wrongValue: NoteToSave = { recordType: "Note", fields: { stars: "four" } };
    // @ts-expect-error a record has no other fields than those of its type
    const wrongField: NoteToSave = { recordType: "Note", fields: { txet: "bread" } };
    // @ts-expect-error a type has its name
    const wrongType: NoteToSave = { recordType: "Notes" };
    // @ts-expect-error an encrypted value is not saved in the clear
    const plain: NoteToSave = { recordType: "Note", fields: { secret: "bread" } };
    console.log(wrongValue, wrongField, wrongType, plain);
    // @ts-expect-error a field may be absent
    return page.records[0].fields.text.value;
}
