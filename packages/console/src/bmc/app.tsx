/** The console of bmc-daemon: the login, the frame, and the live connection. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Button } from '../ui/button.js';
import { leave } from '../ui/frame/leaving.js';
import { preloadPage } from '../ui/frame/pages.js';
import { Shell } from '../ui/frame/shell.js';
import { Badge, ErrorState, Loading, messageOf, Notice } from '../ui/states.js';
import { LoginDialog, PasswordDialog } from './login-dialog.js';
import { pages } from './pages.js';
import { keepSessionAlive } from './redfish/activity.js';
import { isLive, runEventStream } from './redfish/event-stream.js';
import { isPaused } from './redfish/poll.js';
import { forgetMachines, startMachines } from './redfish/machines.js';
import { followPrivileges } from './redfish/privileges.js';
import { isUsable, loginState, logOut, startSession } from './redfish/session.js';
import { consoleTexts as texts } from '../texts/index.js';

/** The console of bmc-daemon: the login, and behind it the frame with the current page. */
export function App() {
  const error = useSignal<string | null>(null);
  const start = (): void => {
    error.value = null;
    startSession().catch((thrown: unknown) => {
      error.value = messageOf(thrown);
    });
  };
  useEffect(() => preloadPage(pages), []);
  useEffect(start, []);
  useEffect(() => {
    if (!isUsable.value) return;
    const until = new AbortController();
    const stops = [startMachines(), keepSessionAlive(), followPrivileges(), forgetMachines];
    void runEventStream(until.signal);
    return () => {
      until.abort();
      for (const stop of stops) stop();
    };
  }, [isUsable.value]);

  const state = loginState.value;
  if (error.value !== null) {
    return <ErrorState title={texts.startFailed} message={error.value} onRetry={start} />;
  }
  return (
    <>
      {state.kind === 'starting' ? <Loading label={texts.starting} /> : null}
      {isUsable.value ? (
        <Shell
          product={texts.product}
          pages={pages}
          bar={<Bar />}
          notices={state.kind === 'open' ? <Notice kind="warn">{texts.noPasswordFile}</Notice> : null}
        />
      ) : null}
      {state.kind === 'loggedOut' ? <LoginDialog expired={state.expired} /> : null}
      {state.kind === 'passwordChange' ? <PasswordDialog user={state.user} account={state.account} /> : null}
    </>
  );
}

/** A badge that says whether the page shows changes at once, later, or not at all (paused). */
function LiveBadge() {
  if (!isPaused.value)
    return <Badge kind={isLive.value ? 'good' : 'warn'}>{isLive.value ? texts.live : texts.notLive}</Badge>;
  return (
    <span title={texts.pausedHint}>
      <Badge kind="warn">{texts.paused}</Badge>
    </span>
  );
}

/** The right end of the bar: whether the page is live, the user, the logout. */
function Bar() {
  const state = loginState.value;
  return (
    <>
      <span role="status">
        <LiveBadge />
      </span>
      {state.kind === 'loggedIn' ? (
        <>
          <span class="quiet user" title={texts.loggedInAs(state.user)}>
            {state.user}
          </span>
          <Button onClick={() => leave('console', () => void logOut())}>{texts.logOut}</Button>
        </>
      ) : null}
      {state.kind === 'open' ? <span class="quiet">{texts.noLoginNeeded}</span> : null}
    </>
  );
}
