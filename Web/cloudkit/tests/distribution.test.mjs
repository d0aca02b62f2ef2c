import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { runInNewContext } from "node:vm";
import { gzipSync } from "node:zlib";

import source from "../src/module.js";

const folder = mkdtempSync(join(tmpdir(), "cloudkit-js-"));
const at = (name) => join(folder, name);
const make = fileURLToPath(new URL("../../../Scripts/cloudkit-js/make", import.meta.url));
before(() => { execFileSync(make, [folder]); });
after(() => { rmSync(folder, { recursive: true }); });

test("the script that makes the files tells its usage, refuses options that it does not know, and writes nothing then", () => {
    const empty = at("empty");
    mkdirSync(empty);
    assert.match(execFileSync(make, ["--help"], { cwd: empty, encoding: "utf8" }), /usage:.*make/);
    for (const wrong of [["--folder"], ["-x", "folder"], ["one", "two"]]) {
        assert.throws(() => execFileSync(make, wrong, { cwd: empty, stdio: "pipe" }), { status: 2 }, wrong.join(" "));
    }
    assert.deepEqual(readdirSync(empty), []);
});

/** Runs the classic script as a page does that has it from `src`. */
function page(src, globals = {}) {
    const events = [];
    const window = { dispatchEvent: (event) => events.push(event.type) };
    const document = { currentScript: { src }, getElementById: () => null };
    const context = { window, document, addEventListener() {}, Event, URL, Promise, crypto, AbortSignal, ...globals };
    runInNewContext(readFileSync(at("cloudkit.js"), "utf8"), context);
    return { CloudKit: window.CloudKit, events };
}

const container = { containerIdentifier: "iCloud.com.example.Notes", environment: "development", apiTokenAuth: { apiToken: "api" } };

/** The URL of the first request. */
async function firstURL(CloudKit, serverURL) {
    const urls = [];
    const fetch = async (url) => { urls.push(url); return new Response("{}"); };
    CloudKit.configure({ serverURL, containers: [container], services: { fetch } });
    await CloudKit.getDefaultContainer().publicCloudDatabase.fetchAllRecordZones();
    return urls[0];
}

test("the classic script makes the global CloudKit, and then says so", () => {
    const { CloudKit, events } = page("https://cloud.example/ck/2/cloudkit.js");
    assert.deepEqual(events, ["cloudkitloaded"]);
    assert.deepEqual(Object.keys(CloudKit).sort(), Object.keys(source).sort());
});

