/** The dialog that types a text into a machine. */
import { useComputed, useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { Button } from '../../../../ui/button.js';
import { Dialog } from '../../../../ui/dialog.js';
import { SelectField, TextAreaField } from '../../../../ui/field.js';
import { Progress } from '../../../../ui/progress.js';
import { screenTexts as texts, uiTexts as common } from '../../../../texts/index.js';
import { guestLayout as layout } from './guest-layout.js';
import { chordsOf, layoutNames, type LayoutName } from './layouts.js';
import type { VncScreen } from './vnc-screen.js';

/** The dialog. Closing it stops the typing. */
export function PasteDialog({ screen, onClose }: { readonly screen: VncScreen; readonly onClose: () => void }) {
  const text = useSignal('');
  const typed = useSignal<number | null>(null);
  const ended = useMemo(() => new AbortController(), []);
  useEffect(() => () => ended.abort(), []);
  const { chords, untypable } = useComputed(() => chordsOf(text.value, layout.value)).value;
  const type = async (): Promise<void> => {
    typed.value = 0;
    await screen.type(chords, (count) => (typed.value = count), ended.signal);
    if (ended.signal.aborted) return;
    onClose();
    screen.focus();
  };
  return (
    <Dialog title={texts.pasteTitle} onClose={onClose}>
      <SelectField
        label={texts.layout}
        hint={texts.pasteHint}
        value={layout.value}
        options={layoutNames.map((name) => [name, texts.layouts[name]])}
        onValue={(name) => (layout.value = name as LayoutName)} // the value is one of the options
      />
      <TextAreaField
        label={texts.text}
        rows={6}
        autofocus
        spellcheck={false}
        value={text.value}
        onValue={(value) => (text.value = value)}
        error={untypable.length === 0 ? undefined : texts.untypable(untypable.join(' '))}
      />
      {typed.value === null ? null : (
        <Progress
          label={texts.type}
          value={typed.value / chords.length}
          detail={texts.typing(typed.value, chords.length)}
        />
      )}
      <div class="actions">
        <Button onClick={onClose}>{common.cancel}</Button>
        <Button
          kind="primary"
          disabled={chords.length === 0 || untypable.length > 0}
          isBusy={typed.value !== null}
          onClick={() => void type()}
        >
          {texts.type}
        </Button>
      </div>
    </Dialog>
  );
}
