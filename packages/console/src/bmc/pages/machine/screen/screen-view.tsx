/** The picture of a machine's screen, with its tools. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { LinkNotice } from '../../../link-notice.js';
import { screenTexts as texts } from '../../../../texts/index.js';
import { ScreenTools } from './screen-tools.js';
import { TouchKeys } from './touch-keys.js';
import { VncScreen } from './vnc-screen.js';

/** Properties of {@link ScreenView}. */
interface ScreenViewProps {
  /** The machine's URI. */
  readonly machine: string;
  readonly name: string;
  /** Whether the user's role may only watch. The service enforces it. */
  readonly isViewOnly: boolean;
}

/** The picture of a screen, with the tools above it. The connection lasts until the component is removed. */
export function ScreenView({ machine, name, isViewOnly }: ScreenViewProps) {
  const host = useRef<HTMLDivElement>(null);
  const tools = useRef<HTMLDivElement>(null);
  /** The text below the picture. It gets the focus when the user leaves the screen forward. */
  const hint = useRef<HTMLElement>(null);
  const opened = useSignal<VncScreen | null>(null);
  const hasKeys = useSignal(!isViewOnly && matchMedia('(pointer: coarse)').matches);
  useEffect(() => {
    if (host.current === null) return;
    const screen = new VncScreen({
      machine,
      parent: host.current,
      label: texts.screen(name),
      isViewOnly,
      onLeave: (direction) => {
        const tool = tools.current?.querySelector<HTMLElement>('button:not([aria-disabled="true"])');
        (direction === 'back' ? tool : hint.current)?.focus();
      },
    });
    const stop = screen.link.state.subscribe(({ kind }) => {
      if (kind === 'open') screen.focus();
    });
    opened.value = screen;
    return () => {
      opened.value = null;
      stop();
      screen.close();
    };
  }, [machine, name, isViewOnly]);
  return (
    <div class="screen">
      <div class="tools" role="group" aria-label={texts.tools} ref={tools}>
        {opened.value === null ? null : (
          <ScreenTools name={name} screen={opened.value} mayType={!isViewOnly} picture={host} hasKeys={hasKeys} />
        )}
      </div>
      <div role="status">{opened.value === null ? null : <LinkNotice link={opened.value.link} />}</div>
      <div class="screen-picture" ref={host} />
      {opened.value !== null && hasKeys.value ? <TouchKeys screen={opened.value} /> : null}
      <small class="quiet" tabIndex={-1} ref={hint}>
        {isViewOnly ? texts.viewOnlyHint : texts.leave}
      </small>
    </div>
  );
}
