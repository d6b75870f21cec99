"""The services of the lab."""

# Their ports follow each other in this order. The keys are the names in Keystone's catalog, the values are the types.
SERVICES = {
    'keystone': 'identity',
    'placement': 'placement',
    'glance': 'image',
    'neutron': 'network',
    'cinder': 'volumev3',
    'nova': 'compute',
}
