"""Signs a request again with AWS's botocore, and prints the signature and the digest of the body as JSON.

Reads JSON: method, url, headers (those that are signed), body, accessKeyId, secretAccessKey, sessionToken, region.
"""

import json
import sys

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials


def main():
    given = json.load(sys.stdin)
    credentials = Credentials(given["accessKeyId"], given["secretAccessKey"], given["sessionToken"])
    auth = SigV4Auth(credentials, "bedrock", given["region"])
    body = given["body"].encode()
    request = AWSRequest(method=given["method"], url=given["url"], headers=given["headers"], data=body)
    request.context["timestamp"] = given["headers"]["x-amz-date"]
    text = auth.string_to_sign(request, auth.canonical_request(request))
    print(json.dumps({"signature": auth.signature(text, request), "digest": auth.payload(request)}))


main()
