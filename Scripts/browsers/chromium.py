"""Chromium without a window, by Selenium and Debian's chromedriver."""

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By


class Chromium:
    name = "chromium"

    def __init__(self, script=True):
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for argument in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1000,900", "--disable-popup-blocking"]:
            options.add_argument(argument)
        if not script:
            options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
        self.driver.set_page_load_timeout(30)

    def go(self, url):
        self.driver.get(url)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def text(self, css):
        """What an element shows; None where there is none."""
        found = self.driver.find_elements(By.CSS_SELECTOR, css)
        return found[0].text if found else None

    def type(self, css, text):
        element = self.driver.find_element(By.CSS_SELECTOR, css)
        element.clear()
        element.send_keys(text)

    def click(self, css):
        self.driver.find_element(By.CSS_SELECTOR, css).click()

    def press(self, keys):
        """To whatever has the focus."""
        ActionChains(self.driver).send_keys(keys).perform()

    @property
    def url(self):
        return self.driver.current_url

    def windows(self):
        return self.driver.window_handles

    def window(self):
        return self.driver.current_window_handle

    def use(self, window):
        self.driver.switch_to.window(window)

    def use_frame(self, css):
        self.driver.switch_to.frame(self.driver.find_element(By.CSS_SELECTOR, css))

    def theme(self, name):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": name}]})

    def width(self, pixels):
        """As a telephone has it; None for the window's own."""
        if pixels is None:
            self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        else:
            self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
                "width": pixels, "height": 844, "deviceScaleFactor": 2, "mobile": True})

    def picture(self, path):
        self.driver.save_screenshot(path)

    def authenticator(self):
        """A virtual one inside this machine, which keeps passkeys and says that its user was there."""
        self.driver.execute_cdp_cmd("WebAuthn.enable", {})
        return self.driver.execute_cdp_cmd("WebAuthn.addVirtualAuthenticator", {"options": {
            "protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True,
            "isUserVerified": True, "automaticPresenceSimulation": True}})["authenticatorId"]

    def passkeys(self, authenticator):
        return self.driver.execute_cdp_cmd("WebAuthn.getCredentials", {"authenticatorId": authenticator})["credentials"]

    def forget(self, authenticator):
        self.driver.execute_cdp_cmd("WebAuthn.removeVirtualAuthenticator", {"authenticatorId": authenticator})

    def verify(self, authenticator, isVerified):
        self.driver.execute_cdp_cmd("WebAuthn.setUserVerified", {"authenticatorId": authenticator, "isUserVerified": isVerified})

    def complaints(self):
        """What the browser has said on its console since it was asked last."""
        return [line["message"] for line in self.driver.get_log("browser") if line["level"] in ("SEVERE", "WARNING")]

    def close(self):
        self.driver.quit()
