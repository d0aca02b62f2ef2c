/** Bulletins in the public database, posted by a program with a key of its own. Everybody can read them. */

import CloudKit from "cloudkit";

const { CLOUDKIT_CONTAINER, CLOUDKIT_ENVIRONMENT, KEY_ID, KEY_FILE = "eckey.pem" } = process.env;

// The library takes the server's URL from CLOUDKIT_SERVER_URL.
const database = CloudKit.configure({
    containers: [{
        containerIdentifier: CLOUDKIT_CONTAINER, environment: CLOUDKIT_ENVIRONMENT,
        serverToServerKeyAuth: { keyID: KEY_ID, privateKeyFile: KEY_FILE },
    }],
}).getDefaultContainer().publicCloudDatabase;

/** All bulletins, the oldest first, in pages that are fetched as they are needed. */
const bulletins = () => database.queryRecords({ recordType: "Bulletin", sortBy: { systemFieldName: "createdTimestamp" } });

/** A request succeeds as a whole; items of it that were refused are among the errors of its answer. */
function check({ errors: [first] }) {
    if (first) throw first;
}

const verbs = {
    async post(text) {
        check(await database.saveRecords({ recordType: "Bulletin", fields: { text } }));
    },
    async list() {
        for await (const { fields } of bulletins()) console.log(fields.text.value);
    },
    async correct(before, after) {
        for await (const record of bulletins()) {
            // The record has its change tag: a correction that somebody else has made meanwhile is a CONFLICT.
            if (record.fields.text.value === before) check(await database.saveRecords({ ...record, fields: { text: after } }));
        }
    },
    async clear() {
        const names = [];
        for await (const { recordName } of bulletins()) names.push(recordName);
        for (; names.length > 0;) check(await database.deleteRecords(names.splice(0, 200)));
    },
};

const [verb = "", ...words] = process.argv.slice(2);
if (!Object.hasOwn(verbs, verb) || words.length !== verbs[verb].length) {
    console.error("usage: bulletin.mjs post TEXT | list | correct TEXT TEXT | clear");
    process.exit(64);
}
try {
    await verbs[verb](...words);
} catch (error) {
    if (!(error instanceof CloudKit.CKError)) throw error;
    console.error(String(error));
    if (error.remedy) console.error(error.remedy);
    process.exitCode = 1;
}
