/** Keys for touch screens: the soft keyboard of the device, special keys, and modifiers for the next key. */
import { useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { Button } from '../../../../ui/button.js';
import { Select } from '../../../../ui/field.js';
import { showToast } from '../../../../ui/frame/toast.js';
import { screenTexts as texts } from '../../../../texts/index.js';
import { guestLayout } from './guest-layout.js';
import { keys, modifierNames, specialKeys, type Key, type ModifierName } from './keys.js';
import { chordsOf, layoutNames, type LayoutName } from './layouts.js';
import { softKeyboard, type Typed } from './soft-keyboard.js';
import type { VncScreen } from './vnc-screen.js';

/** The text of the field, so that it has something before the cursor that Backspace can remove. */
const FILLER = '\u00a0\u00a0';

/** A row with the soft keyboard and the layout, and a row with modifiers and special keys. */
export function TouchKeys({ screen }: { readonly screen: VncScreen }) {
  const held = useSignal<readonly ModifierName[]>([]);
  const field = useRef<HTMLTextAreaElement>(null);
  const ended = useMemo(() => new AbortController(), []);
  /** Resolves when all keys are sent. Further keys wait for it, so the guest gets them in order. */
  const typing = useRef(Promise.resolve());
  useEffect(() => () => ended.abort(), []);
  const canType = screen.link.state.value.kind === 'open' && !screen.isViewOnly.value;

  /** Returns the chords, the first one with the held modifiers. Afterwards, no modifier is held. */
  const withModifiers = (chords: readonly (readonly Key[])[]): readonly (readonly Key[])[] => {
    const modifiers = held.peek().map((name) => keys[name]);
    if (chords.length > 0) held.value = [];
    return chords.map((chord, index) => (index === 0 ? [...modifiers, ...chord] : chord));
  };
  const press = (chords: readonly (readonly Key[])[]): void => {
    const characters = withModifiers(chords).map((chord) => [chord]);
    typing.current = typing.current.then(() => screen.type(characters, () => undefined, ended.signal));
  };
  const type = ({ removed, text }: Typed): void => {
    const { chords, untypable } = chordsOf(text, guestLayout.value);
    if (untypable.length > 0) showToast('bad', texts.untypable(untypable.join(' ')));
    press([...Array.from({ length: removed }, () => [keys.Backspace]), ...chords.flat()]);
  };
  return (
    <div class="touch-keys" role="group" aria-label={texts.touchKeys}>
      <div class="row">
        <SoftKeyboard field={field} isDisabled={!canType} onTyped={type} />
        <Select
          aria-label={texts.layout}
          value={guestLayout.value}
          options={layoutNames.map((name) => [name, texts.layouts[name]])}
          onValue={(name) => (guestLayout.value = name as LayoutName)} // the value is one of the options
        />
      </div>
      <div class="row">
        {modifierNames.map((name) => (
          <KeyButton
            key={name}
            name={name}
            isDisabled={!canType}
            isHeld={held.value.includes(name)}
            onPress={() => {
              held.value = held.value.includes(name)
                ? held.value.filter((each) => each !== name)
                : [...held.value, name];
            }}
          />
        ))}
        {[...specialKeys].map(([name, key]) => (
          <KeyButton key={name} name={name} isDisabled={!canType} onPress={() => press([[key]])} />
        ))}
      </div>
    </div>
  );
}

interface KeyButtonProps {
  readonly name: string;
  readonly isDisabled: boolean;
  /** For a modifier: whether it waits for the next key. */
  readonly isHeld?: boolean;
  readonly onPress: () => void;
}

function KeyButton({ name, isDisabled, isHeld, onPress }: KeyButtonProps) {
  return (
    <Button
      disabled={isDisabled}
      {...(isHeld === undefined ? {} : { 'aria-pressed': isHeld, title: texts.modifierHint })}
      aria-label={texts.keyNames[name] ?? name}
      // The field keeps the focus, so that the soft keyboard stays open.
      onPointerDown={(event) => event.preventDefault()}
      onClick={onPress}
    >
      {texts.keySymbols[name] ?? name}
    </Button>
  );
}

interface SoftKeyboardProps {
  readonly field: { current: HTMLTextAreaElement | null };
  readonly isDisabled: boolean;
  readonly onTyped: (typed: Typed) => void;
}

/** A field that opens the soft keyboard of the device. Its text goes to the guest, and does not stay. */
function SoftKeyboard({ field, isDisabled, onTyped }: SoftKeyboardProps) {
  const translate = useMemo(softKeyboard, []);
  const isComposing = useRef(false);
  const refill = (): void => {
    const element = field.current;
    if (element === null || isComposing.current) return;
    element.value = FILLER;
    element.setSelectionRange(FILLER.length, FILLER.length);
  };
  const handler = useRef(onTyped);
  handler.current = onTyped;
  useEffect(() => {
    const element = field.current;
    if (element === null) return;
    const onBeforeInput = (event: InputEvent): void => {
      handler.current(translate(event));
      // A browser cannot cancel the steps of a composition. Their text stays in the field until the composition ends.
      if (event.cancelable) event.preventDefault();
    };
    element.addEventListener('beforeinput', onBeforeInput);
    return () => element.removeEventListener('beforeinput', onBeforeInput);
  }, []);
  return (
    <textarea
      ref={field}
      class="input grow"
      rows={1}
      aria-label={texts.softKeyboard}
      title={texts.softKeyboardHint}
      placeholder={texts.softKeyboard}
      autocapitalize="off"
      autocomplete="off"
      autocorrect="off"
      spellcheck={false}
      disabled={isDisabled}
      onFocus={refill}
      // Removes the filler, so that the field shows its placeholder.
      onBlur={(event) => (event.currentTarget.value = '')}
      onCompositionStart={() => (isComposing.current = true)}
      onCompositionEnd={() => {
        isComposing.current = false;
        refill();
      }}
      onInput={refill}
    />
  );
}
