"""Firefox without a window, by Marionette, which is in every Firefox."""

import base64
import tempfile

from marionette_driver.by import By
from marionette_driver.marionette import Marionette

from serving import free_port


class Firefox:
    name = "firefox"

    def __init__(self, **prefs):
        # Marionette removes what is at the path of its log, and makes it anew: as root /dev/null, too.
        self.logs = tempfile.TemporaryDirectory(prefix="gecko-")
        self.marionette = Marionette(
            bin="/usr/bin/firefox-esr", headless=True, port=free_port(), gecko_log=self.logs.name,
            prefs={
                "dom.disable_open_during_load": False, "datareporting.policy.dataSubmissionEnabled": False,
                # Keys of software instead of those at a port.
                "security.webauth.webauthn_enable_softtoken": True, "security.webauth.webauthn_enable_usbtoken": False, **prefs})
        self.marionette.start_session()
        self.marionette.timeout.page_load = 30

    def go(self, url):
        self.marionette.navigate(url)

    def run(self, script, *arguments):
        return self.marionette.execute_script(script, script_args=list(arguments))

    def run_async(self, script, *arguments):
        """Runs a script that calls its last argument with the answer."""
        return self.marionette.execute_async_script(script, script_args=list(arguments), script_timeout=20_000)

    def _find(self, css):
        return self.marionette.find_elements(By.CSS_SELECTOR, css)

    def text(self, css):
        """What an element shows; None where there is none."""
        found = self._find(css)
        return found[0].text if found else None

    def type(self, css, text):
        element = self._find(css)[0]
        element.clear()
        element.send_keys(text)

    def click(self, css):
        self._find(css)[0].click()

    def press(self, keys):
        """To whatever has the focus."""
        self.marionette.actions.sequence("key", "keyboard").send_keys(keys).perform()

    @property
    def url(self):
        return self.marionette.get_url()

    def windows(self):
        return self.marionette.window_handles

    def window(self):
        return self.marionette.current_window_handle

    def use(self, window):
        self.marionette.switch_to_window(window)

    def use_frame(self, css):
        self.marionette.switch_to_frame(self._find(css)[0])

    def theme(self, name):
        self.marionette.set_pref("layout.css.prefers-color-scheme.content-override", {"dark": 0, "light": 1}[name])

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.marionette.screenshot(full=False)))

    def _webauthn(self, verb, key=None, **parameters):
        return self.marionette._send_message(f"WebAuthn:{verb}", parameters, key=key)

    def authenticator(self):
        """A virtual one inside this machine, which keeps passkeys and says that its user was there."""
        return self._webauthn(
            "AddVirtualAuthenticator", "value", protocol="ctap2_1", transport="internal", hasResidentKey=True, hasUserVerification=True,
            isUserConsenting=True, isUserVerified=True)

    def passkeys(self, authenticator):
        return self._webauthn("GetCredentials", "value", authenticatorId=authenticator)

    def forget(self, authenticator):
        self._webauthn("RemoveVirtualAuthenticator", authenticatorId=authenticator)

    def verify(self, authenticator, isVerified):
        self._webauthn("SetUserVerified", authenticatorId=authenticator, isUserVerified=isVerified)

    def close(self):
        self.marionette.quit(in_app=False)
        self.marionette.cleanup()
