"""Pages of an app and of somebody who is up to no good, each at an origin of its own."""

import http.server
import json
import socket
import threading


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Pages:
    """Serves `pages`, HTML by its path, under a host of this machine; `origin` is theirs."""

    def __init__(self, host):
        pages = self.pages = {}

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                page = pages.get(self.path.split("?")[0])
                body = (page or "").encode()
                self.send_response(200 if page is not None else 404)
                self.send_header("Content-Type", f"text/{'javascript' if self.path.endswith(('.js', '.mjs')) else 'html'}; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://{host}:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def app(api, token):
    """A page of an app that signs in as CloudKit JS does: it asks who the caller is, opens `redirectURL`, and waits for a message."""
    return """<!doctype html><html lang="en"><title>App</title><button id="in" disabled>Sign in</button>
<pre id="messages">[]</pre><pre id="where"></pre><pre id="answer"></pre>
<script>
const api = %s, token = %s, find = id => document.getElementById(id);
const ask = more => fetch(`${api}/private/users/caller?ckAPIToken=${token}${more}`);
const messages = [];
addEventListener('message', async event => {
  messages.push({ origin: event.origin, data: event.data });
  find('messages').textContent = JSON.stringify(messages);
  if (!event.data.ckWebAuthToken) return;
  const answer = await ask('&ckWebAuthToken=' + encodeURIComponent(event.data.ckWebAuthToken));
  find('answer').textContent = JSON.stringify({ status: answer.status, body: await answer.json(),
    token: answer.headers.get('X-Apple-CloudKit-Web-Auth-Token') });
});
ask('').then(async answer => {
  find('where').textContent = (await answer.json()).redirectURL;
  find('in').disabled = false;
}, error => { find('where').textContent = String(error); });
find('in').addEventListener('click', () => open(find('where').textContent, 'sign-in', 'popup,width=480,height=700'));
</script>""" % (json.dumps(api), json.dumps(token))


def opener(url):
    """A page that opens the sign-in page with values of its own choice, and hears every message."""
    return """<!doctype html><html lang="en"><title>Opener</title><button id="in">Open</button><pre id="messages">[]</pre>
<script>
const messages = [];
addEventListener('message', event => {
  messages.push(event.data);
  document.getElementById('messages').textContent = JSON.stringify(messages);
});
document.getElementById('in').addEventListener('click', () => open(%s, 'sign-in', 'popup,width=480,height=700'));
</script>""" % json.dumps(url)


def frame(url):
    return f'<!doctype html><html lang="en"><title>Frame</title><iframe id="frame" width="500" height="700" src="{url}"></iframe>'


def form(url, fields):
    """A page that sends a form somewhere, as soon as it is there."""
    inputs = "".join(f'<input name="{name}" value="{value}">' for name, value in fields.items())
    return f'<!doctype html><html lang="en"><title>Form</title><form method="post" action="{url}">{inputs}</form><script>document.forms[0].submit()</script>'


def subscriber():
    """A page that keeps what its service worker hands to it."""
    return """<!doctype html><html lang="en"><title>Subscriber</title><pre id="told"></pre>
<script>navigator.serviceWorker.addEventListener('message', event => { told.textContent = JSON.stringify(event.data.cloudKit); });</script>"""
