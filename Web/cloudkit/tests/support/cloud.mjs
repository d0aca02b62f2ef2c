/** A server of the tests' own, with a container, its tokens and users. */

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { generateKeyPairSync } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import CloudKit from "../../src/module.js";

export const containerIdentifier = "iCloud.com.example.Notes";
const password = "correct horse battery";
const schema = `DEFINE SCHEMA
    RECORD TYPE Users (roles LIST<INT64>);
    RECORD TYPE Note (
        "___recordID" REFERENCE QUERYABLE,
        text STRING QUERYABLE SORTABLE SEARCHABLE,
        stars INT64 QUERYABLE SORTABLE,
        price DOUBLE,
        at TIMESTAMP QUERYABLE,
        moments LIST<TIMESTAMP>,
        tags LIST<STRING>,
        place LOCATION,
        data BYTES,
        friend REFERENCE,
        picture ASSET,
        pictures LIST<ASSET>
    );
    RECORD TYPE Secret (
        title STRING,
        diagnosis ENCRYPTED STRING,
        count ENCRYPTED INT64,
        tags ENCRYPTED LIST<STRING>,
        at ENCRYPTED TIMESTAMP,
        data ENCRYPTED BYTES,
        place ENCRYPTED LOCATION,
        scan ASSET,
        scans LIST<ASSET>
    );`;

function freePort() {
    return new Promise((resolve) => {
        const listener = createServer().listen(0, "127.0.0.1", () => {
            const { port } = listener.address();
            listener.close(() => resolve(port));
        });
    });
}

/** Answers what `look` finds, as soon as it finds something. */
async function until(what, look) {
    for (const deadline = Date.now() + 30_000; Date.now() < deadline;) {
        const found = await look();
        if (found) return found;
        await new Promise((resolve) => { setTimeout(resolve, 20); });
    }
    throw new Error(`timed out: ${what}`);
}

async function asked(url, body, headers = {}) {
    const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
    const object = await answer.json();
    if (!answer.ok) throw new Error(`${url}: ${JSON.stringify(object)}`);
    return object;
}

/**
 * A script of the shell: runs the program that is named behind a folder. When the standard input ends, it ends the program
 * and removes the folder. The input ends with the process that holds its other end, in each runtime and in each case.
 */
const endingWithInput = 'folder=$1; shift; exec 3<&0; { cat <&3; kill -9 $$; rm -rf "$folder"; } & exec "$@" 3<&- </dev/null';

/** Starts a server, which ends with the tests of the file. NACRE names the binary; without it, the debug build's. */
export async function startCloud() {
    const binary = process.env.NACRE ?? fileURLToPath(new URL("../../../../.build/debug/nacre", import.meta.url));
    if (!existsSync(binary)) throw new Error(`there is no server at ${binary}: build it, or name one in NACRE`);
    const folder = mkdtempSync(join(tmpdir(), "cloudkit-js-"));
    const port = await freePort();
    const log = openSync(join(folder, "log"), "a");
    const data = join(folder, "data");
    const serving = [binary, "serve", "--data", data, "--listen", `127.0.0.1:${port}`, "--request-rate", "0"];
    const server = spawn("sh", ["-c", endingWithInput, "sh", folder, ...serving], { stdio: ["pipe", log, log] });
    // The server keeps no test file's process alive.
    server.unref();
    server.stdin.unref?.();
    const url = `http://127.0.0.1:${port}`;
    await until("the server", async () => {
        if (server.exitCode !== null) throw new Error(readFileSync(join(folder, "log"), "utf8"));
        return existsSync(join(data, "admin.json")) && (await fetch(`${url}/readyz`).catch(() => null))?.ok;
    });
    const { url: adminURL, token } = JSON.parse(readFileSync(join(data, "admin.json"), "utf8"));
    const administer = (path, body) => asked(`${adminURL.replace(/\/$/, "")}/admin/1/${path}`, body, { Authorization: `Bearer ${token}` });
    await administer("containers", { name: containerIdentifier, justInTime: "all" });
    await administer("schema/import", { container: containerIdentifier, text: schema, isDryRun: false });
    const cloud = { url, folder, binary, administer };
    cloud.apiToken = (await administer("tokens", { container: containerIdentifier, environment: "development", kind: "api", name: "tests" })).token;
    cloud.makeKey = async (passphrase) => {
        const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
        const file = join(folder, `key${passphrase ? "-sealed" : ""}.pem`);
        const form = passphrase ? { type: "pkcs8", cipher: "aes-256-cbc", passphrase } : { type: "sec1" };
        writeFileSync(file, privateKey.export({ format: "pem", ...form }));
        const { keyID } = await administer("tokens", {
            container: containerIdentifier, environment: "development", kind: "server", name: "tests",
            publicKey: publicKey.export({ format: "pem", type: "spki" }),
        });
        return { keyID, privateKeyFile: file };
    };
    cloud.makeUser = (email, names = {}) => administer("users", { email, password, ...names });
    cloud.webAuthToken = async (email) => (await asked(`${url}/account/1/sign-in`, {
        email, password, apiToken: cloud.apiToken, container: containerIdentifier, environment: "development",
    })).token;
    /** A container of the library, with more options of its configuration. */
    cloud.container = ({ container = { apiTokenAuth: { apiToken: cloud.apiToken } }, services } = {}) => CloudKit.configure({
        serverURL: url, containers: [{ containerIdentifier, environment: "development", ...container }], services,
    }).getDefaultContainer();
    /** The container of a user who is signed in, and was made for it. */
    cloud.signedIn = async (email, { services, names } = {}) => {
        await cloud.makeUser(email, names);
        const container = cloud.container({ services });
        await container.signIn(await cloud.webAuthToken(email));
        return container;
    };
    return cloud;
}

/** The error with which a promise rejects. */
export async function refusal(promise) {
    try {
        await promise;
    } catch (error) {
        return error;
    }
    throw new Error("the promise was resolved");
}

/** Collects all that an asynchronous iterator gives. */
export async function collected(iterator) {
    const all = [];
    for await (const one of iterator) all.push(one);
    return all;
}
