/// The script of the sign-in page. It puts the focus where the user continues, but never on a button that grants, so
/// that a key pressed twice grants nothing. It shows a password on request, sends a form once, and asks the browser for
/// passkeys. It gives the token to the page that opened it, if that page has the granted origin.
enum SignInScript {
    static let text = HTML(
        trusted: """
            'use strict';
            (() => {
              const find = id => document.getElementById(id);
              const first = find('problem') || document.querySelector('[data-focus]');
              if (first) first.focus();
              const shown = find('shown'), show = find('show'), password = find('password');
              if (shown) {
                shown.hidden = false;
                show.checked = false;
                show.addEventListener('change', () => { password.type = show.checked ? 'text' : 'password'; });
              }
              for (const form of document.forms) {
                let isSent = false;
                form.addEventListener('submit', event => {
                  if (isSent) event.preventDefault();
                  isSent = true;
                  if (password) password.type = 'password';
                });
              }
              const issuer = find('issuer');
              if (issuer) {
                issuer.addEventListener('click', () => {
                  const keep = find('keep');
                  if (keep && keep.checked) issuer.href += '&keep=1';
                });
              }
              const passkey = find('passkey');
              if (passkey && window.PublicKeyCredential) {
                const bytes = text => Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), it => it.charCodeAt(0));
                const text = buffer => btoa(Array.from(new Uint8Array(buffer), it => String.fromCharCode(it)).join(''))
                  .replace(/[+]/g, '-').replace(/[/]/g, '_').replace(/=/g, '');
                const { does, rp, challenge, user, email, known } = passkey.dataset;
                const create = () => navigator.credentials.create({ publicKey: {
                  rp: { id: rp, name: rp }, user: { id: bytes(user), name: email, displayName: email }, challenge: bytes(challenge),
                  pubKeyCredParams: [{ type: 'public-key', alg: -7 }], attestation: 'none',
                  authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
                  excludeCredentials: known.split(' ').filter(Boolean).map(id => ({ type: 'public-key', id: bytes(id) }))
                } });
                let waiting = null;
                const get = mediation => {
                  if (waiting) waiting.abort();
                  waiting = new AbortController();
                  return navigator.credentials.get({ mediation, signal: waiting.signal, publicKey: {
                    challenge: bytes(challenge), rpId: rp, userVerification: 'required' } });
                };
                const send = made => {
                  const { clientDataJSON, attestationObject, authenticatorData, signature, userHandle } = made.response;
                  const values = attestationObject ? { client: clientDataJSON, attestation: attestationObject } : {
                    client: clientDataJSON, data: authenticatorData, signature, user: userHandle || new ArrayBuffer(0), credential: made.rawId };
                  for (const [name, value] of Object.entries(values)) passkey.elements[name].value = text(value);
                  const keep = find('keep');
                  if (keep) passkey.elements.keep.value = keep.checked ? '1' : '';
                  passkey.submit();
                };
                passkey.hidden = false;
                find('use').addEventListener('click', () => {
                  find('unused').hidden = true;
                  (does === 'create' ? create() : get('optional')).then(send, () => { find('unused').hidden = false; });
                });
                passkey.addEventListener('submit', event => {
                  event.preventDefault();
                  find('use').click();
                });
                const offer = PublicKeyCredential.isConditionalMediationAvailable;
                if (does === 'get' && offer && !find('problem')) {
                  offer.call(PublicKeyCredential).then(isThere => isThere && !waiting && get('conditional').then(send, () => {}));
                }
              }
              const delivery = find('delivery');
              if (delivery) {
                const { message, origin } = JSON.parse(delivery.textContent);
                const opener = window.opener;
                if (opener) {
                  opener.postMessage(message, origin);
                  window.close();
                } else {
                  const heading = document.querySelector('h1');
                  document.title = heading.textContent = heading.dataset.lost;
                }
                find(opener ? 'done' : 'lost').hidden = false;
              }
            })();
            """)
}
