"""Nova's fake driver. It also has guests for the servers that copies.py adds to the databases."""
from nova.virt import fake


class FakeDriver(fake.FakeDriver):
    def _add_guest_of_copy(self, instance):
        if instance.uuid not in self.instances:
            self.instances[instance.uuid] = fake.FakeInstance(instance.name, instance.power_state, instance.uuid)

    def get_info(self, instance, use_cache=True):
        self._add_guest_of_copy(instance)
        return super().get_info(instance, use_cache)

    def power_off(self, instance, timeout=0, retry_interval=0):
        self._add_guest_of_copy(instance)
        super().power_off(instance, timeout, retry_interval)

    def power_on(self, context, instance, network_info, block_device_info=None, accel_info=None):
        self._add_guest_of_copy(instance)
        super().power_on(context, instance, network_info, block_device_info, accel_info)

    def unrescue(self, context, instance):
        self._add_guest_of_copy(instance)
        super().unrescue(context, instance)
