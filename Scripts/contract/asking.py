"""What Schemathesis cannot draw: who asks, and a container that is there. It loads this module into the process that asks."""

import atexit
import collections
import json
import os

import schemathesis

asking = json.loads(os.environ["NACRE_ASKING"])
statuses = collections.Counter()


@atexit.register
def tell():
    with open(asking["statuses"], "w") as file:
        json.dump({str(status): count for status, count in sorted(statuses.items())}, file)


@schemathesis.hook
def after_call(context, case, response):
    statuses[response.status_code] += 1


@schemathesis.hook
def before_call(context, case, kwargs):
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
