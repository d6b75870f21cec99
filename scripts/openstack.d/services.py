"""The services of the lab."""

# Their ports follow each other in this order. The names are those of Keystone's catalog.
SERVICES = {
    'keystone': 'identity',
    'placement': 'placement',
    'glance': 'image',
    'neutron': 'network',
    'cinder': 'volumev3',
    'nova': 'compute',
}
