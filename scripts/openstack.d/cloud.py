"""A minimal client of the lab's services."""
import json
import urllib.error
import urllib.request

NEWEST_COMPUTE = {'OpenStack-API-Version': 'compute 2.93'}
# The services listen on loopback, so requests must not use a proxy.
_open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open


class Refused(Exception):
    """An answer with an error status."""


def ask(method, url, body=None, headers=None):
    """
    Sends a JSON body, or bytes unchanged.

    @returns (headers, the parsed body or None)
    @raises Refused for a status from 400
    @raises OSError if the service does not answer
    """
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    all_headers = {'Content-Type': 'application/json', **(headers or {})}
    request = urllib.request.Request(url, method=method, data=data, headers=all_headers)
    try:
        with _open(request, timeout=180) as answer:
            text = answer.read()
            return answer.headers, json.loads(text) if text else None
    except urllib.error.HTTPError as error:
        raise Refused(f'{method} {url}: {error.code} {error.read().decode()[:600]}') from error


def token(identity, password):
    """@returns a token of the project `admin`."""
    default_domain = {'id': 'default'}
    user = {'name': 'admin', 'domain': default_domain, 'password': password}
    auth = {
        'identity': {'methods': ['password'], 'password': {'user': user}},
        'scope': {'project': {'name': 'admin', 'domain': default_domain}},
    }
    headers, _ = ask('POST', f'{identity}/v3/auth/tokens', {'auth': auth})
    return headers['X-Subject-Token']
