"""An OpenID Connect issuer whose user agrees by a click: codes with PKCE, and ID tokens that `openssl` signs."""

import base64
import hashlib
import html
import http.server
import json
import os
import subprocess
import threading
import time
import urllib.parse


def text(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Issuer:
    client, secret = "nacre", "secret of the client"

    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        self.key = os.path.join(folder, "issuer.pem")
        subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", self.key], check=True, stderr=subprocess.DEVNULL)
        modulus = subprocess.run(["openssl", "rsa", "-in", self.key, "-noout", "-modulus"], check=True, stdout=subprocess.PIPE, text=True).stdout
        self.modulus = bytes.fromhex(modulus.strip().removeprefix("Modulus="))
        self.codes = {}
        issuer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                url = urllib.parse.urlsplit(self.path)
                if url.path == "/authorize":
                    self.answer(issuer.page(dict(urllib.parse.parse_qsl(url.query))), "text/html; charset=utf-8")
                elif url.path == "/keys":
                    self.answer(json.dumps({"keys": [{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "1", "n": text(issuer.modulus), "e": "AQAB"}]}))
                elif url.path == "/.well-known/openid-configuration":
                    self.answer(json.dumps({
                        "issuer": issuer.url, "authorization_endpoint": issuer.url + "/authorize", "token_endpoint": issuer.url + "/token",
                        "jwks_uri": issuer.url + "/keys", "authorization_response_iss_parameter_supported": True}))
                else:
                    self.answer("{}", status=404)

            def do_POST(self):
                fields = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
                token = issuer.token(fields, self.headers["Authorization"])
                self.answer(json.dumps(token or {"error": "invalid_grant"}), status=200 if token else 400)

            def answer(self, body, kind="application/json", status=200):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body.encode())))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def page(self, asked):
        code = text(os.urandom(16))
        self.codes[code] = asked
        back = asked["redirect_uri"] + "?" + urllib.parse.urlencode({"code": code, "state": asked["state"], "iss": self.url})
        return f"<!doctype html><html lang=en><title>Issuer</title><h1>The team</h1><a id=agree href='{html.escape(back)}'>It is me</a></html>"

    def token(self, fields, authorization):
        """None where the code, the verifier or the client's secret is wrong."""
        asked = self.codes.pop(fields.get("code"), None)
        kind, _, pair = (authorization or "").partition(" ")
        named = [urllib.parse.unquote_plus(part) for part in base64.b64decode(pair).decode().split(":")]
        if asked is None or kind != "Basic" or named != [self.client, self.secret]:
            return None
        if text(hashlib.sha256(fields["code_verifier"].encode()).digest()) != asked["code_challenge"] or asked["code_challenge_method"] != "S256":
            return None
        now = int(time.time())
        parts = [{"alg": "RS256", "kid": "1"}, {
            "iss": self.url, "sub": "grace", "aud": self.client, "exp": now + 300, "iat": now, "nonce": asked["nonce"], "email": "grace@example.com",
            "email_verified": True, "given_name": "Grace"}]
        signed = ".".join(text(json.dumps(part).encode()) for part in parts)
        signature = subprocess.run(
            ["openssl", "dgst", "-sha256", "-sign", self.key], input=signed.encode(), check=True, stdout=subprocess.PIPE).stdout
        return {"token_type": "Bearer", "access_token": "none", "id_token": f"{signed}.{text(signature)}"}

    def close(self):
        self.server.shutdown()
        self.server.server_close()
