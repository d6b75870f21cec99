"""Cinder's driver of the lab: a volume is a raw file, which a guest on the same host opens directly."""
import os
import shutil

from cinder import interface
from cinder.image import image_utils
from cinder.volume import driver
from oslo_config import cfg

GIB = 1 << 30


@interface.volumedriver
class FileDriver(driver.VolumeDriver):
    VERSION = '1.0'

    def _path(self, volume):
        return os.path.join(cfg.CONF.state_path, 'volumes', volume.name)

    def check_for_setup_error(self):
        pass

    def _update_volume_stats(self):
        self._stats = {
            'volume_backend_name': 'files',
            'vendor_name': 'Rackless',
            'driver_version': self.VERSION,
            'storage_protocol': 'file',
            'total_capacity_gb': 1000,
            'free_capacity_gb': 1000,
            'multiattach': False,
        }

    def create_volume(self, volume):
        with open(self._path(volume), 'wb') as file:
            file.truncate(volume.size * GIB)

    def delete_volume(self, volume):
        if os.path.exists(self._path(volume)):
            os.remove(self._path(volume))

    def extend_volume(self, volume, new_size):
        os.truncate(self._path(volume), new_size * GIB)

    def create_snapshot(self, snapshot):
        shutil.copyfile(self._path(snapshot.volume), self._path(snapshot))

    def delete_snapshot(self, snapshot):
        self.delete_volume(snapshot)

    def create_volume_from_snapshot(self, volume, snapshot):
        shutil.copyfile(self._path(snapshot), self._path(volume))
        self.extend_volume(volume, volume.size)

    def create_cloned_volume(self, volume, source):
        shutil.copyfile(self._path(source), self._path(volume))
        self.extend_volume(volume, volume.size)

    def copy_image_to_volume(self, context, volume, image_service, image_id, disable_sparse=False):
        image_utils.fetch_to_raw(context, image_service, image_id, self._path(volume), '1M', size=volume.size)
        self.extend_volume(volume, volume.size)

    def initialize_connection(self, volume, connector):
        # `gpfs` is the only type for which Nova's libvirt driver opens a plain file.
        return {'driver_volume_type': 'gpfs', 'data': {'device_path': self._path(volume)}}

    def terminate_connection(self, volume, connector, **kwargs):
        pass

    def ensure_export(self, context, volume):
        pass

    def create_export(self, context, volume, connector):
        pass

    def remove_export(self, context, volume):
        pass
