/** The state of a serial console: the connection, the machine, and who may type. */
import { Button } from '../../../../ui/button.js';
import { Badge, Notice } from '../../../../ui/states.js';
import { LinkNotice } from '../../../link-notice.js';
import { serialTexts as texts } from '../../../../texts/index.js';
import type { KeyboardState, SerialLink } from './serial-link.js';

/** The line above the terminal. @param dropped a text about input that did not reach the guest; null: none. */
export function SerialStatus({ link, dropped }: { readonly link: SerialLink; readonly dropped: string | null }) {
  return (
    <div role="status">
      {link.connection.state.value.kind === 'open' ? (
        <OpenConnection link={link} />
      ) : (
        <LinkNotice link={link.connection} />
      )}
      {dropped === null ? null : <Notice kind="warn">{dropped}</Notice>}
    </div>
  );
}

function OpenConnection({ link }: { readonly link: SerialLink }) {
  const console = link.console.value;
  const keyboard = link.keyboard.value;
  return (
    <div class="row">
      {console === null ? null : (
        <Badge kind={console.state === 'open' ? 'good' : 'warn'}>
          {texts.state(console.state)}
          {console.why === 'connected' ? '' : `: ${console.why}`}
        </Badge>
      )}
      <span>{keyboardText(keyboard, link)}</span>
      {keyboard.yours ? <Button onClick={() => link.release()}>{texts.release}</Button> : null}
      {keyboard.holder !== null && !keyboard.yours ? (
        <Button disabled={keyboard.asker !== null} onClick={() => link.take()}>
          {texts.take}
        </Button>
      ) : null}
    </div>
  );
}

function keyboardText({ holder, asker, yours }: KeyboardState, link: SerialLink): string {
  const seconds = link.handOverSeconds.value;
  if (yours) return asker === null ? texts.yours : texts.asks(asker, seconds);
  if (holder === null) return texts.free;
  if (asker === null) return texts.holder(holder);
  return asker === link.you.value
    ? texts.asked(holder, seconds)
    : `${texts.holder(holder)} ${texts.askedAlready(asker)}`;
}
