/** Commands of the framework for the keys of users. */

import { spawn } from "node:child_process";

import { containerIdentifier } from "./cloud.mjs";

/** Runs a command of the framework's as a device of a user, and answers lines that it asks for. */
export async function commands(cloud, email, folder) {
    const { token } = await (await fetch(`${cloud.url}/account/1/sign-in`, {
        method: "POST",
        body: JSON.stringify({
            email, password: "correct horse battery", apiToken: cloud.apiToken, container: containerIdentifier, environment: "development",
            kind: "account",
        }),
    })).json();
    const env = {
        ...process.env, CLOUDKIT_SERVER_URL: cloud.url, CLOUDKIT_CONTAINER: containerIdentifier, CLOUDKIT_ENVIRONMENT: "development",
        CLOUDKIT_API_TOKEN: cloud.apiToken, CLOUDKIT_ACCOUNT_TOKEN: token, XDG_DATA_HOME: `${cloud.folder}/${folder}`, XDG_CONFIG_HOME: cloud.folder,
    };
    return (...words) => {
        const run = spawn(cloud.binary, ["keys", ...words], { env, stdio: "pipe" });
        let text = "";
        const waiting = [];
        const look = () => {
            for (const one of waiting) if (one.pattern.test(text)) one.resolve(one.pattern.exec(text));
        };
        for (const stream of [run.stdout, run.stderr]) stream.setEncoding("utf8").on("data", (more) => { text += more; look(); });
        return {
            says: (pattern) => new Promise((resolve, reject) => {
                waiting.push({ pattern, resolve });
                run.on("close", () => reject(new Error(text)));
                look();
            }),
            type: (line) => run.stdin.write(`${line}\n`),
            done: new Promise((resolve) => { run.on("close", (status) => resolve({ status, text })); }),
        };
    };
}
