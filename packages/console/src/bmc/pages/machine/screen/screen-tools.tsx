/** The tools of a screen: keys, paste, screenshot, size. */
import { useSignal, type Signal } from '@preact/signals';
import type { RefObject } from 'preact';
import { Button } from '../../../../ui/button.js';
import { saveFile } from '../../../../ui/download.js';
import { Select } from '../../../../ui/field.js';
import { showToast } from '../../../../ui/frame/toast.js';
import { Badge } from '../../../../ui/states.js';
import { screenTexts as texts } from '../../../../texts/index.js';
import { combinations, ctrlAltDelete } from './keys.js';
import { PasteDialog } from './paste-dialog.js';
import type { VncScreen } from './vnc-screen.js';

/** The Keyboard Lock API, which TypeScript does not know. The end of full screen ends the lock. */
interface NavigatorWithKeyboard extends Navigator {
  readonly keyboard?: { readonly lock: () => Promise<void> };
}

interface ToolsProps {
  /** The machine's name. */
  readonly name: string;
  readonly screen: VncScreen;
  readonly mayType: boolean;
  /** The element with the picture. */
  readonly picture: RefObject<HTMLElement | null>;
  /** Whether the keys for touch screens are below the picture. */
  readonly hasKeys: Signal<boolean>;
}

/** The tools above a screen. A role that may not type gets no tools for keys. */
export function ScreenTools({ name, screen, mayType, picture, hasKeys }: ToolsProps) {
  const isOpen = screen.link.state.value.kind === 'open';
  const saveScreenshot = async (): Promise<void> => {
    const file = await screen.screenshot();
    if (file !== null) saveFile(`${name}-screen.png`, file);
  };
  const showFullScreen = async (): Promise<void> => {
    try {
      const shown = hasKeys.value ? picture.current?.parentElement : picture.current;
      await shown?.requestFullscreen();
      screen.focus();
      // With the lock, keys such as Esc and Alt+Tab also reach the machine. Only some browsers can lock the keyboard,
      // and only over HTTPS or on localhost.
      await (navigator as NavigatorWithKeyboard).keyboard?.lock();
    } catch {
      showToast('bad', texts.noFullScreen);
    }
  };
  return (
    <>
      {mayType ? <KeyTools screen={screen} hasKeys={hasKeys} /> : <Badge>{texts.viewOnly}</Badge>}
      <Button disabled={!isOpen} onClick={() => void saveScreenshot()}>
        {texts.screenshot}
      </Button>
      <Button disabled={!isOpen} onClick={() => void showFullScreen()}>
        {texts.fullScreen}
      </Button>
      <Button
        title={texts.fitHint}
        aria-pressed={screen.isFitted.value}
        onClick={() => screen.fit(!screen.isFitted.value)}
      >
        {texts.fit}
      </Button>
    </>
  );
}

function KeyTools({ screen, hasKeys }: Pick<ToolsProps, 'screen' | 'hasKeys'>) {
  const chosen = useSignal('Esc');
  const isPasting = useSignal(false);
  const isWatching = screen.isViewOnly.value;
  const canType = screen.link.state.value.kind === 'open' && !isWatching;
  return (
    <>
      <Button disabled={!canType} onClick={() => screen.press(ctrlAltDelete)}>
        {texts.ctrlAltDelete}
      </Button>
      <Select
        aria-label={texts.keys}
        value={chosen.value}
        options={[...combinations.keys()]}
        onValue={(value) => (chosen.value = value)}
      />
      <Button disabled={!canType} onClick={() => screen.press(combinations.get(chosen.value) ?? [])}>
        {texts.send}
      </Button>
      <Button disabled={!canType} onClick={() => (isPasting.value = true)}>
        {texts.paste}
      </Button>
      <Button title={texts.touchKeysHint} aria-pressed={hasKeys.value} onClick={() => (hasKeys.value = !hasKeys.value)}>
        {texts.touchKeys}
      </Button>
      <Button title={texts.watchHint} aria-pressed={isWatching} onClick={() => screen.setViewOnly(!isWatching)}>
        {texts.watch}
      </Button>
      {isPasting.value ? <PasteDialog screen={screen} onClose={() => (isPasting.value = false)} /> : null}
    </>
  );
}
