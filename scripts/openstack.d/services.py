"""The services of the lab."""

# The ports of the services follow each other in this order. Keys: names in Keystone's catalog; values: types.
SERVICES = {
    'keystone': 'identity',
    'placement': 'placement',
    'glance': 'image',
    'neutron': 'network',
    'cinder': 'volumev3',
    'nova': 'compute',
}