test("a page asks the server that the script came from, unless it names another one", async () => {
    for (const src of ["https://cloud.example/path/ck/2/cloudkit.js", "https://cloud.example/path/ck/0123456789abcdef/cloudkit.js?a"]) {
        assert.match(await firstURL(page(src).CloudKit), /^https:\/\/cloud\.example\/path\/database\/1\//, src);
    }
    const { CloudKit: other } = page("https://cloud.example/ck/2/cloudkit.js");
    assert.match(await firstURL(other, "https://other.example"), /^https:\/\/other\.example\/database/);
    const { CloudKit } = page("https://app.example/scripts/cloudkit.js", { process: { env: {} } });
    assert.throws(() => CloudKit.configure({ containers: [container] }), { ckErrorCode: "CONFIGURATION_ERROR" });
});

test("a page gets no server-to-server key", () => {
    const { CloudKit } = page("https://cloud.example/ck/2/cloudkit.js");
    const withKey = { ...container, apiTokenAuth: undefined, serverToServerKeyAuth: { keyID: "1", privateKey: "…" } };
    assert.throws(() => CloudKit.configure({ containers: [withKey] }), { ckErrorCode: "CONFIGURATION_ERROR" });
});

test("a loader of AMD modules gets the library by its name", () => {
    const defined = [];
    const define = Object.assign((name, needs, make) => defined.push([name, needs.length, make()]), { amd: {} });
    const { CloudKit } = page("https://cloud.example/ck/2/cloudkit.js", { define });
    assert.equal(defined.length, 1);
    assert.deepEqual(defined[0].slice(0, 2), ["cloudkit", 0]);
    assert.equal(defined[0][2], CloudKit);
});

test("Node loads the script by require and the module by import; both are the same build", async () => {
    const required = createRequire(import.meta.url)(at("cloudkit.js"));
    const imported = await import(pathToFileURL(at("cloudkit.mjs")).href);
    assert.match(required.BUILD_VERSION, /^[0-9a-f]{16}$/);
    assert.equal(imported.BUILD_VERSION, required.BUILD_VERSION);
    assert.equal(imported.default.VERSION, source.VERSION);
    assert.match(await firstURL(required, "https://cloud.example"), /^https:\/\/cloud\.example\/database/);
    process.env.CLOUDKIT_SERVER_URL = "https://environment.example";
    assert.match(await firstURL(imported.default), /^https:\/\/environment\.example\/database/);
    delete process.env.CLOUDKIT_SERVER_URL;
});

test("the files are a package, which Node imports and requires by its name, and whose types the compiler finds", () => {
    const app = at("app");
    mkdirSync(join(app, "node_modules"), { recursive: true });
    symlinkSync(folder, join(app, "node_modules/cloudkit"));
    const node = (name, text) => {
        writeFileSync(join(app, name), text);
        return execFileSync("node", [name], { cwd: app, encoding: "utf8" }).trim();
    };
    const builds = [
        node("a.mjs", 'import CloudKit, { CKError } from "cloudkit"; console.log(CloudKit.BUILD_VERSION, CKError.CONFLICT);'),
        node("a.cjs", 'const { BUILD_VERSION, CKError } = require("cloudkit"); console.log(BUILD_VERSION, CKError.CONFLICT);'),
    ];
    assert.match(builds[0], /^[0-9a-f]{16} CONFLICT$/);
    assert.equal(builds[1], builds[0]);
    const typed = [
        'import CloudKit, { CKError, type Database } from "cloudkit";',
        "const database: Database = CloudKit.getDefaultContainer().publicCloudDatabase;",
        'const code: "CONFLICT" = CKError.CONFLICT;', "export default [database, code];",
        "// @ts-expect-error the types are those of the library", "database.noSuchMethod();",
    ].join("\n");
    for (const [name, module, resolution] of [["typed.ts", "es2022", "node"], ["typed.mts", "node16", "node16"]]) {
        writeFileSync(join(app, name), typed);
        const options = ["--strict", "--noEmit", "--target", "es2022", "--module", module, "--moduleResolution", resolution];
        assert.equal(execFileSync("tsc", [...options, name], { cwd: app, encoding: "utf8" }), "", name);
    }
});

test("the module for encrypted values is imported by its name, and brings no second library", () => {
    const app = at("secrets");
    mkdirSync(join(app, "node_modules"), { recursive: true });
    symlinkSync(folder, join(app, "node_modules/cloudkit"));
    writeFileSync(join(app, "a.mjs"), [
        'import CloudKit from "cloudkit"; import { encryption } from "cloudkit/encryption";',
        'const containers = [{ containerIdentifier: "iCloud.a", environment: "development", apiTokenAuth: { apiToken: "a" } }];',
        "const container = CloudKit.configure({ serverURL: 'https://cloud.example', containers, services: { encryption } }).getDefaultContainer();",
        "await container.keys.enrol({}).catch((error) => console.log(error instanceof CloudKit.CKError, error.ckErrorCode));",
    ].join("\n"));
    assert.equal(execFileSync("node", ["a.mjs"], { cwd: app, encoding: "utf8" }).trim(), "true INVALID_ARGUMENTS");
});

test("a script has at most 40 KB of gzip and 25 KB without the sync engine, and nothing that a strict policy of a page refuses", () => {
    for (const [name, most] of [["cloudkit.js", 40], ["cloudkit.mjs", 40], ["cloudkit-encryption.mjs", 29]]) {
        const text = readFileSync(at(name), "utf8");
        assert.ok(gzipSync(text).length <= most << 10, name);
        assert.doesNotMatch(text, /\beval\(|new Function|innerHTML|insertAdjacentHTML|document\.write/, name);
    }
    const source = fileURLToPath(new URL("../src/module.js", import.meta.url));
    const core = execFileSync("esbuild", [source, "--bundle", "--minify", "--format=esm", "--target=es2022", "--external:./engine/*"]);
    assert.ok(gzipSync(core).length <= 25 << 10, "without the engine");
});
