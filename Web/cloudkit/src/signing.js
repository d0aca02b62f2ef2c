/** Signatures of server-to-server keys, outside of browsers. */

import { localError } from "./error.js";

/** @typedef {import("../cloudkit").ServerToServerKeyAuth} KeyAuth */

export class Signer {
    #auth;
    #now;
    /** @type {Promise<{ crypto: any, key: any }> | undefined} */
    #key;

    /**
     * @param {KeyAuth} auth
     * @param {() => number} now milliseconds since 1970
     */
    constructor(auth, now) {
        this.#auth = auth;
        this.#now = now;
    }

    /**
     * @param {string} path the URL's path from /database/1 on, without a query
     * @param {string} body the request's body, empty without one
     * @returns {Promise<Record<string, string>>} the headers of a signed request
     */
    async headers(path, body) {
        this.#key ??= this.#read();
        const { crypto, key } = await this.#key;
        const date = `${new Date(this.#now()).toISOString().slice(0, 19)}Z`;
        const hash = crypto.createHash("sha256").update(body, "utf8").digest("base64");
        const signature = crypto.sign("sha256", new TextEncoder().encode(`${date}:${hash}:${path}`), key);
        return {
            "X-Apple-CloudKit-Request-KeyID": this.#auth.keyID,
            "X-Apple-CloudKit-Request-ISO8601Date": date,
            "X-Apple-CloudKit-Request-SignatureV1": signature.toString("base64"),
        };
    }

    async #read() {
        const { privateKey, privateKeyFile, privateKeyPassPhrase: passphrase } = this.#auth;
        try {
            // The names are no literals, so that a bundler for browsers does not look for them.
            const [files, crypto] = await Promise.all(["node:fs/promises", "node:crypto"].map((name) => import(name)));
            const pem = privateKey ?? await files.readFile(privateKeyFile, "utf8");
            const key = crypto.createPrivateKey({ key: pem, format: "pem", passphrase });
            if (key.asymmetricKeyType !== "ec") throw new Error("the key is no EC key");
            return { crypto, key };
        } catch (cause) {
            throw localError("CONFIGURATION_ERROR", `the private key of ${this.#auth.keyID} cannot be read`, { cause });
        }
    }
}
