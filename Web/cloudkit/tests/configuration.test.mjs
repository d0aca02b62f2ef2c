import assert from "node:assert/strict";
import { test } from "node:test";

import CloudKit from "../src/module.js";

const container = { containerIdentifier: "iCloud.com.example.Notes", environment: "development", apiTokenAuth: { apiToken: "api" } };
const serverURL = "https://cloud.example";

test("a configuration that is not valid is refused", () => {
    const key = { keyID: "1", privateKeyFile: "key.pem" };
    const wrong = [
        undefined, {}, { containers: [] }, { containers: [null] }, { containers: [{ ...container, containerIdentifier: "" }] },
        { containers: [{ ...container, environment: "test" }] }, { containers: [{ ...container, apnsEnvironment: "test" }] },
        { containers: [{ ...container, apiTokenAuth: undefined }] }, { containers: [{ ...container, serverToServerKeyAuth: key }] },
        { containers: [{ ...container, apiTokenAuth: {} }] }, { containers: [container], services: 1 },
        { containers: [{ ...container, apiTokenAuth: undefined, serverToServerKeyAuth: { keyID: "1" } }] },
        { containers: [container], serverURL: "cloud.example" }, { containers: [container], serverURL: "https://cloud.example?a" },
    ];
    for (const one of wrong) {
        const config = one && { serverURL, ...one };
        assert.throws(() => CloudKit.configure(config), { ckErrorCode: "CONFIGURATION_ERROR" }, JSON.stringify(one));
    }
});

test("containers are found by identifier, and the first is the default one", () => {
    const other = { ...container, containerIdentifier: "iCloud.com.example.Other" };
    assert.equal(CloudKit.configure({ serverURL, containers: [container, other] }), CloudKit);
    const [first, second] = CloudKit.getAllContainers();
    assert.equal(CloudKit.getDefaultContainer(), first);
    assert.equal(CloudKit.getContainer(other.containerIdentifier), second);
    assert.equal(CloudKit.getContainer("iCloud.none"), undefined);
    assert.deepEqual(second.getConfig(), other);
    assert.deepEqual([first.environment, first.apnsEnvironment], ["development", "development"]);
});

test("requests go below the server's URL, with a path of its own if it has one", async () => {
    const urls = [];
    const fetch = async (url) => { urls.push(url); return new Response("{}"); };
    CloudKit.configure({ serverURL: "https://example.com/cloud/", containers: [container], services: { fetch } });
    await CloudKit.getDefaultContainer().publicCloudDatabase.fetchAllRecordZones();
    assert.deepEqual(urls, ["https://example.com/cloud/database/1/iCloud.com.example.Notes/development/public/zones/list?ckAPIToken=api"]);
});

test("promises are of the class that the page gives", async () => {
    class Own extends Promise {}
    CloudKit.configure({ serverURL, containers: [container], services: { Promise: Own, fetch: async () => new Response("{}") } });
    assert.equal(CloudKit.Promise, Own);
    const promise = CloudKit.getDefaultContainer().publicCloudDatabase.fetchAllRecordZones();
    assert.ok(promise instanceof Own);
    assert.equal((await promise).isResponse, true);
});

test("a log has requests and their times, and no token", async () => {
    const lines = [];
    const logger = { info: (line) => lines.push(line) };
    CloudKit.configure({ serverURL, containers: [container], services: { logger, fetch: async () => new Response("{}") } });
    await CloudKit.getDefaultContainer().publicCloudDatabase.fetchAllRecordZones();
    assert.match(lines.join(), /^GET https:\/\/cloud\.example\/database\/1\/[^?]*\/zones\/list 200 in \d+ ms$/);
});

test("a log has no token when a request fails, whatever the error beneath says", async () => {
    const lines = [];
    const fetch = async (url) => { throw new TypeError(`error sending request for url (${url})`); };
    CloudKit.configure({ serverURL, containers: [container], services: { logger: { warn: (line) => lines.push(line) }, fetch } });
    await assert.rejects(CloudKit.getDefaultContainer().publicCloudDatabase.fetchAllRecordZones(), { ckErrorCode: "NETWORK_ERROR" });
    assert.match(lines.join(), /^GET https:\/\/cloud\.example\/database\/1\/[^?]*\/zones\/list failed: TypeError$/);
});

test("a request that is never answered ends, and the caller's own end is told as that", async (t) => {
    const limit = new AbortController();
    t.mock.method(AbortSignal, "timeout", () => limit.signal);
    const fetch = (_, { signal }) => new Promise((_resolve, reject) => {
        if (signal.aborted) reject(signal.reason);
        signal.addEventListener("abort", () => reject(signal.reason));
    });
    CloudKit.configure({ serverURL, containers: [container], services: { fetch } });
    const ask = (options) => CloudKit.getDefaultContainer().publicCloudDatabase.fetchAllRecordZones(options);
    const own = new AbortController();
    const cancelled = assert.rejects(ask({ signal: own.signal }), /enough/);
    own.abort(new Error("enough"));
    await cancelled;
    const unanswered = assert.rejects(ask(), { ckErrorCode: "NETWORK_ERROR" });
    limit.abort(new DOMException("too long", "TimeoutError"));
    await unanswered;
});
