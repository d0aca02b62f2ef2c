/// What the sign-in page does beyond HTML: it puts the focus where the reader goes on (never on a button that grants, so that a key pressed
/// twice grants nothing), shows a password that its user wants to see, sends a form once, and
/// gives the token to the page that opened it, if that page has the origin that was granted.
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
