/** Devices with the module for encrypted values, and a server that changes its answers. */

import { encryption } from "../../src/encryption/encryption.js";

/**
 * A device of a user: a container of its own with keys in memory. `change` may change each answer of the server, which it
 * is given with the endpoint and the request's body. `request` is told of each request, and `answer` may answer in the
 * server's place.
 */
export async function deviceOf(cloud, email, services = {}) {
    const device = { sent: [], change: undefined };
    const fetchChanged = async (url, options) => {
        const endpoint = new URL(url).pathname.replace(/^\/(database|device)\/1\/[^/]+\/[^/]+\/(private|public|shared)\//, "");
        device.sent.push({ endpoint, body: options?.body });
        device.request?.(url, options);
        const answer = device.answer?.(url) ?? await fetch(url, options);
        const change = device.change;
        if (!change || url.includes("/assets/") && !url.includes("/database/")) return answer;
        const object = change(endpoint, await answer.json(), options?.body && JSON.parse(options.body));
        return new Response(JSON.stringify(object), { status: answer.status, headers: answer.headers });
    };
    const pause = () => new Promise((resolve) => { setTimeout(resolve, 20); });
    device.container = cloud.container({ services: { encryption, fetch: fetchChanged, pause, ...services } });
    await device.container.signIn(await cloud.webAuthToken(email));
    device.keys = device.container.keys;
    device.database = device.container.privateCloudDatabase;
    return device;
}

/** A field that is encrypted. */
export const secret = (value, type) => ({ value, ...type && { type }, isEncrypted: true });

/** Saves a record, which succeeds, and returns it. */
export async function saved({ database }, record, options) {
    const { records: [found], errors: [error] } = await database.saveRecords({ recordType: "Secret", ...record }, options);
    if (error) throw error;
    return found;
}

/** Fetches a record, or throws its error. */
export async function fetched({ database }, recordName, options) {
    const { records: [found], errors: [error] } = await database.fetchRecords(recordName, options);
    if (error) throw error;
    return found;
}

export const zoneShare = "cloudkit.zoneshare";

/** A participant of a share, by the name of the user's record. */
export const invited = (user, permission = "READ_WRITE") => ({ type: "USER", permission, userIdentity: { lookupInfo: { userRecordName: user } } });

/** Saves the share of a zone, which succeeds, and returns it. */
export const shared = (owner, share, zoneID) =>
    saved(owner, { recordType: "cloudkit.share", recordName: zoneShare, publicPermission: "NONE", ...share }, { zoneID });

/**
 * Enrols a device by comparing codes: `shown` is what the user types in on each, given both codes.
 */
export async function enrolled(added, admitting, shown = (other) => other) {
    const codes = { added: deferred(), admitting: deferred() };
    const waiting = deferred();
    const joining = added.keys.enrol({
        waiting: waiting.resolve,
        compare: async (code) => {
            codes.added.resolve(code);
            return shown(await codes.admitting.promise);
        },
    });
    joining.catch((error) => { for (const one of [waiting, codes.added]) one.reject(error); });
    const name = await waiting.promise;
    const device = (await admitting.keys.waiting()).find((one) => one.name === name);
    const admission = admitting.keys.approve(device, {
        compare: async (code) => {
            codes.admitting.resolve(code);
            return shown(await codes.added.promise);
        },
    });
    admission.catch((error) => codes.admitting.reject(error));
    return Promise.allSettled([joining, admission]);
}

function deferred() {
    let settle;
    const promise = new Promise((resolve, reject) => { settle = { resolve, reject }; });
    promise.catch(() => {});
    return { promise, ...settle };
}
