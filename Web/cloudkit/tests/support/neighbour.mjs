/**
 * A page beside an app of the framework, in a process of its own: joins the user's account by the recovery words, opens
 * the record `app`, writes its file, and saves the record `page` with another one. Called by EncryptedWebTests, which
 * gives it one JSON object on standard input.
 */

import { readFileSync, writeFileSync } from "node:fs";

import { encryption } from "../../src/encryption/encryption.js";
import CloudKit from "../../src/module.js";
import { fetched, saved, secret } from "./secrets.mjs";

const { serverURL, containerIdentifier, apiToken, webAuthToken, words, zoneName, opened, toSeal } = JSON.parse(readFileSync(0, "utf8"));
const containers = [{ containerIdentifier, environment: "development", apiTokenAuth: { apiToken } }];
const container = CloudKit.configure({ serverURL, containers, services: { encryption } }).getDefaultContainer();
await container.signIn(webAuthToken);
await container.keys.enrolWithRecoveryWords(words);

const device = { database: container.privateCloudDatabase };
const options = { zoneID: { zoneName } };
const { fields: { diagnosis, photo } } = await fetched(device, "app", options);
writeFileSync(opened, new Uint8Array(await (await device.database.fetchFile(photo.value, options)).arrayBuffer()));
const fields = { diagnosis: secret(`${diagnosis.value}, says the page`), photo: new Blob([readFileSync(toSeal)]) };
await saved(device, { recordType: "Note", recordName: "page", fields }, options);
