/** The state of a WebSocket that is not open. */
import { Button } from '../ui/button.js';
import { Notice } from '../ui/states.js';
import type { WebSocketLink } from './redfish/web-socket-link.js';
import { linkTexts as texts } from '../texts/index.js';

/** The notice about the state of a WebSocket; nothing while the connection is open. */
export function LinkNotice({ link }: { readonly link: Pick<WebSocketLink, 'state' | 'connect'> }) {
  const state = link.state.value;
  switch (state.kind) {
    case 'open':
      return null;
    case 'connecting':
      return <Notice>{texts.connecting}</Notice>;
    case 'lost':
      return (
        <Notice kind="warn">
          {texts.lost(state.reason, state.retrySeconds)}{' '}
          <Button onClick={() => link.connect()}>{texts.connectNow}</Button>
        </Notice>
      );
    case 'ended':
      return (
        <Notice kind="bad">
          {state.reason} <Button onClick={() => link.connect()}>{texts.connectAgain}</Button>
        </Notice>
      );
  }
}
