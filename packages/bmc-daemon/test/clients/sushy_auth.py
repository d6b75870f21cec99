"""Logs in with each method of sushy, and prints the results as a JSON object.

Usage: sushy_auth.py ROOT USER PASSWORD
"""
import json
import sys
import warnings

import sushy
from sushy import auth

warnings.filterwarnings('ignore')  # the certificate is self-signed
root, user, password = sys.argv[1:]


def connect(how):
    return sushy.Sushy(root, verify=False, auth=how)


def systems(connection):
    return len(connection.get_system_collection().members_identities)


def sessions(connection):
    return len(connection.get_session_service().sessions.members_identities)


seen = {}
by_session = auth.SessionAuth(user, password)
connection = connect(by_session)
seen['session'] = [systems(connection), sessions(connection)]

# The session ends elsewhere, so sushy must log in again.
other = connect(auth.BasicAuth(user, password))
for session in other.get_session_service().sessions.get_members():
    session.delete()
seen['after the end'] = [connection.get_system_collection().name, sessions(connection)]
by_session.close()
seen['after close'] = sessions(other)

seen['auto'] = systems(connect(auth.SessionOrBasicAuth(user, password)))
try:
    connect(auth.SessionAuth(user, 'guess')).get_system_collection()
except sushy.exceptions.AccessError as error:
    seen['wrong'] = error.status_code
print(json.dumps(seen))
