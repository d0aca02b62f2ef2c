"""What Schemathesis cannot draw: who asks, and a container that is there. It loads this module into the process that asks."""

import atexit
import base64
import collections
import datetime
import hashlib
import json
import os

import schemathesis
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

asking = json.loads(os.environ["NACRE_ASKING"])
statuses = collections.Counter()


@atexit.register
def tell():
    with open(asking["statuses"], "w") as file:
        json.dump({str(status): count for status, count in sorted(statuses.items())}, file)


@schemathesis.hook
def after_call(context, case, response):
    statuses[response.status_code] += 1


class Signer:
    """Signs a request as it goes out, to its last byte: what is drawn later would not be signed."""

    def __init__(self, key):
        self.id = key["id"]
        with open(key["path"], "rb") as file:
            self.key = serialization.load_pem_private_key(file.read(), None)

    def __call__(self, request):
        body = request.body if request.body is not None else b""
        body = body.encode() if isinstance(body, str) else body
        date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        text = f"{date}:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:{request.path_url}"
        signature = self.key.sign(text.encode(), ec.ECDSA(hashes.SHA256()))
        request.headers["X-Apple-CloudKit-Request-KeyID"] = self.id
        request.headers["X-Apple-CloudKit-Request-ISO8601Date"] = date
        request.headers["X-Apple-CloudKit-Request-SignatureV1"] = base64.b64encode(signature).decode()
        return request


signer = Signer(asking["key"]) if asking["key"] else None


@schemathesis.hook
def before_call(context, case, kwargs):
    if signer:
        kwargs["auth"] = signer
    # Credentials of its own making would be asked for first.
    case.query = {name: value for name, value in (case.query or {}).items() if not name.startswith("ck")} | asking["query"]
    drawn = {name: value for name, value in (case.headers or {}).items()
             if name.lower() != "authorization" and not name.lower().startswith("x-apple-cloudkit-request-")}
    case.headers = drawn | asking["headers"]
    # One path in eight is left as it was drawn.
    if case.path_parameters and "container" in case.path_parameters and hash(str(case.path_parameters)) % 8:
        case.path_parameters["container"] = asking["container"]
    if isinstance(case.body, dict):
        if case.body.get("container") and hash(str(case.body)) % 8:
            case.body["container"] = asking["container"]
        # A backup is a file on this machine: it stays in the folder of this run.
        if case.operation.path == "/admin/1/backup":
            case.body["path"] = os.path.join(asking["folder"], "backup")
