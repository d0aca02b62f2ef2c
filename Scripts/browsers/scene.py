"""A server, an app's pages, and the pages of somebody else."""

import json
import os
import shutil
import urllib.error
import urllib.parse
import urllib.request

from harness import client, nacre
from issuer import Issuer
from mail import MailSink
from serving import Pages, app


class Scene:
    email = "ada@example.com"
    password = "correct horse battery"

    def __init__(self, binary, home):
        os.makedirs(home, exist_ok=True)
        folder = os.path.join(home, "data")
        shutil.rmtree(folder, ignore_errors=True)
        self.server = nacre.Nacre(binary, folder, options=["--open-sign-up"])
        self.server.make_user()
        self.server.administrator.json("POST", "/admin/1/users", {"email": self.email, "password": self.password})
        # Three origins, of which the app's is another site than the server's.
        # The tests beside the server: one of them is a server that sends to a push service on this machine.
        self.tests = os.path.join(os.path.dirname(os.path.abspath(binary)), "nacrePackageTests.xctest")
        self.url = f"http://127.0.0.1:{self.server.port}"
        self.app, self.evil = Pages("localhost"), Pages("127.0.0.1")
        self.api = f"{self.url}/database/1/{nacre.CONTAINER}/development"
        self.container = nacre.CONTAINER
        self.message_token = self.token(origins=[self.app.origin])
        self.redirect_token = self.token(origins=[self.app.origin], redirect=self.app.origin + "/signed-in")
        self.app.pages["/"] = app(self.api, self.message_token)
        self.evil.pages["/app"] = app(self.api, self.message_token)
        self.app.pages["/signed-in"] = "<!doctype html><title>Signed in</title><pre id='from'></pre><script>from.textContent = document.referrer</script>"

        self.other = "ben@example.com"
        self.server.administrator.json("POST", "/admin/1/users", {"email": self.other, "password": self.password})
        self.server.administrator.json("POST", "/admin/1/containers/sharing", {
            "name": self.container, "app": self.app.origin + "/trip", "fallback": self.app.origin + "/get"})
        self.app.pages["/trip"] = "<!doctype html><title>Trip</title><pre id='share'></pre><script>share.textContent = location.search</script>"
        self.server.administrator.json("POST", "/admin/1/users", {"email": "cleo@example.com", "password": self.password})
        self.owner, self.zones = self.signed_in("cleo@example.com"), 0
        self.start_mailing(binary, home)
        self.start_team(binary, home)

    def signed_in(self, email, server=None):
        """The header of a device of an account."""
        return {"Authorization": f"Bearer {(server or self.server).sign_in(email, password=self.password)}"}

    def ask(self, headers, path, body=None, api=None):
        request = urllib.request.Request(f"{api or self.api}/{path}", None if body is None else json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def share(self, public="NONE", participants=(), title="Our <trip>", mails=False, asks=False):
        """A share of a new zone of its owner's; answers the zone, the share and its URL. Of the server that sends mail, if wanted; it may take requests."""
        self.zones += 1
        zone, details = {"zoneName": f"Trip-{self.zones}"}, {"details": True}
        owner, api, url = (self.mailing_owner, self.mailing_api, self.mailing_url) if mails else (self.owner, self.api, self.url)
        self.ask(owner, "private/zones/modify", {"operations": [{"operationType": "create", "zone": {"zoneID": zone}}]}, api)
        share = self.ask(owner, "private/records/modify", {"zoneID": zone, "nacre": details, "operations": [{"operationType": "create", "record": {
            "recordName": "cloudkit.zoneshare", "recordType": "cloudkit.share", "publicPermission": public, "participants": list(participants),
            "nacre": {"allowsAccessRequests": asks}, "fields": {"cloudkit.title": {"value": title}}}}]}, api)["records"][0]
        return zone, share, f"{url}/share/{share['shortGUID']}"

    def asked(self, zone):
        """The addresses of those who have asked for access to a share of the server that sends mail."""
        share = self.ask(self.mailing_owner, "private/records/lookup", {
            "zoneID": zone, "nacre": {"details": True}, "records": [{"recordName": "cloudkit.zoneshare"}]}, self.mailing_api)["records"][0]
        return [one["lookupInfo"]["emailAddress"] for one in share.get("nacre", {}).get("requesters", [])]

    def zones_of(self, email):
        return [zone["zoneID"]["zoneName"] for zone in self.ask(self.signed_in(email), "shared/zones/list")["zones"]]

    def start_team(self, binary, home):
        """A third server, whose users sign in with the accounts of a team elsewhere."""
        self.issuer = Issuer(home)
        folder = os.path.join(home, "team")
        shutil.rmtree(folder, ignore_errors=True)
        secret = os.path.join(home, "issuer-secret")
        with open(secret, "w") as file:
            file.write(self.issuer.secret + "\n")
        self.team = nacre.Nacre(binary, folder, options=lambda port: [
            "--public-url", f"http://localhost:{port}", "--oidc-issuer", self.issuer.url, "--oidc-client-id", self.issuer.client,
            "--oidc-client-secret-file", secret, "--oidc-name", "The team", "--oidc-sign-up"])
        self.team.make_user()
        self.team_url = f"http://localhost:{self.team.port}"
        self.team_token = self.team.administrator.json("POST", "/admin/1/tokens", {
            "container": nacre.CONTAINER, "environment": "development", "kind": "api", "name": "browsers",
            "redirect": self.app.origin + "/signed-in"})["token"]

    def start_mailing(self, binary, home):
        """A second server, which sends mail and knows the issuer of a team's accounts, where nobody answers."""
        self.sink = MailSink()
        folder = os.path.join(home, "mailing")
        shutil.rmtree(folder, ignore_errors=True)
        secret = os.path.join(home, "secret")
        with open(secret, "w") as file:
            file.write("secret\n")
        self.mailing = nacre.Nacre(binary, folder, options=lambda port: [
            "--open-sign-up", "--public-url", f"http://localhost:{port}", "--smtp", f"smtp://127.0.0.1:{self.sink.port}", "--mail-from", "nacre@example.com",
            "--oidc-issuer", "http://127.0.0.1:9", "--oidc-client-id", "nacre", "--oidc-client-secret-file", secret, "--oidc-name", "Example & Co"])
        self.mailing.make_user()
        self.mailing.administrator.json("POST", "/admin/1/users", {"email": self.email, "password": self.password})
        self.mailing.administrator.json("POST", "/admin/1/users", {"email": "cleo@example.com", "password": self.password})
        self.mailing_owner = self.signed_in("cleo@example.com", self.mailing)
        self.mailing_url = f"http://localhost:{self.mailing.port}"
        self.mailing_api = f"{self.mailing_url}/database/1/{nacre.CONTAINER}/development"
        self.mailing_page = (f"{self.mailing_url}/sign-in?ckAPIToken={self.mailing.api_token}"
                             f"&origin={urllib.parse.quote(self.app.origin, safe='')}")

    def ask_for_verification(self, email):
        """Signs up, since an administrator's accounts are vouched for, and has the mail with the link sent."""
        account = {"email": email, "password": self.password}
        anyone = client.Client("127.0.0.1", self.mailing.port)
        try:
            anyone.json("POST", "/account/1/sign-up", account)
            anyone.json("POST", "/account/1/verify-email", {**account, "sends": True})
        finally:
            anyone.close()

    def token(self, **more):
        return self.server.administrator.json("POST", "/admin/1/tokens", {
            "container": nacre.CONTAINER, "environment": "development", "kind": "api", "name": "browsers", **more})["token"]

    def page(self, token, origin=None, **more):
        """The URL of the sign-in page."""
        values = {"ckAPIToken": token, **({"origin": origin} if origin else {}), **more}
        return f"{self.url}/sign-in?{urllib.parse.urlencode(values)}"

    def caller(self, token, web_auth_token, api=None):
        """The user record name behind a token; None where there is no user."""
        query = urllib.parse.urlencode({"ckAPIToken": token, "ckWebAuthToken": web_auth_token})
        try:
            with urllib.request.urlopen(f"{api or self.api}/private/users/caller?{query}") as answer:
                return json.load(answer)["userRecordName"]
        except urllib.error.HTTPError:
            return None

    def close(self):
        self.app.close()
        self.evil.close()
        self.mailing.stop()
        self.team.stop()
        self.issuer.close()
        self.sink.close()
        self.server.stop()
