/** The screen of a machine. */
import { useSignal } from '@preact/signals';
import { Button } from '../../../../ui/button.js';
import { EmptyState, ErrorState, Loading, messageOf, Notice } from '../../../../ui/states.js';
import { patch } from '../../../redfish/client.js';
import { may } from '../../../redfish/session.js';
import { useResource } from '../../../resource.js';
import { screenTexts as texts } from '../../../../texts/index.js';
import type { TabProps } from '../tab.js';
import { ScreenView } from './screen-view.js';

/** The part of a ComputerSystem that this tab reads. */
interface SystemWithScreen {
  readonly GraphicalConsole?: { readonly ServiceEnabled: boolean; readonly MaxConcurrentSessions?: number };
}

/** The tab Screen: the picture, or the reason why there is none. */
export default function ScreenTab({ machine }: TabProps) {
  const uri = machine['@odata.id'];
  const { body, error, reload } = useResource<SystemWithScreen>(uri);
  if (body === null) {
    return error === null ? <Loading /> : <ErrorState message={messageOf(error)} onRetry={() => void reload()} />;
  }
  const screen = body.GraphicalConsole;
  // Without `MaxConcurrentSessions`, this service serves no screens. The hypervisor may have a proxy for them.
  if (screen?.MaxConcurrentSessions === undefined) {
    return <EmptyState title={texts.unsupported}>{texts.unsupportedHint}</EmptyState>;
  }
  if (!screen.ServiceEnabled) return <AddScreen machine={uri} />;
  if (machine.PowerState === 'Off') return <EmptyState title={texts.off}>{texts.offHint}</EmptyState>;
  return <ScreenView machine={uri} name={machine.Name} isViewOnly={!may('ConfigureComponents')} />;
}

/** Offers to add a display to a machine without one. */
function AddScreen({ machine }: { readonly machine: string }) {
  const state = useSignal<'offered' | 'busy' | 'added'>('offered');
  const error = useSignal<string | null>(null);
  const add = async (): Promise<void> => {
    state.value = 'busy';
    error.value = null;
    try {
      await patch(machine, { GraphicalConsole: { ServiceEnabled: true } });
      state.value = 'added';
    } catch (thrown) {
      state.value = 'offered';
      error.value = messageOf(thrown);
    }
  };
  if (state.value === 'added') {
    return (
      <Notice kind="good">
        {texts.added} {texts.addedHint}
      </Notice>
    );
  }
  if (!may('ConfigureComponents')) return <EmptyState title={texts.absent}>{texts.absentForbidden}</EmptyState>;
  return (
    <EmptyState title={texts.absent}>
      <p>{texts.absentHint}</p>
      {error.value === null ? null : <ErrorState message={error.value} />}
      <Button kind="primary" isBusy={state.value === 'busy'} onClick={() => void add()}>
        {texts.add}
      </Button>
    </EmptyState>
  );
}
