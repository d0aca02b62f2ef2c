/// Passkeys of the team: one is made by an invitation, and signs in from then on.

import { api } from "./api.js";
import { base64 } from "./files.js";

const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (one) => one.charCodeAt(0));
const text = (buffer) => base64(buffer).replace(/[+]/g, "-").replace(/[/]/g, "_").replace(/=/g, "");

/// The browser's passkey, or an error that says what to do.
async function asked(make) {
    try {
        return await make();
    } catch (error) {
        throw Object.assign(new Error(error.message), { reason: "The browser gave no passkey.", remedy: "Try again, or take another device." });
    }
}

/// The member whom an invitation is for, and the challenge that the passkey signs.
export const invited = (token) => api.post("console/challenge", { invitation: token });

/// Makes a passkey by an invitation. Returns the session that begins with it.
export async function create(token) {
    const { challenge, relyingParty, member } = await invited(token);
    const { response } = await asked(() => navigator.credentials.create({ publicKey: {
        rp: { id: relyingParty, name: "Nacre console" }, challenge: bytes(challenge), attestation: "none",
        user: { id: new TextEncoder().encode(member.id), name: member.name, displayName: member.name },
        pubKeyCredParams: [{ type: "public-key", alg: -7 }],
        authenticatorSelection: { residentKey: "required", requireResidentKey: true, userVerification: "required" },
    } }));
    return api.post("console/sign-in", { invitation: { token, client: text(response.clientDataJSON),
        attestation: text(response.attestationObject) } });
}

/// Signs in with a passkey. Returns the session.
export async function signIn() {
    const { challenge, relyingParty } = await api.post("console/challenge");
    const { rawId, response } = await asked(() => navigator.credentials.get({ publicKey: {
        challenge: bytes(challenge), rpId: relyingParty, userVerification: "required" } }));
    return api.post("console/sign-in", { passkey: { credential: text(rawId), user: text(response.userHandle ?? new ArrayBuffer(0)),
        client: text(response.clientDataJSON), data: text(response.authenticatorData), signature: text(response.signature) } });
}
