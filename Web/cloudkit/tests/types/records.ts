// Types of records, made by nacre schema types: make them again when the schema changes.

import type * as CloudKit from "../../cloudkit";

/** A record of the type CloudKit. A field without a value is not there. */
export interface CloudKit2 extends CloudKit.RecordReceived {
    recordType: "CloudKit";
    fields: {
        text?: CloudKit.TypedField<"STRING">;
    };
}

/** A record of the type CloudKit to save. */
export interface CloudKit2ToSave extends CloudKit.RecordToSave {
    recordType: "CloudKit";
    fields?: {
        text?: CloudKit.TypedFieldToSave<"STRING">;
    };
}

/** A record of the type Note. A field without a value is not there. */
export interface Note extends CloudKit.RecordReceived {
    recordType: "Note";
    fields: {
        at?: CloudKit.TypedField<"TIMESTAMP">;
        counts?: CloudKit.TypedField<"INT64_LIST">;
        data?: CloudKit.TypedField<"BYTES">;
        friend?: CloudKit.TypedField<"REFERENCE">;
        friends?: CloudKit.TypedField<"REFERENCE_LIST">;
        moments?: CloudKit.TypedField<"TIMESTAMP_LIST">;
        picture?: CloudKit.TypedField<"ASSETID">;
        pictures?: CloudKit.TypedField<"ASSETID_LIST">;
        pieces?: CloudKit.TypedField<"BYTES_LIST">;
        place?: CloudKit.TypedField<"LOCATION">;
        places?: CloudKit.TypedField<"LOCATION_LIST">;
        price?: CloudKit.TypedField<"DOUBLE">;
        prices?: CloudKit.TypedField<"DOUBLE_LIST">;
        secret?: CloudKit.SealedField<"STRING">;
        secrets?: CloudKit.SealedField<"STRING_LIST">;
        stars?: CloudKit.TypedField<"INT64">;
        tags?: CloudKit.TypedField<"STRING_LIST">;
        text?: CloudKit.TypedField<"STRING">;
        type?: CloudKit.TypedField<"STRING">;
    };
}

/** A record of the type Note to save. */
export interface NoteToSave extends CloudKit.RecordToSave {
    recordType: "Note";
    fields?: {
        at?: CloudKit.TypedFieldToSave<"TIMESTAMP">;
        counts?: CloudKit.TypedFieldToSave<"INT64_LIST">;
        data?: CloudKit.TypedFieldToSave<"BYTES">;
        friend?: CloudKit.TypedFieldToSave<"REFERENCE">;
        friends?: CloudKit.TypedFieldToSave<"REFERENCE_LIST">;
        moments?: CloudKit.TypedFieldToSave<"TIMESTAMP_LIST">;
        picture?: CloudKit.TypedFieldToSave<"ASSETID">;
        pictures?: CloudKit.TypedFieldToSave<"ASSETID_LIST">;
        pieces?: CloudKit.TypedFieldToSave<"BYTES_LIST">;
        place?: CloudKit.TypedFieldToSave<"LOCATION">;
        places?: CloudKit.TypedFieldToSave<"LOCATION_LIST">;
        price?: CloudKit.TypedFieldToSave<"DOUBLE">;
        prices?: CloudKit.TypedFieldToSave<"DOUBLE_LIST">;
        secret?: CloudKit.SealedField<"STRING">;
        secrets?: CloudKit.SealedField<"STRING_LIST">;
        stars?: CloudKit.TypedFieldToSave<"INT64">;
        tags?: CloudKit.TypedFieldToSave<"STRING_LIST">;
        text?: CloudKit.TypedFieldToSave<"STRING">;
        type?: CloudKit.TypedFieldToSave<"STRING">;
    };
}

/** A record of the type NoteToSave. A field without a value is not there. */
export interface NoteToSave2 extends CloudKit.RecordReceived {
    recordType: "NoteToSave";
    fields: {
        text?: CloudKit.TypedField<"STRING">;
    };
}

/** A record of the type NoteToSave to save. */
export interface NoteToSave2ToSave extends CloudKit.RecordToSave {
    recordType: "NoteToSave";
    fields?: {
        text?: CloudKit.TypedFieldToSave<"STRING">;
    };
}

/** A record of the type Users. A field without a value is not there. */
export interface Users extends CloudKit.RecordReceived {
    recordType: "Users";
    fields: {
        roles?: CloudKit.TypedField<"INT64_LIST">;
    };
}

/** A record of the type Users to save. */
export interface UsersToSave extends CloudKit.RecordToSave {
    recordType: "Users";
    fields?: {
        roles?: CloudKit.TypedFieldToSave<"INT64_LIST">;
    };
}

/** A record of the type cloudkit.share. A field without a value is not there. */
export interface CloudkitShare extends CloudKit.RecordReceived {
    recordType: "cloudkit.share";
    fields: {
        "cloudkit.thumbnailImageData"?: CloudKit.TypedField<"BYTES">;
        "cloudkit.title"?: CloudKit.TypedField<"STRING">;
        "cloudkit.type"?: CloudKit.TypedField<"STRING">;
    };
}

/** A record of the type cloudkit.share to save. */
export interface CloudkitShareToSave extends CloudKit.RecordToSave {
    recordType: "cloudkit.share";
    fields?: {
        "cloudkit.thumbnailImageData"?: CloudKit.TypedFieldToSave<"BYTES">;
        "cloudkit.title"?: CloudKit.TypedFieldToSave<"STRING">;
        "cloudkit.type"?: CloudKit.TypedFieldToSave<"STRING">;
    };
}

/** A record of the type string. A field without a value is not there. */
export interface String extends CloudKit.RecordReceived {
    recordType: "string";
    fields: {
        text?: CloudKit.TypedField<"STRING">;
    };
}

/** A record of the type string to save. */
export interface StringToSave extends CloudKit.RecordToSave {
    recordType: "string";
    fields?: {
        text?: CloudKit.TypedFieldToSave<"STRING">;
    };
}
