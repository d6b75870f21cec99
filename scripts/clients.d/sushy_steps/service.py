"""Steps of the service: sessions, tasks, events, registries."""
from steps import Unexpected, expect, expect_in

from .system import SushySystem


class Service(SushySystem):
    """Steps of the service."""

    def __init__(self, lab, sushy, machine):
        super().__init__(lab, sushy, machine)
        self.subscription = None

    def step_session_service(self):
        service = self.root.get_session_service()
        expect('enabled', service.service_enabled, True)
        expect('whether the timeout is above 0', service.session_timeout > 0, True)

    def step_session_by_hand(self):
        bmc = self.machine.bmc
        if not bmc.user:
            return
        service = self.root.get_session_service()
        token, uri = service.create_session(bmc.user, bmc.password)
        expect('whether there is a token', bool(token), True)
        expect_in('the sessions', [session.path for session in service.sessions.get_members()], uri.removeprefix(bmc.url))
        service.close_session(uri)

    def step_wrong_password(self):
        bmc = self.machine.bmc
        if not bmc.user:
            return
        try:
            self.sushy.Sushy(bmc.url + '/redfish/v1/', auth=self.sushy.auth.SessionAuth(bmc.user, 'wrong'), verify=False)
        except self.sushy.exceptions.AccessError:
            return
        raise Unexpected('the login succeeded')

    def step_registries(self):
        messages = [key for key in self.root.lazy_registries.registries if key.startswith('Base.')]
        expect('whether there is a registry Base', len(messages) > 0, True)

    def step_task_service(self):
        service = self.root.get_task_service()
        expect('enabled', service.service_enabled, True)
        service.tasks.get_members()

    def step_update_service(self):
        inventory = self.root.get_update_service().firmware_inventory.get_members()
        versions = {part.identity: part.version for part in inventory}
        expect('whether firmware has a version', any(versions.values()), True)

    def step_event_service(self):
        service = self.root.get_event_service()
        expect('enabled', service.service_enabled, True)

    def step_subscribe(self):
        subscriptions = self.root.get_event_service().subscriptions
        self.subscription = subscriptions.create(
            {'Destination': 'https://127.0.0.1:9/events', 'Protocol': 'Redfish', 'Context': 'clients', 'EventTypes': ['Alert']})
        subscriptions.refresh(force=True)
        expect('context', self.subscription.context, 'clients')
        expect_in('the subscriptions', [member.path for member in subscriptions.get_members()], self.subscription.path)

    def step_test_event(self):
        self.root.get_event_service().submit_test_event(
            event_id='1', event_timestamp='2026-01-01T00:00:00Z', event_type='Alert', message='hello', message_args=[],
            message_id='Base.1.0.Success', origin=self.machine.path, severity='OK')

    def step_unsubscribe(self):
        self.subscription.delete()
        left = self.root.get_event_service().subscriptions.get_members()
        expect('whether the subscription exists', self.subscription.path in [member.path for member in left], False)
